//! `sim/small`: a whole job in the simulation, as users test their own.

use super::fold::Fold;
use crate::workload::Outcome;
use millstream::connector::Generator;
use millstream_testkit::Simulation;
use std::time::Instant;

const RUNS: u64 = 500;
const RECORDS: u64 = 200;

/// Microseconds of one run: 200 records through two tasks of two subtasks, with one checkpoint, from its description to
/// its summary.
///
/// # Errors
/// What a run must not do, or that it did not take its checkpoint.
pub fn run() -> Result<Outcome, String> {
    let begin = Instant::now();
    for seed in 0..RUNS {
        let total = Fold::<(u64, u64), _>::new(|sums, _| sums[0] += 1);
        let sink = total.clone();
        let run = Simulation::new(seed).undisturbed().parallelism(2).run(|env| {
            env.source(Generator::new(RECORDS, |i| i))
                .key_by::<u64>(|i| *i % 10)
                .process::<u64, (u64, u64)>("count", |cx, _, count, out| {
                    *count += 1;
                    out.emit((cx.key(), *count));
                })
                .sink(sink.clone());
        });
        let run = run.map_err(|violation| format!("seed {seed}: {violation}"))?;
        let (records, checkpoints) = (total.sums()[0], run.coverage.checkpoints);
        if records != RECORDS || checkpoints == 0 {
            return Err(format!("seed {seed}: {records} records and {checkpoints} checkpoints"));
        }
    }
    Ok(Outcome { figure: begin.elapsed().as_secs_f64() * 1e6 / RUNS as f64, result: Vec::new() })
}

//! `exchange` on the engine.

use super::fold::Fold;
use crate::input::record24;
use crate::workload::Outcome;
use millstream::Env;
use millstream::connector::Generator;
use std::time::Instant;

/// Hands `records` records from one subtask to another.
///
/// # Errors
/// The job's.
pub fn run(records: u64) -> Result<Outcome, String> {
    let begin = Instant::now();
    let env = Env::new();
    let total = Fold::<(u64, u64, u64), _>::new(|sums, (a, b, c)| {
        sums[0] += 1;
        sums[1] = sums[1].wrapping_add(a ^ b).wrapping_add(c);
    });
    env.source(Generator::new(records, record24))
        .parallelism(1)
        .rebalance()
        .parallelism(1)
        .sink(total.clone());
    env.execute("exchange").map_err(|error| error.to_string())?;
    let [count, sum, _] = total.sums();
    let seconds = begin.elapsed().as_secs_f64();
    Ok(Outcome::rate(records, seconds, vec![("count", count), ("sum", sum)]))
}

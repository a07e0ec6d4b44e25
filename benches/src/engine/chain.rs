//! `chain` on the engine.

use super::fold::Fold;
use crate::input::{chain_filter, chain_map};
use crate::workload::Outcome;
use millstream::Env;
use millstream::connector::Generator;
use std::time::Instant;

/// Maps, filters and counts `records` generated numbers in one subtask.
///
/// # Errors
/// The job's.
pub fn run(records: u64) -> Result<Outcome, String> {
    let begin = Instant::now();
    let env = Env::new();
    let total = Fold::<u64, _>::new(|sums, x| {
        sums[0] += 1;
        sums[1] = sums[1].wrapping_add(x);
    });
    env.source(Generator::new(records, |i| i))
        .parallelism(1)
        .map(chain_map)
        .filter(chain_filter)
        .sink(total.clone());
    env.execute("chain").map_err(|error| error.to_string())?;
    let [count, sum, _] = total.sums();
    let seconds = begin.elapsed().as_secs_f64();
    Ok(Outcome::rate(records, seconds, vec![("count", count), ("sum", sum)]))
}

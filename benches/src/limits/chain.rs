//! `chain` by hand: a loop.

use crate::input::{chain_filter, chain_map};
use crate::workload::Outcome;
use std::time::Instant;

/// Maps, filters and counts `records` generated numbers.
///
/// # Errors
/// None.
pub fn run(records: u64) -> Result<Outcome, String> {
    let begin = Instant::now();
    let (mut count, mut sum) = (0u64, 0u64);
    for i in 0..std::hint::black_box(records) {
        let x = chain_map(i);
        if chain_filter(x) {
            count += 1;
            sum = sum.wrapping_add(x);
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    Ok(Outcome::rate(records, seconds, vec![("count", count), ("sum", sum)]))
}

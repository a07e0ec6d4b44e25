//! How long single insertions take into a table that grows: the slowest one is what a record may have to wait for.
//!
//! Not a matter for criterion: it is the outliers that count, and each of them happens once. Beside the engine's table
//! stand the same loop without a table, which shows what the clock costs and what the machine takes away, and the
//! standard library's, which moves to one of twice the size in one go.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use millstream_io::record::Key;
use millstream_state::{HeapState, KeyedBackend, Parallelism};
use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;

const INSERTIONS: usize = 20_000_000;

fn main() {
    println!(
        "{:<24} {:>8} {:>8} {:>8} {:>10} {:>10}   slowest: ns at entry",
        "", "mean", "p50", "p99.9", "p99.999", "max"
    );
    let mut times = vec![1_u32; INSERTIONS];
    measured("no table", &mut times, |key| {
        black_box(key);
    });
    let whole = Parallelism::new(1, None).expect("one subtask is allowed");
    let mut table: HeapState<u64, u64> = HeapState::new(whole.range_of(0), whole.max());
    measured("HeapState", &mut times, |key| table.with(u64::hash(key), key, |mut value| *value = key));
    assert_eq!(KeyedBackend::len(&table), INSERTIONS, "every key is another one");
    drop(table);
    let mut table = HashMap::new();
    measured("std::collections::HashMap", &mut times, |key| {
        table.insert(key, key);
    });
    assert_eq!(table.len(), INSERTIONS);
}

/// Times every single insertion: from the end of the one before to its own end.
fn measured(name: &str, times: &mut [u32], mut insert: impl FnMut(u64)) {
    let begun = Instant::now();
    let mut before = begun;
    for (i, time) in times.iter_mut().enumerate() {
        insert(scattered(i as u64));
        let now = Instant::now();
        *time = u32::try_from((now - before).as_nanos()).unwrap_or(u32::MAX);
        before = now;
    }
    let mean = begun.elapsed().as_nanos() / INSERTIONS as u128;
    let mut slowest: Vec<(u32, usize)> = Vec::new();
    for (i, time) in times.iter().enumerate() {
        if slowest.len() < 3 || slowest[2].0 < *time {
            slowest.truncate(2);
            slowest.push((*time, i));
            slowest.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        }
    }
    times.sort_unstable();
    let at = |part: f64| times[((INSERTIONS - 1) as f64 * part) as usize];
    let slowest: Vec<String> = slowest.iter().map(|(time, i)| format!("{time} at {i}")).collect();
    println!(
        "{name:<24} {mean:>8} {:>8} {:>8} {:>10} {:>10}   {}",
        at(0.5),
        at(0.999),
        at(0.99999),
        at(1.0),
        slowest.join(", ")
    );
}

/// Different numbers for different ones, in an order without a pattern (the finish of SplitMix64, which can be undone).
fn scattered(i: u64) -> u64 {
    let x = (i ^ (i >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

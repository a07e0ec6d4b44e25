//! `state/freeze/*`: how long a barrier holds a state up.

use super::files::snapshot;
use super::large;
use crate::draws::{Spread, draws};
use crate::pin;
use crate::times;
use crate::workload::Outcome;
use millstream_state::Snapshots;
use std::time::Instant;

/// Barriers: the slowest four of them are above the figure.
const FREEZES: usize = 4000;

/// Keys that change between two barriers.
const CHANGES: usize = 32;

/// The 99.9th percentile of [`Snapshots::freeze`] in microseconds, of a state of so many bytes. The clock is in it.
///
/// # Errors
/// No memory.
pub fn run(bytes: u64) -> Result<Outcome, String> {
    pin::on(&pin::cores(), 0, move || freeze(bytes)).join().map_err(|_| "the owner of the state panicked")?
}

fn freeze(bytes: u64) -> Result<Outcome, String> {
    let keys = large::keys(bytes);
    let mut state = large::filled(keys)?;
    // From here on snapshots have changes only.
    drop(snapshot(&mut state));
    let changes: Vec<u64> =
        draws(Spread::Uniform, keys, FREEZES * CHANGES).into_iter().map(u64::from).collect();
    let mut taken = Vec::with_capacity(FREEZES);
    for changed in changes.chunks(CHANGES) {
        large::update(&mut state, changed);
        let begun = Instant::now();
        state.freeze();
        taken.push(begun.elapsed());
        while !state.drain(usize::MAX) {}
        let lines = state.take_snapshot().bytes() / 64;
        // A value of 100 bytes has a part in two lines or three.
        if lines < CHANGES as u64 {
            return Err(format!("a snapshot of {CHANGES} changed keys has {lines} lines"));
        }
    }
    Ok(Outcome { figure: times::percentile(&mut taken, 0.999), result: vec![("keys", keys)] })
}

//! `state/storage-after-1000`: what a thousand checkpoints leave behind.

use super::files::{Files, snapshot, text};
use super::large::{self, Large};
use super::line::Line;
use super::state::{Hundred, counted, empty};
use crate::draws::uniform;
use crate::input::mix;
use crate::workload::Outcome;
use millstream_state::KeyedBackend;

const BYTES: u64 = 1 << 30;

const CHECKPOINTS: usize = 1000;

/// The updates between two checkpoints: of one in a hundred keys.
fn updates(keys: u64, checkpoint: usize) -> Vec<u64> {
    let one_percent = keys / 100;
    uniform(checkpoint as u64 * one_percent, keys, one_percent as usize).map(u64::from).collect()
}

fn outcome(bytes: u64, state: &mut Large) -> Outcome {
    let (mut sum, mut mixed) = (0, 0u64);
    state.for_each(|key, value| {
        sum += counted(&value.0);
        mixed = mixed.wrapping_add(mix(key).wrapping_mul(counted(&value.0)));
    });
    let result = vec![("keys", state.len() as u64), ("sum", sum), ("per key", mixed)];
    Outcome { figure: bytes as f64 / 1e6, result }
}

/// Millions of bytes in the directory of checkpoints, of a state of 1 GiB, after the last one is complete. The result is
/// that of the state which is restored from it.
///
/// # Errors
/// Those of the storage.
pub fn run() -> Result<Outcome, String> {
    let keys = large::keys(BYTES);
    let mut state = large::filled(keys)?;
    let mut line = Line::of::<u64, Hundred>()?;
    line.checkpoint(snapshot(&mut state))?;
    let (mut most, mut between) = (0, 0);
    for checkpoint in 1..CHECKPOINTS {
        line.merge()?;
        // What was merged is there until a checkpoint names what came of it.
        between = line.bytes()?.max(between);
        large::update(&mut state, &updates(keys, checkpoint));
        line.checkpoint(snapshot(&mut state))?;
        most = line.bytes()?.max(most);
    }
    let [most, between] = [most, between].map(|bytes| bytes as f64 / 1e6);
    eprintln!("at most {most:.0} MB right behind a checkpoint, {between:.0} MB right behind a merge");
    drop(state);
    let mut restored = empty()?;
    line.restore(&mut restored)?;
    Ok(outcome(line.bytes()?, &mut restored))
}

/// Millions of bytes of one image of the same state.
///
/// # Errors
/// Those of the storage.
pub fn image() -> Result<Outcome, String> {
    let keys = large::keys(BYTES);
    let mut state = large::filled(keys)?;
    for checkpoint in 1..CHECKPOINTS {
        large::update(&mut state, &updates(keys, checkpoint));
    }
    let mut files = Files::new().map_err(text)?;
    let bytes = files.write(snapshot(&mut state))?;
    Ok(outcome(bytes, &mut state))
}

//! A large state of `u64 ->` 100 bytes: as many bytes of keys and values as are asked for.

use super::state::{Batch, Hundred, count, empty};
use crate::input::BATCH;
use millstream_state::PagedState;
use millstream_state::keyed::batch::for_batch;

/// What it is kept in.
pub type Large = PagedState<u64, Hundred>;

/// Bytes of a key and its value.
const ENTRY: u64 = 8 + 100;

/// How many keys such a state has.
pub fn keys(bytes: u64) -> u64 {
    bytes / ENTRY
}

/// A state of so many keys, each of which was updated once.
///
/// # Errors
/// No memory.
pub fn filled(keys: u64) -> Result<Large, String> {
    let mut state = empty()?;
    let mut batch = Vec::with_capacity(BATCH);
    for from in (0..keys).step_by(BATCH) {
        batch.clear();
        batch.extend(from..keys.min(from + BATCH as u64));
        update(&mut state, &batch);
    }
    Ok(state)
}

/// Changes all bytes of these keys' values.
pub fn update(state: &mut Large, keys: &[u64]) {
    let change = |value: &mut Hundred| count(&mut value.0);
    for batch in keys.chunks(BATCH) {
        for_batch(state, 0..batch.len(), &mut Batch(batch, change));
    }
}

//! A batch of records against keyed state: prefetch ahead, then operate.

use super::{Entry, KeyedBackend};
use millstream_io::record::{Key, Record};
use std::ops::Range;

/// How many rows ahead the state of a row is asked for. Measured: with 32, too many cache lines are under way at once.
pub const BLOCK: usize = 16;

/// Works through `rows` in order. `hash_of` gives the hash of a row's key, `key_of` the key, and `apply` is called
/// with row and state. Rows are known by index only, so that a segment, a slice or anything else may hold them.
///
/// Call it with as many rows as there are: the first [`BLOCK`] of each call wait for memory.
#[inline(always)]
pub fn for_batch<'k, K: Key, V: Record, B: KeyedBackend<K, V>>(
    backend: &mut B,
    rows: Range<usize>,
    hash_of: impl Fn(usize) -> u64,
    key_of: impl Fn(usize) -> K::Ref<'k>,
    mut apply: impl FnMut(usize, Entry<'_, V>),
) {
    if !backend.big() || rows.len() < 2 * BLOCK {
        for row in rows {
            backend.with(hash_of(row), key_of(row), |entry| apply(row, entry));
        }
        return;
    }
    let ahead = |backend: &B, row: usize| {
        let hash = hash_of(row);
        backend.prefetch(hash);
        hash
    };
    let mut hashes: [u64; BLOCK] = std::array::from_fn(|i| ahead(backend, rows.start + i));
    let mut first = rows.start;
    while first + 2 * BLOCK <= rows.end {
        for (i, slot) in hashes.iter_mut().enumerate() {
            let row = first + i;
            let hash = std::mem::replace(slot, ahead(backend, row + BLOCK));
            backend.with(hash, key_of(row), |entry| apply(row, entry));
        }
        first += BLOCK;
    }
    for (row, hash) in (first..).zip(hashes) {
        backend.with(hash, key_of(row), |entry| apply(row, entry));
    }
    for row in first + BLOCK..rows.end {
        backend.with(hash_of(row), key_of(row), |entry| apply(row, entry));
    }
}

//! A batch of records against keyed state: prefetch ahead, then operate.

use super::{Entry, KeyedBackend};
use millstream_io::record::{Key, Record};

/// Rows whose state is asked for before the first of them is worked on. Measured: with 32, too many cache lines are
/// under way at once.
pub const BLOCK: usize = 16;

/// Works through the rows `first..end` in order. `hash_of` gives the hash of a row's key, `key_of` the key, and
/// `apply` is called with row and state. Rows are known by index only, so that a segment, a slice or anything else
/// may hold them.
///
/// `hash_of` runs twice for a row when the state is [big](KeyedBackend::big), as does whatever it calls: it must be
/// pure.
#[inline(always)]
pub fn for_batch<'k, K: Key, V: Record, B: KeyedBackend<K, V>>(
    backend: &mut B,
    rows: std::ops::Range<usize>,
    hash_of: impl Fn(usize) -> u64,
    key_of: impl Fn(usize) -> K::Ref<'k>,
    mut apply: impl FnMut(usize, Entry<'_, V>),
) {
    if !backend.big() {
        for row in rows {
            backend.with(hash_of(row), key_of(row), |entry| apply(row, entry));
        }
        return;
    }
    let ahead = |backend: &B, block: std::ops::Range<usize>| {
        let mut hashes = [0; BLOCK];
        for (hash, row) in hashes.iter_mut().zip(block) {
            *hash = hash_of(row);
            backend.prefetch(*hash);
        }
        hashes
    };
    let block_at = |start: usize| start..(start + BLOCK).min(rows.end);
    let mut start = rows.start;
    let mut hashes = ahead(backend, block_at(start));
    while start < rows.end {
        let next = ahead(backend, block_at(start + BLOCK));
        for (row, hash) in block_at(start).zip(hashes) {
            backend.with(hash, key_of(row), |entry| apply(row, entry));
        }
        hashes = next;
        start += BLOCK;
    }
}

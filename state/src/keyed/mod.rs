//! Keyed state: what an operator keeps for each key, and the contract of what keeps it.

pub mod batch;
#[cfg(test)]
mod contract;
mod entry;
pub(crate) mod restore;
mod snapshot;
mod snapshots;

pub use entry::Entry;
pub use restore::RestoreError;
pub use snapshot::{Chunk, ChunkPart, Extent, GroupChunk, KeyedSnapshot};
pub use snapshots::Snapshots;

use millstream_io::record::{Key, Record};

/// How far a visit to every key has come; it begins with the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Visit {
    pub(crate) aside: bool,
    pub(crate) shard: usize,
    pub(crate) slot: usize,
    /// The hashes up to this one have been visited in the shard (where these are buckets of a directory).
    pub(crate) prefix: u64,
    /// How many top bits of it chose the bucket that is being visited.
    pub(crate) depth: u32,
}

/// One state of one keyed operator on one subtask: for each key in the subtask's key groups a value, or none.
///
/// **Hashes.** Every `hash` is [`Key::hash`] of the key; its low 16 bits do not count, so that the slot of a
/// segment's row may be passed as it is.
pub trait KeyedBackend<K: Key, V: Record>: Snapshots + Send + 'static {
    /// Where a key probably is.
    type Place: Copy + Default;

    /// Keys that have a value.
    fn len(&self) -> usize;

    /// Whether no key has a value.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the state outgrew the caches near the core, so that prefetching pays.
    fn big(&self) -> bool;

    /// Whether [`prefetch`](Self::prefetch) wants to know the key group.
    const GROUPED: bool = false;

    /// The key groups of hashes, of which the upper halves are given.
    fn groups(&self, _halves: &[u32], _groups: &mut [u32]) {}

    /// Asks the memory for what [`with`](Self::with) of this hash will touch, and says where that is. The group is that of
    /// the hash where the backend [wants to know](Self::GROUPED).
    fn prefetch(&self, group: u32, hash: u64) -> Self::Place;

    /// What [`prefetch`](Self::prefetch) has said up to now is not used any more.
    fn forget_places(&mut self) {}

    /// Whether [`approach`](Self::approach) does anything.
    const APPROACHES: bool = false;

    /// Asks the memory for what is found at a place, which was [asked for](Self::prefetch) a while ago: a second step,
    /// where what the first one brings says where the value is.
    #[inline(always)]
    fn approach(&self, _: Self::Place, _hash: u64) {}

    /// Calls `f` with the value of `key`, which is first put there (as its default) when there is none.
    ///
    /// The hot path: with no snapshot under way, one lookup.
    fn with<R>(&mut self, hash: u64, key: K::Ref<'_>, f: impl FnOnce(Entry<'_, V>) -> R) -> R;

    /// Looks at up to about `places` more places of the table, `at` which the last call stopped, and calls `f` for every
    /// key that has a value there until it says `false`; from beginning to end each key once, in no particular order.
    /// Returns whether that was the end. In between nothing may be done to the state but snapshots.
    fn visit(&mut self, at: &mut Visit, places: usize, f: impl FnMut(K::Ref<'_>, &mut V) -> bool) -> bool;

    /// [`with`](Self::with), for a state that is probably not [big](Self::big): the same in every case, and faster in
    /// this one.
    #[inline(always)]
    fn with_small<R>(&mut self, hash: u64, key: K::Ref<'_>, f: impl FnOnce(Entry<'_, V>) -> R) -> R {
        self.with(hash, key, f)
    }

    /// [`with`](Self::with), for a state that is probably [big](Self::big) and a key that is probably where
    /// [`prefetch`](Self::prefetch) of its hash said: the same in every case, and faster in this one.
    #[inline(always)]
    fn with_big<R>(
        &mut self,
        _: Self::Place,
        hash: u64,
        key: K::Ref<'_>,
        f: impl FnOnce(Entry<'_, V>) -> R,
    ) -> R {
        self.with(hash, key, f)
    }

    /// Calls `f` once for every key that has a value, in no particular order.
    fn for_each(&mut self, mut f: impl FnMut(K::Ref<'_>, &mut V)) {
        let all = |key: K::Ref<'_>, value: &mut V| {
            f(key, value);
            true
        };
        self.visit(&mut Visit::default(), usize::MAX, all);
    }
}

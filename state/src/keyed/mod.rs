//! Keyed state: what an operator keeps for each key, and the contract of what keeps it.

pub mod batch;
#[cfg(test)]
mod contract;
mod entry;
pub(crate) mod restore;
mod snapshot;

pub use entry::Entry;
pub use restore::RestoreError;
pub use snapshot::{Extent, GroupChunk, KeyedSnapshot};

use crate::key_group::KeyGroup;
use crate::paged::PagedFault;
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
///
/// **Snapshots** (CP-24). [`freeze`](Self::freeze) takes constant time. From then on the backend keeps the state as it
/// was at that moment, encoding what is about to change just before it changes; the owner has the rest encoded in
/// small portions by [`drain`](Self::drain), between batches of records, and then calls
/// [`take_snapshot`](Self::take_snapshot). One freeze at a time: a barrier that comes during a drain finishes the
/// drain first.
pub trait KeyedBackend<K: Key, V: Record>: Send + 'static {
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

    /// Barrier: what a snapshot holds is the state as of now. Constant time.
    ///
    /// # Panics
    /// When a freeze is under way whose snapshot was neither taken nor abandoned.
    fn freeze(&mut self);

    /// Encodes some more of the frozen state: about `budget` bytes of memory and snapshot. Returns whether all of it is
    /// encoded; `true` at once when nothing is frozen.
    fn drain(&mut self, budget: usize) -> bool;

    /// The frozen state.
    ///
    /// # Panics
    /// When nothing was frozen, or [`drain`](Self::drain) has not yet returned `true`.
    fn take_snapshot(&mut self) -> KeyedSnapshot;

    /// Forgets the frozen state, because its checkpoint was aborted. Does nothing when nothing is frozen.
    fn abandon(&mut self);

    /// Adds one key group's part of a snapshot; of a chain of snapshots, in their order, from the last
    /// [base](Extent::Base) on. A group that this subtask does not own is left out without a
    /// look at its bytes (KG-05).
    ///
    /// # Errors
    /// [`RestoreError`] when the bytes are not what a snapshot of this state would hold; what was added before the
    /// fault stays, the backend must be given up.
    fn restore(&mut self, group: KeyGroup, entries: u64, bytes: &[u8]) -> Result<(), RestoreError>;

    /// Says that all has been restored: to be called before the state is used.
    ///
    /// # Errors
    /// As for [`restore`](Self::restore), for what can be seen only when all is there.
    fn restored(&mut self) -> Result<(), RestoreError> {
        Ok(())
    }

    /// Has the next snapshot be one of everything, because the last one that was taken is lost.
    fn forget_base(&mut self) {}

    /// What could not be done since this was last asked. The state then lacks a change, and must be given up.
    fn take_fault(&mut self) -> Option<PagedFault> {
        None
    }
}

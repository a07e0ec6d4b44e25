//! How keyed state of any kind gets into a snapshot and out of one.

use super::{Chunk, KeyedSnapshot, RestoreError};
use crate::error::StateError;
use crate::key_group::KeyGroup;
use crate::paged::PagedFault;
use crate::snapshot::Groups;

/// One state of one subtask, as far as snapshots are concerned: what it holds does not matter here.
///
/// **Snapshots** (CP-24). [`freeze`](Self::freeze) takes constant time. From then on the state is kept as it
/// was at that moment, what is about to change being encoded just before it changes; the owner has the rest encoded in
/// small portions by [`drain`](Self::drain), between batches of records, and then calls
/// [`take_snapshot`](Self::take_snapshot). One freeze at a time: a barrier that comes during a drain finishes the
/// drain first.
///
/// A large state need not have room for its snapshot: who drains it may take what is finished while the rest is still being
/// encoded, by [`take_chunk`](Self::take_chunk) after every drain.
///
/// **Restoring**: [`restore`](Self::restore) each part, or [all at once](Self::restore_groups), then [`restored`](Self::restored) once, then, where what was
/// restored may be named by later checkpoints, [`build_on_restored`](Self::build_on_restored).
pub trait Snapshots {
    /// Barrier: what a snapshot holds is the state as of now. Constant time.
    ///
    /// # Panics
    /// When a freeze is under way whose snapshot was neither taken nor forgotten.
    fn freeze(&mut self);

    /// Whether something is frozen that was neither taken nor forgotten.
    fn is_frozen(&self) -> bool;

    /// Encodes some more of the frozen state: about `budget` bytes of memory and snapshot. Returns whether all of it is
    /// encoded; `true` at once when nothing is frozen.
    fn drain(&mut self, budget: usize) -> bool;

    /// How much of the frozen state has been gone through, in bytes of memory, and how much that is in all.
    fn drained(&self) -> (u64, u64) {
        (0, 0)
    }

    /// Bytes of memory that copies of frozen state take that changed before its turn to be encoded, and cannot be handed over
    /// before that comes: what a drain that goes on makes less. A backend whose snapshot is in memory as a whole has none.
    fn kept_early(&self) -> usize {
        0
    }

    /// The next piece of the frozen state, if there is one that nothing will come before any more: while it is drained one of
    /// a certain size, after that also the last one. Who takes the first takes all of them, and what
    /// [`take_snapshot`](Self::take_snapshot) returns then has no groups. A backend whose snapshots do not come in pieces has
    /// none.
    fn take_chunk(&mut self) -> Option<Chunk> {
        None
    }

    /// Gives the buffer of a chunk back, to be filled again.
    fn recycle(&mut self, buffer: Vec<u8>) {
        drop(buffer);
    }

    /// The frozen state, but for what was taken of it in [chunks](Self::take_chunk).
    ///
    /// # Panics
    /// When nothing was frozen, or [`drain`](Self::drain) has not yet returned `true`.
    fn take_snapshot(&mut self) -> KeyedSnapshot;

    /// Says that the checkpoint was aborted. A frozen state that no later snapshot builds on is forgotten. Of one that is what
    /// changed since the one before, what was encoded is a link of a chain whatever becomes of its checkpoint (ruling 14): it has
    /// to be drained and taken as ever, though nothing more need be encoded, and what is not counts as changed for the next
    /// snapshot. Returns whether there is nothing left to do. No key and no page is looked at.
    fn abandon(&mut self) -> bool;

    /// Adds one key group's part of a snapshot; of a chain of snapshots, in their order, from the last
    /// [base](super::Extent::Base) on. A group that this subtask does not own is left out without a
    /// look at its bytes (KG-05).
    ///
    /// # Errors
    /// [`RestoreError`] when the bytes are not what a snapshot of this state would hold; what was added before the
    /// fault stays, the backend must be given up.
    fn restore(&mut self, group: KeyGroup, entries: u64, bytes: &[u8]) -> Result<(), RestoreError>;

    /// Puts in the entries of a key group that a savepoint of the canonical form has of it, whatever wrote that: key and value of
    /// each, as the `hashmap` backend writes them. A backend of a program's own that is to be restored from such savepoints
    /// implements this; by default it takes none.
    ///
    /// # Errors
    /// What is wrong with the entries, or that there is no memory for them.
    fn restore_entries(&mut self, group: KeyGroup, entries: u64, bytes: &[u8]) -> Result<(), RestoreError> {
        let _ = (entries, bytes);
        Err(RestoreError::Canonical { group })
    }

    /// Adds key groups of which nothing was restored yet, each with all of its parts: as [`restore`](Self::restore) does with
    /// one part after the other, but perhaps with several groups at once.
    ///
    /// # Errors
    /// Files that cannot be read, and those of [`restore`](Self::restore).
    fn restore_groups(&mut self, groups: &Groups<'_>) -> Result<(), StateError> {
        groups.one_by_one(self)
    }

    /// Says that all has been restored: to be called before the state is used.
    ///
    /// # Errors
    /// As for [`restore`](Self::restore), for what can be seen only when all is there.
    fn restored(&mut self) -> Result<(), RestoreError> {
        Ok(())
    }

    /// Has the next snapshot be one of what changes from now on, behind all that was [restored](Self::restored) just now:
    /// so a chain of snapshots goes on over a restart. Returns whether that can be; where it cannot, which is the default,
    /// the next snapshot does not build on others.
    fn build_on_restored(&mut self) -> bool {
        false
    }

    /// Has the next snapshot be one of everything, because the last one that was taken is lost.
    fn forget_base(&mut self) {}

    /// What could not be done since this was last asked. The state then lacks a change, and must be given up.
    fn take_fault(&mut self) -> Option<PagedFault> {
        None
    }
}

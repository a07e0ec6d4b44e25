//! How keyed state of any kind gets into a snapshot and out of one.

use super::{KeyedSnapshot, RestoreError};
use crate::key_group::KeyGroup;
use crate::paged::PagedFault;

/// One state of one subtask, as far as snapshots are concerned: what it holds does not matter here.
///
/// **Snapshots** (CP-24). [`freeze`](Self::freeze) takes constant time. From then on the state is kept as it
/// was at that moment, what is about to change being encoded just before it changes; the owner has the rest encoded in
/// small portions by [`drain`](Self::drain), between batches of records, and then calls
/// [`take_snapshot`](Self::take_snapshot). One freeze at a time: a barrier that comes during a drain finishes the
/// drain first.
///
/// **Restoring**: [`restore`](Self::restore) each part, then [`restored`](Self::restored) once.
pub trait Snapshots {
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

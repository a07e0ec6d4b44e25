//! What travels between segments, in order with the records.

use crate::alignment::Round;
use crate::checkpoint::Barrier;
use millstream_io::id::CheckpointId;

/// An event of a channel. Events stand between segments, so a cut never goes through one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Everything before it belongs to the checkpoint, nothing behind it.
    Barrier(Barrier),
    /// The barrier of this checkpoint will not come on this channel: stop waiting for it.
    Cancel(CheckpointId),
    /// What was in the loop before it has gone ahead of it.
    Round(Round),
    /// No record follows; barriers may.
    End,
    /// Nothing follows.
    Close,
}

//! What became of checkpoints, as facts: statistics, metrics and log lines all come from these.

use super::failure::CheckpointFailure;
use super::message::{AckMetrics, Barrier, SubtaskId};
use millstream_io::clock::Moment;
use millstream_io::id::CheckpointId;

/// One fact. The coordinator states them in the order in which they happened, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckpointEvent {
    /// A checkpoint has begun, at the timestamp of its barrier.
    Triggered {
        /// Its barrier.
        barrier: Barrier,
        /// The subtasks that take part, in ascending order.
        subtasks: Vec<SubtaskId>,
    },
    /// A subtask's snapshot is durable. Stated once for each subtask of a pending checkpoint.
    Acknowledged {
        /// The checkpoint.
        id: CheckpointId,
        /// The subtask.
        subtask: SubtaskId,
        /// What it measured.
        metrics: AckMetrics,
        /// When the coordinator heard of it.
        at: Moment,
    },
    /// A checkpoint is durable.
    Completed {
        /// The checkpoint.
        id: CheckpointId,
        /// When.
        at: Moment,
    },
    /// A checkpoint will never complete.
    Failed {
        /// The checkpoint.
        id: CheckpointId,
        /// Why.
        failure: CheckpointFailure,
        /// The subtask on account of which, where it was one.
        subtask: Option<SubtaskId>,
        /// When.
        at: Moment,
    },
    /// A checkpoint was restored.
    Restored {
        /// The checkpoint.
        id: CheckpointId,
        /// When.
        at: Moment,
    },
    /// Older checkpoints have been deleted.
    Retained {
        /// The completed checkpoints that are still there, in ascending order.
        ids: Vec<CheckpointId>,
    },
}

//! Why a checkpoint failed: a closed list, and which of them count against the job (CP-18, CP-19).

use super::message::SubtaskId;
use millstream_io::id::CheckpointId;
use std::time::Duration;
use thiserror::Error;

/// Why a checkpoint, or the request for one, came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CheckpointFailure {
    /// Storage failed while the checkpoint was being triggered.
    #[error("I/O error while triggering: {cause}")]
    TriggerIo {
        /// The failed operation, its path and cause.
        cause: String,
    },
    /// Triggering failed for another reason.
    #[error("trigger failed: {cause}")]
    Trigger {
        /// Why.
        cause: String,
    },
    /// Writing a snapshot in the background, or closing a sink's files, failed (ruling 6).
    #[error("snapshot of subtask {subtask} failed: {cause}")]
    Snapshot {
        /// The subtask.
        subtask: SubtaskId,
        /// The failed operation, its path and cause.
        cause: String,
    },
    /// Not complete in time (CP-14).
    #[error(
        "expired before completing (execution.checkpointing.timeout {timeout:?}, {missing} subtasks had not answered)"
    )]
    Expired {
        /// The timeout.
        timeout: Duration,
        /// How many subtasks had not answered.
        missing: usize,
    },
    /// Publishing the metadata failed.
    #[error("could not be stored: {cause}")]
    Store {
        /// The failed operation, its path and cause.
        cause: String,
    },
    /// Taking the snapshot failed in the subtask itself; the subtask fails with it.
    #[error("subtask {subtask} failed while taking its snapshot: {cause}")]
    Sync {
        /// The subtask.
        subtask: SubtaskId,
        /// Why.
        cause: String,
    },
    /// A newer checkpoint completed first (CP-17).
    #[error("subsumed by checkpoint {by}")]
    Subsumed {
        /// The newer one.
        by: CheckpointId,
    },
    /// A newer barrier arrived during alignment.
    #[error("the barrier of checkpoint {newer} came during alignment")]
    NewerBarrier {
        /// The newer one.
        newer: CheckpointId,
    },
    /// The upstream said not to wait for its barrier.
    #[error("cancelled upstream")]
    CancelMarker,
    /// An input ended during alignment, and checkpoints after that are switched off (BR-10).
    #[error("an input ended during alignment")]
    InputEnded,
    /// More was held back during alignment than is allowed.
    #[error(
        "{held} bytes held back during alignment, more than {limit} allowed \
         (execution.checkpointing.alignment.memory and .max-spill)"
    )]
    AlignmentLimit {
        /// Bytes held back.
        held: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// What was held back during alignment could not be put into a file; nothing of it was lost.
    #[error(
        "subtask {subtask} found no room for what is held back during alignment: {cause} \
         (make room, choose another task.local-dir, or hold more in memory: execution.checkpointing.alignment.memory)"
    )]
    Spill {
        /// The subtask.
        subtask: SubtaskId,
        /// The failed operation, its path and cause.
        cause: String,
    },
    /// A subtask was not ready, or was closing.
    #[error("subtask {subtask} was closing")]
    TaskClosing {
        /// The subtask.
        subtask: SubtaskId,
    },
    /// Not all subtasks that have to take part are running (CP-09, CP-28).
    #[error("not all required subtasks are running")]
    NotAllTasksRunning,
    /// The attempt failed or was cancelled (CP-21).
    #[error("the attempt ended")]
    AttemptEnded,
    /// Too many requests wait (CP-07).
    #[error("too many queued requests ({limit})")]
    TooManyRequests {
        /// How many may wait.
        limit: usize,
    },
    /// The job takes no checkpoints (ruling 7).
    #[error("checkpointing is off: execution.checkpointing.interval is not set")]
    CheckpointingOff,
}

impl CheckpointFailure {
    /// The subtask that it names as the cause.
    pub(super) fn subtask(&self) -> Option<SubtaskId> {
        match self {
            Self::Snapshot { subtask, .. }
            | Self::Sync { subtask, .. }
            | Self::Spill { subtask, .. }
            | Self::TaskClosing { subtask } => Some(*subtask),
            _ => None,
        }
    }

    /// Whether it counts as one of the failures in a row that fail the job (CP-19, ruling 9).
    pub fn counts(&self) -> bool {
        match self {
            Self::TriggerIo { .. }
            | Self::Snapshot { .. }
            | Self::Spill { .. }
            | Self::Expired { .. }
            | Self::Store { .. } => true,
            Self::Trigger { .. }
            | Self::Sync { .. }
            | Self::Subsumed { .. }
            | Self::NewerBarrier { .. }
            | Self::CancelMarker
            | Self::InputEnded
            | Self::AlignmentLimit { .. }
            | Self::TaskClosing { .. }
            | Self::NotAllTasksRunning
            | Self::AttemptEnded
            | Self::TooManyRequests { .. }
            | Self::CheckpointingOff => false,
        }
    }
}

/// More checkpoints failed in a row than are tolerated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "checkpoint {id} failed, and more checkpoints in a row than \
     execution.checkpointing.tolerable-failed-checkpoints = {tolerable} tolerates: {failure}"
)]
pub struct ToleranceExceeded {
    /// The last one that failed.
    pub id: CheckpointId,
    /// How many failures in a row are tolerated.
    pub tolerable: u32,
    /// Why the last one failed.
    #[source]
    pub failure: CheckpointFailure,
}

/// Counts failures in a row.
#[derive(Clone, Debug)]
pub(super) struct Tolerance {
    tolerable: u32,
    in_a_row: u32,
    succeeded: Option<CheckpointId>,
}

impl Tolerance {
    pub(super) fn new(tolerable: u32) -> Self {
        Self { tolerable, in_a_row: 0, succeeded: None }
    }

    /// Counts a failed checkpoint; says so when it was one too many, and then counts from nought.
    pub(super) fn failed(
        &mut self,
        id: CheckpointId,
        failure: &CheckpointFailure,
    ) -> Option<ToleranceExceeded> {
        if !failure.counts() || self.succeeded.is_some_and(|succeeded| id <= succeeded) {
            return None;
        }
        self.in_a_row += 1;
        if self.in_a_row <= self.tolerable {
            return None;
        }
        self.in_a_row = 0;
        Some(ToleranceExceeded { id, tolerable: self.tolerable, failure: failure.clone() })
    }

    pub(super) fn succeeded(&mut self, id: CheckpointId) {
        if self.succeeded < Some(id) {
            self.succeeded = Some(id);
            self.in_a_row = 0;
        }
    }
}

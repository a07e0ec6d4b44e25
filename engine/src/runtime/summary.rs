//! What a run comes to.

use super::JobState;
use millstream_io::id::CheckpointId;
use std::path::PathBuf;
use std::time::Duration;

/// A completed checkpoint, as users are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointInfo {
    /// Its number.
    pub id: CheckpointId,
    /// Its directory.
    pub path: PathBuf,
    /// When it was completed, in milliseconds since the epoch.
    pub completed_ms: u64,
}

/// What a run came to. The `records_` counters without further word count over all attempts and processes since the
/// job began, each record once (ruling 29).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The job's name.
    pub job: String,
    /// Its id, 32 hex digits.
    pub job_id: String,
    /// How it ended.
    pub state: JobState,
    /// Subtasks of its widest chain.
    pub parallelism: usize,
    /// Records read by sources.
    pub records_in: u64,
    /// Records committed by sinks.
    pub records_out: u64,
    /// Records that this process read again after a failure.
    pub records_replayed: u64,
    /// Records that came too late.
    pub records_late: u64,
    /// Records that could not be used.
    pub records_rejected: u64,
    /// Checkpoints completed by this process.
    pub checkpoints_completed: u64,
    /// Checkpoints of this process that failed.
    pub checkpoints_failed: u64,
    /// Restarts in this process.
    pub restarts: u64,
    /// What this process's first attempt went on from.
    pub restored_from: Option<PathBuf>,
    /// The newest completed checkpoint that is kept.
    pub last_checkpoint: Option<CheckpointInfo>,
    /// How long the run took.
    pub duration: Duration,
}

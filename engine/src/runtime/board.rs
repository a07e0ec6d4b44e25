//! Where a running job can be looked at, without asking its supervisor.

use super::summary::CheckpointInfo;
use super::tally::{RestoreProgress, Tally};
use crate::checkpoint::CheckpointStatistics;
use parking_lot::Mutex;
use std::fmt;
use std::path::PathBuf;

/// Where a job is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Its subtasks restore their state.
    Starting,
    /// It processes records.
    Running,
    /// An attempt has failed, the next one is due.
    Restarting,
    /// It takes its last checkpoint.
    Stopping,
    /// All input was processed and everything committed.
    Finished,
    /// It was stopped with a final checkpoint, from which the next start goes on.
    Stopped,
    /// It was cancelled.
    Canceled,
    /// It failed for good.
    Failed,
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Starting => "STARTING",
            Self::Running => "RUNNING",
            Self::Restarting => "RESTARTING",
            Self::Stopping => "STOPPING",
            Self::Finished => "FINISHED",
            Self::Stopped => "STOPPED",
            Self::Canceled => "CANCELED",
            Self::Failed => "FAILED",
        })
    }
}

/// What a job has done up to now.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Where it is.
    pub state: JobState,
    /// Records read, over the line.
    pub records_in: u64,
    /// Records committed by sinks, over the line.
    pub records_out: u64,
    /// Records that came too late.
    pub records_late: u64,
    /// Records that could not be used.
    pub records_rejected: u64,
    /// Records that this process read again after a failure.
    pub records_replayed: u64,
    /// Restarts in this process.
    pub restarts: u64,
    /// The newest completed checkpoint.
    pub last_checkpoint: Option<CheckpointInfo>,
    /// What this process's first attempt went on from.
    pub restored_from: Option<PathBuf>,
    /// How far each subtask of the present attempt has restored its keyed state.
    pub restoring: Vec<RestoreProgress>,
    /// Checkpoints of this process: counts, and the recent ones.
    pub checkpoints: CheckpointStatistics,
}

/// The shared state behind [`Metrics`]: written by the supervisor, read by anyone.
pub(crate) struct Board(Mutex<Posted>);

pub(crate) struct Posted {
    pub state: JobState,
    pub tally: Tally,
    pub restarts: u64,
    pub last_checkpoint: Option<CheckpointInfo>,
    pub restored_from: Option<PathBuf>,
    pub checkpoints: CheckpointStatistics,
}

impl Board {
    /// Remembers so many checkpoints.
    pub(crate) fn new(history: usize) -> Self {
        Self(Mutex::new(Posted {
            state: JobState::Starting,
            tally: Tally::default(),
            restarts: 0,
            last_checkpoint: None,
            restored_from: None,
            checkpoints: CheckpointStatistics::new(history),
        }))
    }

    pub(crate) fn post(&self, change: impl FnOnce(&mut Posted)) {
        change(&mut self.0.lock());
    }

    pub(crate) fn metrics(&self) -> Metrics {
        let posted = self.0.lock();
        let now = posted.tally.counted();
        Metrics {
            state: posted.state,
            records_in: now.records_in,
            records_out: now.records_out,
            records_late: now.records_late,
            records_rejected: now.records_rejected,
            records_replayed: posted.tally.replayed(),
            restarts: posted.restarts,
            last_checkpoint: posted.last_checkpoint.clone(),
            restored_from: posted.restored_from.clone(),
            restoring: posted.tally.restoring(),
            checkpoints: posted.checkpoints.clone(),
        }
    }
}

//! What a job and its subtasks have done, as plain values.

use super::board::JobState;
use super::described::TaskDescription;
use super::doctor::{Advice, examine};
use super::rates::TimeShares;
use super::summary::CheckpointInfo;
use super::tally::RestoreProgress;
use crate::checkpoint::{CheckpointStatistics, SubtaskId};
use crate::config::Settings;
use millstream_io::clock::Moment;
use millstream_io::counters::{Counters, Doing};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

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
    /// When these figures were taken, by the clock that moments are told by.
    pub at: Moment,
    /// When the job began in this process: by that clock, and in milliseconds since the epoch.
    pub began: (Moment, u64),
    /// For how long the job has been running without a failure.
    pub uptime: Duration,
    /// For how long it has not been running, behind a failure; nought while it runs.
    pub downtime: Duration,
    /// How long the last restart took, from the failure until the job was running again.
    pub restarting_time: Duration,
    /// The tasks of the job.
    pub tasks: Arc<[TaskDescription]>,
    /// The subtasks of the present attempt, in order.
    pub subtasks: Vec<SubtaskMetrics>,
    /// The settings in force (CF-02), as far as they are known before the start: what is to be decided by a restored
    /// checkpoint is left open.
    pub settings: Arc<Settings>,
}

/// What a subtask of the present attempt has done up to now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubtaskMetrics {
    /// Which one.
    pub subtask: SubtaskId,
    /// What it does now.
    pub doing: Doing,
    /// How it spends a second: over the time since somebody last looked, at least a second where there was one.
    pub time: TimeShares,
    /// From the trigger to the first barrier here, of the newest checkpoint whose barriers have all come.
    pub start_delay: Duration,
    /// For how long barriers have been waited for by now, or were the last time.
    pub alignment: Duration,
    /// Records read by a source.
    pub records_in: u64,
    /// Records made visible by a sink.
    pub records_out: u64,
    /// Records that came too late.
    pub records_late: u64,
    /// Records that could not be used.
    pub records_rejected: u64,
}

impl SubtaskMetrics {
    pub(super) fn of((index, counters): (usize, &Arc<Counters>), time: TimeShares, now: Moment) -> Self {
        Self {
            subtask: SubtaskId(index as u32),
            doing: counters.time.until(now).doing,
            time,
            start_delay: counters.barrier.start_delay(),
            alignment: counters.barrier.alignment(now),
            records_in: counters.records_in.get(),
            records_out: counters.records_out.get(),
            records_late: counters.records_late.get(),
            records_rejected: counters.records_rejected.get(),
        }
    }
}

impl Metrics {
    /// A moment of this run in milliseconds since the epoch, by the system's time when the job began: the same each time,
    /// also when the system's time has been set meanwhile (MS-067).
    pub fn wall(&self, moment: Moment) -> u64 {
        let (began, wall_ms) = self.began;
        let since = u64::try_from(moment.saturating_sub(began).as_millis()).unwrap_or(u64::MAX);
        wall_ms.saturating_add(since)
    }

    /// What the statistics of checkpoints show to be wrong, and what to do about it.
    pub fn advice(&self) -> Vec<Advice> {
        examine(&self.checkpoints, &self.settings, &self.tasks)
    }
}

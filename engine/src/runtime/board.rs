//! Where a running job can be looked at, without asking its supervisor.

use super::availability::Availability;
use super::described::TaskDescription;
use super::metrics::{Metrics, SubtaskMetrics};
use super::rates::Rates;
use super::summary::CheckpointInfo;
use super::tally::Tally;
use crate::checkpoint::CheckpointStatistics;
use crate::config::Settings;
use millstream_io::clock::{Clock, Moment};
use millstream_io::counters::Counters;
use millstream_state::metadata::LineCounters;
use parking_lot::Mutex;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

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

/// The shared state behind [`Metrics`]: written by the supervisor, read by anyone.
pub(crate) struct Board {
    clock: Arc<dyn Clock>,
    began: (Moment, u64),
    tasks: Arc<[TaskDescription]>,
    settings: Arc<Settings>,
    posted: Mutex<Posted>,
}

pub(crate) struct Posted {
    pub state: JobState,
    availability: Availability,
    rates: Rates,
    pub tally: Tally,
    pub restarts: u64,
    pub last_checkpoint: Option<CheckpointInfo>,
    pub restored_from: Option<PathBuf>,
    pub checkpoints: CheckpointStatistics,
}

impl Board {
    /// Of a job with these tasks and settings that is about to start.
    pub(crate) fn new(clock: Arc<dyn Clock>, tasks: Vec<TaskDescription>, settings: &Settings) -> Self {
        let history = settings.checkpointing.history as usize;
        let settings = Settings { checkpointing: settings.checkpointing.effective(), ..settings.clone() };
        let posted = Posted {
            state: JobState::Starting,
            availability: Availability::default(),
            rates: Rates::default(),
            tally: Tally::default(),
            restarts: 0,
            last_checkpoint: None,
            restored_from: None,
            checkpoints: CheckpointStatistics::new(history),
        };
        let began = (clock.now(), clock.wall_ms());
        Self { clock, began, tasks: tasks.into(), settings: Arc::new(settings), posted: Mutex::new(posted) }
    }

    pub(crate) fn post(&self, change: impl FnOnce(&mut Posted)) {
        change(&mut self.posted.lock());
    }

    /// The job is in this state from now on.
    pub(crate) fn enter(&self, state: JobState) {
        let now = self.clock.now();
        self.post(|posted| {
            posted.state = state;
            posted.availability.enter(state, now);
        });
    }

    /// An attempt has begun that goes on from `base` and counts here.
    pub(crate) fn begin(&self, base: LineCounters, counters: Vec<Arc<Counters>>) {
        let now = self.clock.now();
        self.post(|posted| {
            posted.tally.begin(base, counters);
            posted.rates.begin(now);
        });
    }

    pub(crate) fn metrics(&self) -> Metrics {
        let mut posted = self.posted.lock();
        let at = self.clock.now();
        let counted = posted.tally.counted();
        let spent = posted.tally.subtasks().iter().map(|counters| counters.time.until(at)).collect();
        let shares = posted.rates.look(at, spent);
        let subtasks = posted.tally.subtasks().iter().enumerate().zip(shares);
        Metrics {
            state: posted.state,
            records_in: counted.records_in,
            records_out: counted.records_out,
            records_late: counted.records_late,
            records_rejected: counted.records_rejected,
            records_replayed: posted.tally.replayed(),
            restarts: posted.restarts,
            last_checkpoint: posted.last_checkpoint.clone(),
            restored_from: posted.restored_from.clone(),
            restoring: posted.tally.restoring(),
            checkpoints: posted.checkpoints.clone(),
            at,
            began: self.began,
            uptime: posted.availability.uptime(at),
            downtime: posted.availability.downtime(at),
            restarting_time: posted.availability.restarting(),
            tasks: self.tasks.clone(),
            subtasks: subtasks.map(|(subtask, share)| SubtaskMetrics::of(subtask, share, at)).collect(),
            settings: self.settings.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Monotonic time, and the system's, which somebody may set.
    struct Settable(Mutex<(Moment, u64)>);

    impl Clock for Settable {
        fn now(&self) -> Moment {
            self.0.lock().0
        }

        fn wall_ms(&self) -> u64 {
            self.0.lock().1
        }
    }

    /// MS-067: the system's time goes back an hour. Moments keep the time that they were told with, and no duration changes.
    #[test]
    fn ms_067_a_clock_that_is_set_back_moves_nothing_that_was_told() {
        const HOUR_MS: u64 = 3_600_000;
        let clock = Arc::new(Settable(Mutex::new((Duration::from_secs(100), 10 * HOUR_MS))));
        let board = Board::new(clock.clone(), Vec::new(), &Settings::default());
        board.enter(JobState::Running);
        *clock.0.lock() = (Duration::from_secs(107), 9 * HOUR_MS + 7_000);
        let metrics = board.metrics();
        assert_eq!(metrics.wall(Duration::from_secs(105)), 10 * HOUR_MS + 5_000);
        assert_eq!(metrics.uptime, Duration::from_secs(7));
        board.enter(JobState::Restarting);
        *clock.0.lock() = (Duration::from_secs(110), 20 * HOUR_MS);
        assert_eq!(board.metrics().downtime, Duration::from_secs(3));
        assert_eq!(board.metrics().wall(Duration::from_secs(105)), 10 * HOUR_MS + 5_000);
    }
}

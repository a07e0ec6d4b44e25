//! When checkpoints are taken: the settings, their ranges, and what they come to.

use crate::setting::InvalidSetting;
use std::time::Duration;

/// What a checkpoint guarantees (CP-22).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CheckpointMode {
    /// Every record's effect is in the state exactly once: channels are aligned.
    #[default]
    ExactlyOnce,
    /// No channel is held back; after a restart some records take effect again.
    AtLeastOnce,
}

/// The checkpointing settings that the coordinator goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointConfig {
    /// `execution.checkpointing.interval`: from start to start; none switches checkpointing off (CP-01, CP-02).
    pub interval: Option<Duration>,
    /// `execution.checkpointing.timeout` (CP-14).
    pub timeout: Duration,
    /// `execution.checkpointing.min-pause`: from the end of a completed checkpoint to the next start (CP-04).
    pub min_pause: Duration,
    /// `execution.checkpointing.max-concurrent-checkpoints` (CP-06).
    pub max_concurrent: u32,
    /// `execution.checkpointing.tolerable-failed-checkpoints` (CP-18).
    pub tolerable_failures: u32,
    /// `execution.checkpointing.mode` (CP-22).
    pub mode: CheckpointMode,
    /// `execution.checkpointing.checkpoints-after-tasks-finish`: whether checkpoints go on when some subtasks have
    /// reached their end of data and others have not (CP-28).
    pub after_tasks_finish: bool,
}

impl Default for CheckpointConfig {
    /// Off; ten minutes, no pause, one at a time, no failure tolerated, exactly once.
    fn default() -> Self {
        Self {
            interval: None,
            timeout: Duration::from_secs(600),
            min_pause: Duration::ZERO,
            max_concurrent: 1,
            tolerable_failures: 0,
            mode: CheckpointMode::ExactlyOnce,
            after_tasks_finish: true,
        }
    }
}

impl CheckpointConfig {
    /// The key that switches checkpointing on.
    pub const INTERVAL: &'static str = "execution.checkpointing.interval";
    /// The key of the timeout.
    pub const TIMEOUT: &'static str = "execution.checkpointing.timeout";
    /// The key of the pause.
    pub const MIN_PAUSE: &'static str = "execution.checkpointing.min-pause";
    /// The key of the number of checkpoints at a time.
    pub const MAX_CONCURRENT: &'static str = "execution.checkpointing.max-concurrent-checkpoints";
    /// The key of the tolerated failures.
    pub const TOLERABLE_FAILURES: &'static str = "execution.checkpointing.tolerable-failed-checkpoints";

    /// The shortest interval and timeout (CP-01).
    pub const SHORTEST: Duration = Duration::from_millis(10);
    /// A longer pause is taken for this one, so that no sum of moments overflows (CP-04).
    pub const LONGEST_PAUSE: Duration = Duration::from_secs(365 * 24 * 3600);

    /// Checkpoints at the given interval, otherwise the defaults.
    pub fn every(interval: Duration) -> Self {
        Self { interval: Some(interval), ..Self::default() }
    }

    /// Whether checkpoints are taken.
    pub fn enabled(&self) -> bool {
        self.interval.is_some()
    }

    /// Checks the ranges (CP-01).
    ///
    /// # Errors
    /// The first value out of range, with its key and what is allowed.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        for (key, value) in [(Self::INTERVAL, self.interval), (Self::TIMEOUT, Some(self.timeout))] {
            if let Some(value) = value.filter(|v| *v < Self::SHORTEST) {
                return Err(InvalidSetting::new(key, format!("{value:?}"), "must be at least 10ms"));
            }
        }
        if self.max_concurrent == 0 {
            return Err(InvalidSetting::new(Self::MAX_CONCURRENT, 0, "must be at least 1"));
        }
        Ok(())
    }

    /// What the settings come to: the interval is at least the pause (CP-02), the pause at most a year (CP-04), and a
    /// pause leaves one checkpoint at a time (CP-05).
    #[must_use]
    pub fn effective(&self) -> Self {
        let min_pause = self.min_pause.min(Self::LONGEST_PAUSE);
        Self {
            interval: self.interval.map(|interval| interval.max(min_pause)),
            min_pause,
            max_concurrent: if min_pause.is_zero() { self.max_concurrent } else { 1 },
            ..self.clone()
        }
    }
}

//! What the checkpointing settings come to.

use crate::config::{CheckpointMode, CheckpointStorage, Checkpointing};
use std::time::Duration;

/// A longer pause is taken for this one, so that no sum of moments overflows (CP-04).
const LONGEST_PAUSE: Duration = Duration::from_secs(365 * 24 * 3600);

impl Checkpointing {
    /// Whether checkpoints are taken (CP-01).
    pub fn enabled(&self) -> bool {
        self.interval.is_some()
    }

    /// Whether they stay in memory: asked for, or for want of a directory (ruling 7).
    pub fn in_memory(&self) -> bool {
        self.dir.is_none() || self.storage == Some(CheckpointStorage::Memory)
    }

    /// How long barriers wait for their turn before they overtake what is in their way: not at all at nought. None where they
    /// never do (UC-01, UC-08).
    pub fn aligned_timeout(&self) -> Option<Duration> {
        let overtakes = self.unaligned && self.mode == CheckpointMode::ExactlyOnce;
        overtakes.then_some(self.aligned_checkpoint_timeout)
    }

    /// The settings in force: the interval is at least the pause (CP-02), the pause at most a year (CP-04), and a
    /// pause leaves one checkpoint at a time (CP-05).
    #[must_use]
    pub fn effective(&self) -> Self {
        let min_pause = self.min_pause.min(LONGEST_PAUSE);
        Self {
            interval: self.interval.map(|interval| interval.max(min_pause)),
            interval_during_backlog: self
                .interval_during_backlog
                .map(|interval| if interval.is_zero() { interval } else { interval.max(min_pause) }),
            min_pause,
            max_concurrent: if min_pause.is_zero() { self.max_concurrent } else { 1 },
            ..self.clone()
        }
    }
}

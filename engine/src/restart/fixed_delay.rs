//! So many restarts in all (RS-02).

use super::Delays;
use crate::config::FixedDelay;
use millstream_io::clock::Moment;
use std::time::Duration;

/// The restarts that are left.
#[derive(Debug)]
pub(super) struct Attempts {
    left: u32,
    delay: Duration,
}

impl Attempts {
    pub(super) fn new(settings: &FixedDelay) -> Self {
        Self { left: settings.attempts, delay: settings.delay }
    }
}

impl Delays for Attempts {
    fn failed(&mut self, _now: Moment) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        Some(self.delay)
    }
}

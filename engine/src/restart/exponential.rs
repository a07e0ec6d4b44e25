//! Delays that grow from failure to failure, until the job has run long enough (RS-04).

use super::Delays;
use crate::config::ExponentialDelay;
use crate::seed;
use millstream_io::clock::Moment;
use std::time::Duration;

/// How many failures there were without a reset.
#[derive(Debug)]
pub(super) struct Backoff {
    settings: ExponentialDelay,
    seed: u64,
    failures: u32,
    due: Moment,
}

impl Backoff {
    pub(super) fn new(settings: &ExponentialDelay, seed: u64) -> Self {
        Self { settings: settings.clone(), seed, failures: 0, due: Moment::ZERO }
    }

    /// Delay `k`, counted from 1, before chance has its say.
    fn delay(&self, k: u32) -> Duration {
        let exponent = i32::try_from(k - 1).unwrap_or(i32::MAX);
        let seconds =
            self.settings.initial_backoff.as_secs_f64() * self.settings.backoff_multiplier.powi(exponent);
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX).min(self.settings.max_backoff)
    }

    /// Adds or takes away up to the jitter's part of the delay.
    fn jittered(&mut self, delay: Duration) -> Duration {
        self.seed = seed::mix(self.seed);
        let chance = self.seed as f64 / u64::MAX as f64 * 2.0 - 1.0;
        let seconds = delay.as_secs_f64() * (1.0 + chance * self.settings.jitter_factor);
        Duration::try_from_secs_f64(seconds).unwrap_or(delay).min(self.settings.max_backoff)
    }
}

impl Delays for Backoff {
    fn failed(&mut self, now: Moment) -> Option<Duration> {
        if self.failures > 0 && now.saturating_sub(self.due) >= self.settings.reset_backoff_threshold {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        if self.settings.attempts_before_reset.is_some_and(|attempts| self.failures > attempts) {
            return None;
        }
        let delay = self.delay(self.failures);
        let delay = self.jittered(delay);
        self.due = now.saturating_add(delay);
        Some(delay)
    }
}

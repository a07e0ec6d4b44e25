//! The restart strategy that the settings come to.

use crate::config::{self, ExponentialDelay, FailureRate, FixedDelay, RestartKind, format_duration as shown};
use std::fmt;

/// Whether and when a job starts again after a failure.
#[derive(Clone, Debug, PartialEq)]
pub enum RestartStrategy {
    /// Not at all (RS-01).
    None,
    /// A number of times, each after the same delay (RS-02).
    FixedDelay(FixedDelay),
    /// While failures are rare (RS-03).
    FailureRate(FailureRate),
    /// After growing delays (RS-04).
    ExponentialDelay(ExponentialDelay),
}

impl RestartStrategy {
    /// The strategy of a job, `checkpointing` or not: one that says nothing about it restarts for ever with
    /// checkpoints and never without (RS-05, ruling 8).
    pub fn of(settings: &config::Restart, checkpointing: bool) -> Self {
        match settings.kind {
            RestartKind::Auto if checkpointing => Self::ExponentialDelay(settings.exponential_delay.clone()),
            RestartKind::Auto | RestartKind::None => Self::None,
            RestartKind::FixedDelay => Self::FixedDelay(settings.fixed_delay.clone()),
            RestartKind::FailureRate => Self::FailureRate(settings.failure_rate.clone()),
            RestartKind::ExponentialDelay => Self::ExponentialDelay(settings.exponential_delay.clone()),
        }
    }
}

/// The strategy with its parameters (ER-24).
impl fmt::Display for RestartStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("restart strategy none"),
            Self::FixedDelay(s) => {
                write!(f, "restart strategy fixed-delay, attempts {}, delay {}", s.attempts, shown(s.delay))
            }
            Self::FailureRate(s) => write!(
                f,
                "restart strategy failure-rate, max-failures-per-interval {}, failure-rate-interval {}, delay {}",
                s.max_failures_per_interval,
                shown(s.interval),
                shown(s.delay)
            ),
            Self::ExponentialDelay(s) => {
                write!(
                    f,
                    "restart strategy exponential-delay, initial-backoff {}, max-backoff {}, \
                     backoff-multiplier {}, reset-backoff-threshold {}, jitter-factor {}",
                    shown(s.initial_backoff),
                    shown(s.max_backoff),
                    s.backoff_multiplier,
                    shown(s.reset_backoff_threshold),
                    s.jitter_factor
                )?;
                match s.attempts_before_reset {
                    Some(attempts) => write!(f, ", attempts-before-reset-backoff {attempts}"),
                    None => Ok(()),
                }
            }
        }
    }
}

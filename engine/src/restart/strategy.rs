//! The restart strategies as settings.

use crate::setting::InvalidSetting;
use std::fmt;
use std::time::Duration;

/// `fixed-delay`: so many restarts in all, each after the same delay (RS-02).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedDelay {
    /// `restart-strategy.fixed-delay.attempts`: restarts in all; no success gives any back.
    pub attempts: u32,
    /// `restart-strategy.fixed-delay.delay`.
    pub delay: Duration,
}

impl Default for FixedDelay {
    fn default() -> Self {
        Self { attempts: 1, delay: Duration::from_secs(1) }
    }
}

/// `failure-rate`: restarts as long as failures are rare (RS-03).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureRate {
    /// `restart-strategy.failure-rate.max-failures-per-interval`: one more within the interval is too many.
    pub max_failures: u32,
    /// `restart-strategy.failure-rate.failure-rate-interval`.
    pub interval: Duration,
    /// `restart-strategy.failure-rate.delay`.
    pub delay: Duration,
}

impl Default for FailureRate {
    fn default() -> Self {
        Self { max_failures: 1, interval: Duration::from_secs(60), delay: Duration::from_secs(1) }
    }
}

/// `exponential-delay`: growing delays, until the job has run long enough (RS-04).
#[derive(Clone, Debug, PartialEq)]
pub struct ExponentialDelay {
    /// `restart-strategy.exponential-delay.initial-backoff`.
    pub initial: Duration,
    /// `restart-strategy.exponential-delay.max-backoff`.
    pub max: Duration,
    /// `restart-strategy.exponential-delay.backoff-multiplier`.
    pub multiplier: f64,
    /// `restart-strategy.exponential-delay.reset-backoff-threshold`: a job that ran that long since its last restart
    /// begins anew.
    pub reset_threshold: Duration,
    /// `restart-strategy.exponential-delay.jitter-factor`: the part of the delay that chance adds or takes away.
    pub jitter: f64,
    /// `restart-strategy.exponential-delay.attempts-before-reset-backoff`: restarts without a reset; none for as many
    /// as it takes.
    pub attempts: Option<u32>,
}

impl Default for ExponentialDelay {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            max: Duration::from_secs(60),
            multiplier: 1.5,
            reset_threshold: Duration::from_secs(3600),
            jitter: 0.1,
            attempts: None,
        }
    }
}

/// Whether and when a job starts again after a failure.
#[derive(Clone, Debug, PartialEq)]
pub enum RestartStrategy {
    /// Not at all (RS-01).
    None,
    /// A number of times.
    FixedDelay(FixedDelay),
    /// While failures are rare.
    FailureRate(FailureRate),
    /// After growing delays.
    ExponentialDelay(ExponentialDelay),
}

// No strategy that passed validation holds a NaN, the one value that would not equal itself.
impl Eq for RestartStrategy {}

impl RestartStrategy {
    /// The key that names the strategy.
    pub const TYPE: &'static str = "restart-strategy.type";

    /// What a job does that says nothing about it: restarts for ever with checkpoints, never without (RS-05,
    /// ruling 8).
    pub fn default_for(checkpointing: bool) -> Self {
        if checkpointing { Self::ExponentialDelay(ExponentialDelay::default()) } else { Self::None }
    }

    /// The strategy of that name, with its default settings (RS-06).
    ///
    /// # Errors
    /// The name is none of those known.
    pub fn named(name: &str) -> Result<Self, InvalidSetting> {
        match name {
            "none" | "off" | "disable" => Ok(Self::None),
            "fixed-delay" | "fixeddelay" => Ok(Self::FixedDelay(FixedDelay::default())),
            "failure-rate" | "failurerate" => Ok(Self::FailureRate(FailureRate::default())),
            "exponential-delay" | "exponentialdelay" => {
                Ok(Self::ExponentialDelay(ExponentialDelay::default()))
            }
            other => {
                let allowed = "must be one of none, fixed-delay, failure-rate, exponential-delay";
                Err(InvalidSetting::new(Self::TYPE, other, allowed))
            }
        }
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// The first value out of range, with its key and what is allowed.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        match self {
            Self::None | Self::FixedDelay(_) => Ok(()),
            Self::FailureRate(rate) => rate.validate(),
            Self::ExponentialDelay(exponential) => exponential.validate(),
        }
    }
}

impl FailureRate {
    fn validate(&self) -> Result<(), InvalidSetting> {
        let (count, interval) = (
            "restart-strategy.failure-rate.max-failures-per-interval",
            "restart-strategy.failure-rate.failure-rate-interval",
        );
        if self.max_failures == 0 {
            return Err(InvalidSetting::new(count, 0, "must be at least 1"));
        }
        if self.interval.is_zero() {
            return Err(InvalidSetting::new(interval, "0", "must be longer than nothing"));
        }
        Ok(())
    }
}

impl ExponentialDelay {
    fn validate(&self) -> Result<(), InvalidSetting> {
        let invalid = |key, value: String, allowed: &str| Err(InvalidSetting::new(key, value, allowed));
        let (initial, max) = (self.initial, self.max);
        if initial.is_zero() {
            let key = "restart-strategy.exponential-delay.initial-backoff";
            return invalid(key, "0".to_owned(), "must be longer than nothing");
        }
        if initial > max {
            let key = "restart-strategy.exponential-delay.max-backoff";
            return invalid(
                key,
                format!("{max:?}"),
                &format!("must be at least initial-backoff, {initial:?}"),
            );
        }
        if !(self.multiplier > 1.0 && self.multiplier.is_finite()) {
            let key = "restart-strategy.exponential-delay.backoff-multiplier";
            return invalid(key, self.multiplier.to_string(), "must be greater than 1");
        }
        if !(0.0..=1.0).contains(&self.jitter) {
            let key = "restart-strategy.exponential-delay.jitter-factor";
            return invalid(key, self.jitter.to_string(), "must be from 0 to 1");
        }
        if self.attempts == Some(0) {
            let key = "restart-strategy.exponential-delay.attempts-before-reset-backoff";
            return invalid(key, "0".to_owned(), "must be at least 1");
        }
        Ok(())
    }
}

impl fmt::Display for RestartStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("restart strategy none"),
            Self::FixedDelay(s) => {
                write!(f, "restart strategy fixed-delay, attempts {}, delay {:?}", s.attempts, s.delay)
            }
            Self::FailureRate(s) => write!(
                f,
                "restart strategy failure-rate, max-failures-per-interval {}, failure-rate-interval {:?}, delay {:?}",
                s.max_failures, s.interval, s.delay
            ),
            Self::ExponentialDelay(s) => {
                write!(
                    f,
                    "restart strategy exponential-delay, initial-backoff {:?}, max-backoff {:?}, \
                     backoff-multiplier {}, reset-backoff-threshold {:?}, jitter-factor {}",
                    s.initial, s.max, s.multiplier, s.reset_threshold, s.jitter
                )?;
                match s.attempts {
                    Some(attempts) => write!(f, ", attempts-before-reset-backoff {attempts}"),
                    None => Ok(()),
                }
            }
        }
    }
}

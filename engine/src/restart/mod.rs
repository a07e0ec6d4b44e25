//! Whether and when a failed job starts again: the restart strategies as pure functions of the moments of failure.

mod exponential;
mod failure_rate;
mod fixed_delay;
mod strategy;
#[cfg(test)]
mod tests;

pub use strategy::RestartStrategy;

use exponential::Backoff;
use failure_rate::RecentFailures;
use fixed_delay::Attempts;
use millstream_io::clock::Moment;
use millstream_io::error::Class;
use std::fmt;
use std::time::Duration;
use thiserror::Error;

/// What is to be done about a failure.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Start the next attempt after this delay. A failure that comes while a restart is scheduled gets what is left
    /// of the delay: the moment of the restart stays the same.
    RestartAfter(Duration),
    /// The job has failed for good.
    GiveUp(GaveUp),
}

/// Why there is no further attempt.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum GaveUp {
    /// A restart would meet the same error again (RS-07, ruling 8).
    #[error("the error is not one that a restart could mend")]
    NotRestartable,
    /// The strategy allows no further restart (ER-24).
    #[error("no restart left: {0}")]
    Exhausted(RestartStrategy),
}

/// What the strategies have in common: a failure either yields a delay or is one too many.
trait Delays: fmt::Debug + Send {
    fn failed(&mut self, now: Moment) -> Option<Duration>;
}

#[derive(Debug)]
struct Never;

impl Delays for Never {
    fn failed(&mut self, _now: Moment) -> Option<Duration> {
        None
    }
}

/// The restarts of one job, over all its attempts.
///
/// ```
/// use millstream::config::FixedDelay;
/// use millstream::restart::{Decision, Restart, RestartStrategy};
/// use millstream_io::error::Class;
/// use std::time::Duration;
///
/// let second = Duration::from_secs(1);
/// let strategy = RestartStrategy::FixedDelay(FixedDelay { attempts: 1, delay: second });
/// let mut restart = Restart::new(strategy, 7);
/// assert_eq!(restart.on_failure(10 * second, Class::Restart), Decision::RestartAfter(second));
/// assert!(matches!(restart.on_failure(20 * second, Class::Restart), Decision::GiveUp(_)));
/// ```
#[derive(Debug)]
pub struct Restart {
    strategy: RestartStrategy,
    delays: Box<dyn Delays>,
    due: Option<Moment>,
}

impl Restart {
    /// Nothing has failed yet. The seed decides the jitter.
    pub fn new(strategy: RestartStrategy, seed: u64) -> Self {
        let delays: Box<dyn Delays> = match &strategy {
            RestartStrategy::None => Box::new(Never),
            RestartStrategy::FixedDelay(fixed) => Box::new(Attempts::new(fixed)),
            RestartStrategy::FailureRate(rate) => Box::new(RecentFailures::new(rate)),
            RestartStrategy::ExponentialDelay(exponential) => Box::new(Backoff::new(exponential, seed)),
        };
        Self { strategy, delays, due: None }
    }

    /// The strategy.
    pub fn strategy(&self) -> &RestartStrategy {
        &self.strategy
    }

    /// A part of the job has failed at `now`, with an error of this class.
    pub fn on_failure(&mut self, now: Moment, class: Class) -> Decision {
        if class != Class::Restart {
            return Decision::GiveUp(GaveUp::NotRestartable);
        }
        if let Some(due) = self.due.filter(|due| now < *due) {
            return Decision::RestartAfter(due - now);
        }
        match self.delays.failed(now) {
            Some(delay) => {
                self.due = Some(now.saturating_add(delay));
                Decision::RestartAfter(delay)
            }
            None => Decision::GiveUp(GaveUp::Exhausted(self.strategy.clone())),
        }
    }
}

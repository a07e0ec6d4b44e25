//! Restarts as long as at most `m` failures lie in a sliding interval (RS-03).

use super::Delays;
use crate::config::FailureRate;
use millstream_io::clock::Moment;
use std::collections::VecDeque;
use std::time::Duration;

/// The moments of the failures within the interval before the last one; at most `m + 1` of them.
#[derive(Debug)]
pub(super) struct RecentFailures {
    settings: FailureRate,
    at: VecDeque<Moment>,
}

impl RecentFailures {
    pub(super) fn new(settings: &FailureRate) -> Self {
        Self { settings: settings.clone(), at: VecDeque::new() }
    }
}

impl Delays for RecentFailures {
    /// A failure exactly one interval ago still lies in it.
    fn failed(&mut self, now: Moment) -> Option<Duration> {
        self.at.push_back(now);
        while self.at.pop_front_if(|then| now.saturating_sub(*then) > self.settings.interval).is_some() {}
        (self.at.len() <= self.settings.max_failures_per_interval as usize).then_some(self.settings.delay)
    }
}

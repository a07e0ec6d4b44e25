//! Since when a job runs, and how long it did not. Pure.

use super::JobState;
use millstream_io::clock::Moment;
use std::time::Duration;

/// Follows a job from state to state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Availability {
    running_since: Option<Moment>,
    down_since: Option<Moment>,
    restarting: Duration,
}

impl Availability {
    /// The job is in this state from now on.
    pub(crate) fn enter(&mut self, state: JobState, now: Moment) {
        match state {
            JobState::Running => {
                if let Some(down) = self.down_since.take() {
                    self.restarting = now.saturating_sub(down);
                }
                self.running_since.get_or_insert(now);
            }
            JobState::Restarting => {
                self.running_since = None;
                self.down_since.get_or_insert(now);
            }
            // Behind a failure it is still down; while it stops it still runs.
            JobState::Starting | JobState::Stopping => {}
            JobState::Finished | JobState::Stopped | JobState::Canceled | JobState::Failed => {
                (self.running_since, self.down_since) = (None, None);
            }
        }
    }

    /// For how long it has been running without a failure.
    pub(crate) fn uptime(&self, now: Moment) -> Duration {
        self.running_since.map_or(Duration::ZERO, |since| now.saturating_sub(since))
    }

    /// For how long it has not been running, behind a failure.
    pub(crate) fn downtime(&self, now: Moment) -> Duration {
        self.down_since.map_or(Duration::ZERO, |since| now.saturating_sub(since))
    }

    /// From the last failure that it has recovered from until it was running again.
    pub(crate) fn restarting(&self) -> Duration {
        self.restarting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Up, down and restarting times in seconds, at this second.
    fn times(availability: &Availability, now: u64) -> (u64, u64, u64) {
        let now = Duration::from_secs(now);
        let all = (availability.uptime(now), availability.downtime(now), availability.restarting());
        (all.0.as_secs(), all.1.as_secs(), all.2.as_secs())
    }

    #[test]
    fn met_01_uptime_downtime_and_restarting_time_by_hand() {
        use JobState::*;
        let mut availability = Availability::default();
        for (at, state, then, expected) in [
            (0, Starting, 5, (0, 0, 0)),
            (10, Running, 40, (30, 0, 0)),
            (50, Restarting, 57, (0, 7, 0)),
            (60, Starting, 61, (0, 11, 0)),
            // It fails again before it runs: the same outage.
            (62, Restarting, 63, (0, 13, 0)),
            (70, Starting, 71, (0, 21, 0)),
            (75, Running, 80, (5, 0, 25)),
            (85, Stopping, 86, (11, 0, 25)),
            (90, Stopped, 95, (0, 0, 25)),
        ] {
            availability.enter(state, Duration::from_secs(at));
            assert_eq!(times(&availability, then), expected, "{state} since {at}, at {then}");
        }
    }
}

//! When periodic checkpoints are due (CP-02 to CP-04).

use crate::config::Checkpointing;
use millstream_io::clock::Moment;
use std::time::Duration;

/// The grid of periodic checkpoints of one attempt: `t0 + k * interval`, and at most one tick that waits.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    interval: Duration,
    min_pause: Duration,
    /// None when no checkpoint is taken by time.
    next: Option<Moment>,
    waiting: bool,
    completed: Option<Moment>,
}

impl Schedule {
    /// A new attempt's grid, which is empty without an interval. Its first point is drawn from `[min-pause, interval]`,
    /// so that jobs started together do not checkpoint together. `config` is the effective one.
    pub(super) fn start(now: Moment, config: &Checkpointing, seed: u64) -> Self {
        let min_pause = config.min_pause;
        let first = |interval: Duration| {
            let spread = interval.saturating_sub(min_pause);
            now.saturating_add((min_pause + spread.mul_f64(unit(seed))).min(interval))
        };
        let next = config.interval.map(first);
        let interval = config.interval.unwrap_or(Duration::MAX);
        Self { interval, min_pause, next, waiting: false, completed: None }
    }

    /// From now on the interval is this one, or none (CP-10). A tick that is due nearer stays where it is.
    pub(super) fn every(&mut self, now: Moment, interval: Option<Duration>) {
        let Some(interval) = interval else {
            (self.next, self.waiting) = (None, false);
            return;
        };
        self.interval = interval;
        let planned = now.saturating_add(interval);
        self.next = Some(self.next.map_or(planned, |next| next.min(planned)));
    }

    /// The next moment at which something has to happen; none while a tick waits already.
    pub(super) fn due(&self) -> Option<Moment> {
        self.next.filter(|_| !self.waiting)
    }

    /// Time has passed: a tick that has come waits to be triggered.
    pub(super) fn tick(&mut self, now: Moment) {
        if self.next.is_some_and(|next| now >= next) {
            self.waiting = true;
        }
    }

    /// Whether a checkpoint may be triggered now because of a tick. One that comes too soon after the last completed
    /// checkpoint moves the grid to the end of the pause.
    pub(super) fn ready(&mut self, now: Moment) -> bool {
        if !self.waiting {
            return false;
        }
        match self.completed.map(|completed| completed.saturating_add(self.min_pause)) {
            Some(pause_end) if now < pause_end => {
                self.waiting = false;
                self.next = Some(pause_end);
                false
            }
            _ => true,
        }
    }

    /// The waiting tick is used up, and with it all that were missed meanwhile: the next is the first grid point
    /// after now.
    pub(super) fn used(&mut self, now: Moment) {
        self.waiting = false;
        if let Some(next) = self.next.filter(|next| now >= *next) {
            let beyond = (now - next).as_nanos() % self.interval.as_nanos();
            let to_go = self.interval.as_nanos() - beyond;
            self.next = Some(now.saturating_add(nanos(to_go)));
        }
    }

    /// A checkpoint of any kind has completed.
    pub(super) fn completed(&mut self, now: Moment) {
        self.completed = Some(now);
    }
}

fn nanos(n: u128) -> Duration {
    const NANOS_PER_SECOND: u128 = 1_000_000_000;
    let seconds = u64::try_from(n / NANOS_PER_SECOND).unwrap_or(u64::MAX);
    Duration::new(seconds, (n % NANOS_PER_SECOND) as u32)
}

/// A number in `[0, 1]` that depends on nothing but the seed.
fn unit(seed: u64) -> f64 {
    crate::seed::mix(seed) as f64 / u64::MAX as f64
}

//! How much of a frozen state is encoded beside a batch of records, and whether there is to be one.

use millstream_io::clock::Moment;
use std::time::Duration;

/// Bytes of a step beside work, in the beginning.
const FIRST: usize = 32 << 10;

/// Bounds of it: a step of the most takes about 0.2 ms, so that no record waits for long.
const LEAST: usize = 16 << 10;
const MOST: usize = 512 << 10;

/// However far apart checkpoints are, a drain is to be over after this time: each line that changes before its turn has to be
/// kept in memory until then. (Measured: in a drain of 14 seconds half of a state of 1.1 GB came to be kept.)
const LONGEST: Duration = Duration::from_secs(1);

/// Adapts the bytes of a step so that a drain ends within a quarter of the time between checkpoints, and a second: then at least
/// three quarters of it are left in which no line has to be copied before it changes, and the next barrier waits for no drain.
#[derive(Debug)]
pub(crate) struct DrainPace {
    /// When a drain is to be over, from its beginning.
    aim: Duration,
    begun: Moment,
    bytes: usize,
    most: usize,
    /// Bytes of copies that may be kept before records have to wait.
    keep: usize,
}

impl DrainPace {
    /// For checkpoints that are so far apart, if they are regular. A step is of two chunks, of so many bytes, at most; so many
    /// bytes of copies may be `keep`t of what has changed before its turn.
    pub(crate) fn new(interval: Option<Duration>, chunk: usize, keep: usize) -> Self {
        let aim = interval.map_or(LONGEST, |interval| LONGEST.min(interval / 4));
        Self { aim, begun: Moment::ZERO, bytes: FIRST, most: MOST.min(chunk.max(1) * 2), keep }
    }

    /// Bytes of a step when there is nothing else to do: then one follows the other.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// A drain begins.
    pub(crate) fn begin(&mut self, now: Moment) {
        self.begun = now;
        self.bytes = FIRST;
    }

    /// Whether records have to wait until more is encoded, as so many bytes of copies are kept.
    pub(crate) fn holds(&self, kept: usize) -> bool {
        kept > self.keep
    }

    /// Bytes for a step now: the most when half of the copies are kept that may be; otherwise more when the drain has passed a smaller part of the whole than of its time, less when it is far
    /// ahead. Of a state that does not say how far it is, as ever until the time is over.
    pub(crate) fn bytes(&mut self, now: Moment, (passed, all): (u64, u64), kept: usize) -> usize {
        if kept > self.keep / 2 {
            self.bytes = MOST;
            return self.most;
        }
        // In 1024ths; a little early, since steps come when they come.
        let share = |part: u128, whole: u128| (part * 1024).checked_div(whole).unwrap_or(0).min(1024);
        let due = share(now.saturating_sub(self.begun).as_nanos() * 8 / 7, self.aim.as_nanos().max(1));
        let done = if all == 0 { 1023 } else { share(u128::from(passed), u128::from(all)) };
        if done < due {
            self.bytes = (self.bytes * 2).min(MOST);
        } else if all > 0 && done > due + 128 {
            self.bytes = (self.bytes / 2).max(LEAST);
        }
        self.bytes.min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Drains so many bytes by steps of a millisecond each. Returns when it is over.
    fn drain(interval: Option<Duration>, all: u64) -> Duration {
        let (mut pace, begun, mut passed, mut now) =
            (DrainPace::new(interval, 1 << 20, 0), 7 * MS, 0, 7 * MS);
        pace.begin(begun);
        while passed < all {
            now += MS;
            passed += pace.bytes(now, (passed, all), 0) as u64;
        }
        now - begun
    }

    #[test]
    fn cp_24_a_drain_ends_within_a_quarter_of_the_interval() {
        for (interval, mb) in [(1000, 1), (1000, 8), (1000, 100), (100, 1), (100, 10), (10_000, 1000)] {
            let took = drain(Some(interval * MS), mb << 20);
            assert!(took <= interval * MS / 4, "{mb} MB every {interval} ms: {took:?}");
        }
        // Not earlier than need be, either: what is ahead of its time takes small steps.
        assert!(drain(Some(1000 * MS), 8 << 20) > 150 * MS);
        for hours in [1, 24] {
            let took = drain(Some(hours * 3_600_000 * MS), 400 << 20);
            assert!((700 * MS..=1000 * MS).contains(&took), "{took:?}");
        }
        assert_eq!(drain(Some(1000 * MS), 1 << 30), 2051 * MS, "64, 128, 256 KB, then half a MB each");
    }

    #[test]
    fn a_state_that_does_not_say_how_far_it_is_has_steps_of_one_size_until_it_is_late() {
        let mut pace = DrainPace::new(Some(1000 * MS), 256 << 10, 0);
        pace.begin(MS);
        assert_eq!([1, 100, 200].map(|ms| pace.bytes(ms * MS, (0, 0), 0)), [FIRST; 3]);
        assert_eq!(
            [252, 253, 254, 255, 256].map(|ms| pace.bytes(ms * MS, (0, 0), 0) >> 10),
            [64, 128, 256, 512, 512]
        );
    }

    #[test]
    fn copies_that_are_kept_have_steps_grow_and_at_the_bound_records_wait() {
        let mut pace = DrainPace::new(Some(1000 * MS), 256 << 10, 1000);
        pace.begin(MS);
        assert_eq!(pace.bytes(MS, (0, 1 << 30), 500), FIRST, "it has just begun");
        assert_eq!(pace.bytes(3 * MS, (1 << 29, 1 << 30), 501), MOST, "though it is far ahead of its time");
        assert!(!pace.holds(1000) && pace.holds(1001));
    }
}

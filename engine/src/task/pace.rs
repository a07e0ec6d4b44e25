//! How many rows are processed before the clock is looked at.

use super::Message;
use crossbeam_channel::Receiver;
use millstream_io::clock::{Clock, Moment};
use std::time::Duration;

/// A step ends after this long, so that control gets its turn (ruling 11).
pub(crate) const STEP: Duration = Duration::from_millis(1);

/// Rows between two looks at the clock at most.
const MOST: usize = 1024;

/// Rows between two looks at what costs little: mailbox and overdraft. So a function that turns slow all of a sudden keeps
/// control waiting for this many rows at most, and that once.
const PORTION: usize = 128;

/// Aim for the time between two looks at the clock.
const AIM: Duration = Duration::from_micros(100);

/// What a step looks at while it lasts.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'a> {
    pub(crate) clock: &'a dyn Clock,
    pub(crate) mailbox: &'a Receiver<Message>,
}

/// Adapts the number of rows between two looks at the clock to the measured time a row takes: a look costs as much as
/// many rows of a fast chain, while a single row of a slow one may take as long as a whole step.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Rows between two looks at the clock.
    rows: usize,
    most: usize,
    /// Rows since the last one.
    since: usize,
    last: Moment,
    began: Moment,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self::at_most(MOST)
    }

    /// One that looks at the clock after so many rows at most.
    pub(crate) fn at_most(most: usize) -> Self {
        Self { rows: 16.min(most), most, since: 0, last: Moment::ZERO, began: Moment::ZERO }
    }

    /// A step begins.
    pub(crate) fn begin(&mut self, now: Moment) {
        self.since = 0;
        self.last = now;
        self.began = now;
    }

    /// Rows to process before [`Pace::passed`] is to be called; at least one.
    #[inline]
    pub(crate) fn portion(&self) -> usize {
        (self.rows - self.since).min(PORTION)
    }

    /// That many rows were processed. Is the step to end, because it has lasted long enough or there is mail?
    #[inline]
    pub(crate) fn passed(&mut self, rows: usize, watch: Watch<'_>) -> bool {
        self.since += rows;
        (self.since >= self.rows && self.look(watch.clock)) || !watch.mailbox.is_empty()
    }

    fn look(&mut self, clock: &dyn Clock) -> bool {
        let now = clock.now();
        let took = now.saturating_sub(self.last);
        self.rows = if took <= AIM / 2 {
            // Doubling at most: one lucky reading must not let the next slow row hide behind a thousand others.
            (self.rows * 2).min(self.most)
        } else {
            let fit = AIM.as_nanos() * self.since as u128 / took.as_nanos();
            usize::try_from(fit).unwrap_or(self.most).clamp(1, self.most)
        };
        self.since = 0;
        self.last = now;
        now.saturating_sub(self.began) >= STEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_io::clock::ManualClock;

    /// Rows of the next portion, each of which takes so long.
    fn portion(pace: &mut Pace, clock: &ManualClock, each: Duration) -> usize {
        let rows = pace.portion();
        clock.advance(each * rows as u32);
        pace.passed(rows, Watch { clock, mailbox: &crossbeam_channel::unbounded().1 });
        rows
    }

    #[test]
    fn a_slow_row_is_looked_at_alone_and_fast_rows_in_blocks() {
        let (mut pace, clock) = (Pace::new(), ManualClock::new());
        pace.begin(clock.now());
        let fast = Duration::from_nanos(10);
        assert_eq!([0; 5].map(|_| portion(&mut pace, &clock, fast)), [16, 32, 64, 128, 128]);
        assert_eq!((pace.rows, pace.since), (256, 128), "the mailbox is looked at more often than the clock");
        let portions: Vec<_> = (0..20).map(|_| portion(&mut pace, &clock, fast)).collect();
        assert_eq!(portions, [128; 20]);
        assert_eq!(pace.rows, 1024);
        while pace.since > 0 {
            portion(&mut pace, &clock, Duration::from_millis(1));
        }
        assert_eq!(portion(&mut pace, &clock, Duration::from_millis(1)), 1);
    }

    #[test]
    fn ruling_11_a_step_is_over_after_a_millisecond_or_when_there_is_mail() {
        let (mut pace, clock, (sender, mailbox)) =
            (Pace::new(), ManualClock::new(), crossbeam_channel::unbounded());
        let watch = Watch { clock: &clock, mailbox: &mailbox };
        pace.begin(clock.now());
        clock.advance(STEP - Duration::from_nanos(1));
        assert!(!pace.passed(16, watch));
        clock.advance(Duration::from_nanos(1));
        assert!(pace.passed(pace.portion(), watch));
        pace.begin(clock.now());
        assert!(!pace.passed(1, watch));
        sender.send(Message::Close).expect("the mailbox is there");
        assert!(pace.passed(1, watch));
    }
}

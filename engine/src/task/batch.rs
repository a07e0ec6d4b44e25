//! What a source emits in one step: counted, and ended when the step has lasted long enough (ruling 11).

use super::pace::{Pace, Watch};
use millstream_io::clock::Moment;
use millstream_io::emit::Emit;
use millstream_io::{Record, Row};
use std::cell::{Cell, RefCell};

/// Stands between a source and the chain below it for one poll.
///
/// Overdraft ends it at once, which costs a few comparisons where there is an exchange below; mailbox and clock are looked
/// at after as many records as the pace allows.
pub(super) struct Batch<'a, P> {
    below: &'a mut P,
    emitted: u64,
    watch: Watch<'a>,
    pace: RefCell<&'a mut Pace>,
    /// Records at the last look.
    looked: Cell<u64>,
    /// Records at the next look.
    next: Cell<u64>,
}

impl<'a, P> Batch<'a, P> {
    pub(super) fn new(below: &'a mut P, watch: Watch<'a>, began: Moment, pace: &'a mut Pace) -> Self {
        pace.begin(began);
        let next = Cell::new(pace.portion() as u64);
        Self { below, emitted: 0, watch, pace: RefCell::new(pace), looked: Cell::new(0), next }
    }

    /// How many records were emitted.
    pub(super) fn emitted(&self) -> u64 {
        self.emitted
    }

    /// Whether the step is to end; settles when to look again.
    #[cold]
    fn look(&self) -> bool {
        let rows = self.emitted - self.looked.replace(self.emitted);
        let mut pace = self.pace.borrow_mut();
        let over = pace.passed(usize::try_from(rows).unwrap_or(usize::MAX), self.watch);
        self.next.set(self.emitted + pace.portion() as u64);
        over
    }
}

impl<T: Record, P: Emit<T>> Emit<T> for Batch<'_, P> {
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.below.is_full() || (self.emitted >= self.next.get() && self.look())
    }

    #[inline(always)]
    fn portion(&self) -> usize {
        usize::try_from(self.next.get().saturating_sub(self.emitted)).map_or(1, |left| left.max(1))
    }

    #[inline(always)]
    fn emit(&mut self, record: T::Ref<'_>) {
        self.emitted += 1;
        self.below.emit(record);
    }

    #[inline(always)]
    fn emit_row(&mut self, row: Row<'_, T>) {
        self.emitted += 1;
        self.below.emit_row(row);
    }

    #[inline(always)]
    fn emit_all<I: Iterator<Item = T>>(&mut self, records: I) {
        let mut n = 0;
        self.below.emit_all(records.inspect(|_| n += 1));
        self.emitted += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_io::clock::{Clock, ManualClock};
    use std::time::Duration;

    /// A chain that needs so long for a record.
    struct Slow<'a>(&'a ManualClock, Duration);

    impl Emit<u64> for Slow<'_> {
        fn emit(&mut self, _: u64) {
            self.0.advance(self.1);
        }
    }

    /// Records of one poll of a source that looks after each.
    fn poll(clock: &ManualClock, each: Duration, pace: &mut Pace) -> u64 {
        let mut slow = Slow(clock, each);
        let mailbox = crossbeam_channel::unbounded().1;
        let mut batch = Batch::new(&mut slow, Watch { clock, mailbox: &mailbox }, clock.now(), pace);
        for n in 0..100_000 {
            batch.emit(n);
            if batch.is_full() {
                break;
            }
        }
        batch.emitted()
    }

    #[test]
    fn ruling_11_a_step_ends_after_a_millisecond() {
        let (clock, mut pace) = (ManualClock::new(), Pace::new());
        assert_eq!(poll(&clock, Duration::from_micros(100), &mut pace), 16, "nothing was known of the chain");
        assert_eq!(poll(&clock, Duration::from_micros(100), &mut pace), 10);
        assert_eq!(
            poll(&clock, Duration::from_millis(5), &mut pace),
            1,
            "a barrier waits for one slow record"
        );
        // 1 ms at 1 us a record, and up to 100 more before the next look.
        let fast = (0..20).map(|_| poll(&clock, Duration::from_micros(1), &mut pace)).last();
        assert!(fast.is_some_and(|n| (1000..1100).contains(&n)), "{fast:?}");
    }

    #[test]
    fn a_chain_without_cost_is_never_stopped_by_time() {
        let (clock, mut pace) = (ManualClock::new(), Pace::new());
        assert_eq!(poll(&clock, Duration::ZERO, &mut pace), 100_000);
    }
}

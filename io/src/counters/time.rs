//! Where a subtask's time goes, and how long it waits for barriers: written by its own thread alone, read by anyone.

use crate::clock::Moment;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A value with one writer.
#[derive(Debug, Default)]
struct Gauge(AtomicU64);

impl Gauge {
    fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a subtask's time goes into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Doing {
    /// It works, or waits for a processor.
    #[default]
    Busy,
    /// There is nothing for it to do.
    Idle,
    /// What it emits finds no room.
    BackPressured,
}

/// How much of its time a subtask has put into what, and what it does now.
///
/// Written when that changes, which is once for each run of segments, not for each record.
#[derive(Debug, Default)]
pub struct TimeSpent {
    spent: [AtomicU64; 3],
    /// Since when, in nanoseconds, and, in the lowest two bits, what, counted from one. Nought: not begun.
    now: AtomicU64,
}

/// A look at [`TimeSpent`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Working.
    pub busy: Duration,
    /// With nothing to do.
    pub idle: Duration,
    /// Waiting for room.
    pub back_pressured: Duration,
    /// What it does now.
    pub doing: Doing,
}

impl TimeSpent {
    /// From this moment on the subtask does this. Only the owning subtask says so.
    pub fn begin(&self, doing: Doing, at: Moment) {
        let before = self.now.load(Ordering::Relaxed);
        let at = nanos(at);
        if before != 0 {
            let spent = &self.spent[(before & 3) as usize - 1];
            let more = at.saturating_sub(before >> 2);
            spent.store(spent.load(Ordering::Relaxed) + more, Ordering::Relaxed);
        }
        // Whoever sees this sees what was added before.
        self.now.store(at << 2 | (doing as u64 + 1), Ordering::Release);
    }

    /// The time spent up to this moment. Anyone may look; what changes during the look may count a moment later.
    pub fn until(&self, at: Moment) -> Spent {
        let now = self.now.load(Ordering::Acquire);
        let load = |doing: Doing| self.spent[doing as usize].load(Ordering::Relaxed);
        let mut spent = [Doing::Busy, Doing::Idle, Doing::BackPressured].map(load);
        let doing = match now & 3 {
            0 => return Spent::default(),
            1 => Doing::Busy,
            2 => Doing::Idle,
            _ => Doing::BackPressured,
        };
        spent[doing as usize] += nanos(at).saturating_sub(now >> 2);
        let [busy, idle, back_pressured] = spent.map(Duration::from_nanos);
        Spent { busy, idle, back_pressured, doing }
    }
}

/// More than a century of nanoseconds in 62 bits.
fn nanos(at: Moment) -> u64 {
    u64::try_from(at.as_nanos()).unwrap_or(u64::MAX).min((u64::MAX >> 2) - 1)
}

/// What a subtask last measured of barriers.
#[derive(Debug, Default)]
pub struct BarrierTimes {
    start_delay_ns: Gauge,
    alignment_ns: Gauge,
    /// When the first barrier of the alignment under way arrived, and one; nought when there is none.
    aligning_since_ns: Gauge,
}

impl BarrierTimes {
    /// The first barrier of a checkpoint has arrived.
    pub fn begun(&self, at: Moment) {
        self.aligning_since_ns.set(nanos(at) + 1);
    }

    /// The last one has. The first one came so long after the trigger, and the others were waited for so long.
    pub fn complete(&self, start_delay: Duration, alignment: Duration) {
        self.start_delay_ns.set(nanos(start_delay));
        self.alignment_ns.set(nanos(alignment));
        self.aligning_since_ns.set(0);
    }

    /// The alignment is given up.
    pub fn given_up(&self) {
        self.aligning_since_ns.set(0);
    }

    /// For how long barriers have been waited for by now, or were the last time.
    pub fn alignment(&self, at: Moment) -> Duration {
        match self.aligning_since_ns.get() {
            0 => Duration::from_nanos(self.alignment_ns.get()),
            since => Duration::from_nanos((nanos(at) + 1).saturating_sub(since)),
        }
    }

    /// From the trigger to the first barrier here, of the newest checkpoint whose barriers have all come.
    pub fn start_delay(&self) -> Duration {
        Duration::from_nanos(self.start_delay_ns.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// Busy from 0 to 3 and from 10 to 11, idle from 3 to 10, waiting for room since then.
    #[test]
    fn met_01_every_moment_counts_for_what_was_done_then() {
        let time = TimeSpent::default();
        assert_eq!(time.until(ms(9)), Spent::default());
        time.begin(Doing::Busy, ms(1000));
        time.begin(Doing::Idle, ms(1003));
        time.begin(Doing::Busy, ms(1010));
        time.begin(Doing::BackPressured, ms(1011));
        let spent = time.until(ms(1031));
        assert_eq!((spent.busy, spent.idle, spent.back_pressured), (ms(4), ms(7), ms(20)));
        assert_eq!(spent.doing, Doing::BackPressured);
        assert_eq!(time.until(ms(1031)), spent, "a look changes nothing");
    }

    #[test]
    fn met_01_an_alignment_grows_while_it_lasts_and_then_stays() {
        let barrier = BarrierTimes::default();
        barrier.begun(ms(130));
        assert_eq!([131, 150].map(|at| barrier.alignment(ms(at))), [1, 20].map(ms));
        barrier.complete(ms(30), ms(25));
        assert_eq!([160, 900].map(|at| barrier.alignment(ms(at))), [25, 25].map(ms));
        barrier.begun(ms(1000));
        barrier.given_up();
        assert_eq!((barrier.alignment(ms(1100)), barrier.start_delay()), (ms(25), ms(30)));
    }
}

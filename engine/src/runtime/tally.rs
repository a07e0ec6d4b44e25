//! What a job has counted, over all attempts and processes of its line (ruling 29). Pure but for reading the subtasks'
//! counters.

use millstream_io::counters::Counters;
use millstream_state::metadata::LineCounters;
use std::sync::Arc;

/// How far a subtask has restored its keyed state (MS-083): all of it once the subtask runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoreProgress {
    /// Keys that are to be restored.
    pub records: u64,
    /// Keys that are restored.
    pub records_done: u64,
    /// Bytes that are to be read for that.
    pub bytes: u64,
    /// Bytes that have been read and applied.
    pub bytes_done: u64,
}

impl RestoreProgress {
    /// That of several subtasks.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            records: self.records + other.records,
            records_done: self.records_done + other.records_done,
            bytes: self.bytes + other.bytes,
            bytes_done: self.bytes_done + other.bytes_done,
        }
    }

    /// How much of it is done, of the bytes, in percent: exactly 100 when all is, also where there is nothing to do.
    pub fn percent(self) -> u64 {
        let done = u128::from(self.bytes_done) * 100;
        done.checked_div(u128::from(self.bytes)).map_or(100, |percent| percent.min(100) as u64)
    }
}

/// Adds up checkpoints and attempts.
///
/// Records that were read count as of the checkpoint that an attempt began with, and what it has read since: they are read
/// again after a failure. What is committed stays committed, so of that the most that any attempt has reached counts.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// What the line had counted when the present attempt began.
    base: LineCounters,
    /// The present attempt's counters.
    counters: Vec<Arc<Counters>>,
    /// The most records that earlier attempts of this process have read.
    most_read: u64,
    /// The most records that have been seen committed.
    most_committed: u64,
    /// What earlier attempts have read again.
    replayed: u64,
}

impl Tally {
    /// What the process goes on from; whoever took that checkpoint has most likely committed it.
    pub(crate) fn restored(&mut self, base: LineCounters) {
        self.base = base;
        self.most_committed = base.records_out;
    }

    /// How far each subtask of the present attempt has restored its keyed state (MS-083).
    pub(crate) fn restoring(&self) -> Vec<RestoreProgress> {
        let of = |counters: &Arc<Counters>| {
            let restore = &counters.restore;
            // What is done is read first, so that it is never more than all.
            let (records_done, bytes_done) = (restore.records_done.get(), restore.bytes_done.get());
            let (records, bytes) = (restore.records.get(), restore.bytes.get());
            RestoreProgress { records, records_done, bytes, bytes_done }
        };
        self.counters.iter().map(of).collect()
    }

    /// An attempt begins with what a checkpoint had counted.
    pub(crate) fn begin(&mut self, base: LineCounters, counters: Vec<Arc<Counters>>) {
        // What that checkpoint has pre-committed may not be visible before all subtasks have opened.
        let records_out = self.most_committed.min(base.records_out);
        self.base = LineCounters { records_out, ..base };
        self.counters = counters;
    }

    /// All subtasks have opened, and committed the checkpoint that had counted `base`.
    pub(crate) fn opened(&mut self, base: LineCounters) {
        self.base = base;
    }

    /// The attempt is over, and its records count as far as the newest completed checkpoint has them.
    pub(crate) fn fall_back(&mut self, completed: LineCounters) {
        let now = self.now();
        self.replayed += self.read_again(now);
        self.most_read = self.most_read.max(now.records_in);
        self.most_committed = self.most_committed.max(now.records_out);
        self.base = LineCounters { records_out: self.most_committed, ..completed };
        self.counters.clear();
    }

    /// The present attempt's counters, by subtask.
    pub(crate) fn subtasks(&self) -> &[Arc<Counters>] {
        &self.counters
    }

    /// What the line has counted up to now.
    pub(crate) fn counted(&self) -> LineCounters {
        let now = self.now();
        LineCounters { records_out: now.records_out.max(self.most_committed), ..now }
    }

    /// How many records this process has read more than once.
    pub(crate) fn replayed(&self) -> u64 {
        self.replayed + self.read_again(self.now())
    }

    fn now(&self) -> LineCounters {
        self.counters.iter().fold(self.base, |sum, counters| add(sum, read(counters)))
    }

    /// What of the present attempt's records an earlier attempt had read already.
    fn read_again(&self, now: LineCounters) -> u64 {
        now.records_in.min(self.most_read).saturating_sub(self.base.records_in)
    }
}

/// A subtask's counters as of now.
fn read(counters: &Counters) -> LineCounters {
    LineCounters {
        records_in: counters.records_in.get(),
        records_out: counters.records_out.get(),
        records_late: counters.records_late.get(),
        records_rejected: counters.records_rejected.get(),
    }
}

pub(crate) fn add(a: LineCounters, b: LineCounters) -> LineCounters {
    LineCounters {
        records_in: a.records_in + b.records_in,
        records_out: a.records_out + b.records_out,
        records_late: a.records_late + b.records_late,
        records_rejected: a.records_rejected + b.records_rejected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(records_in: u64, records_out: u64) -> LineCounters {
        LineCounters { records_in, records_out, ..LineCounters::default() }
    }

    /// An attempt from `base`, opened, that has read and committed so much.
    fn attempt(tally: &mut Tally, base: LineCounters, read: u64, committed: u64) {
        let counters = Arc::<Counters>::default();
        tally.begin(base, vec![counters.clone()]);
        tally.opened(base);
        counters.records_in.add(read);
        counters.records_out.add(committed);
    }

    fn figures(tally: &Tally) -> (u64, u64, u64) {
        (tally.counted().records_in, tally.counted().records_out, tally.replayed())
    }

    /// Ruling 29: a failure alone replays nothing; records are replayed when they are read again, each time.
    #[test]
    fn ruling_29_what_is_read_again_counts_as_replayed_when_it_is() {
        let mut tally = Tally::default();
        attempt(&mut tally, line(0, 0), 100, 30);
        tally.fall_back(line(40, 30));
        assert_eq!(figures(&tally), (40, 30, 0));
        attempt(&mut tally, line(40, 30), 25, 0);
        assert_eq!(figures(&tally), (65, 30, 25));
        tally.fall_back(line(40, 30));
        attempt(&mut tally, line(40, 30), 80, 90);
        assert_eq!(figures(&tally), (120, 120, 25 + 60));
    }

    /// Ruling 29: what a completed checkpoint has pre-committed is reported when it is visible, not before.
    #[test]
    fn ruling_29_what_was_not_committed_before_a_failure_counts_once_it_is() {
        let mut tally = Tally::default();
        attempt(&mut tally, line(0, 0), 100, 30);
        // The checkpoint is complete with 70, the attempt died before it had committed more than 30 of them.
        tally.fall_back(line(80, 70));
        assert_eq!(figures(&tally), (80, 30, 0));
        tally.begin(line(80, 70), vec![Arc::default()]);
        assert_eq!(figures(&tally), (80, 30, 0));
        tally.opened(line(80, 70));
        assert_eq!(figures(&tally), (80, 70, 0));
    }

    /// A sink whose records are visible at once writes them again after a failure; each counts once.
    #[test]
    fn ruling_29_what_has_been_visible_stays_so() {
        let mut tally = Tally::default();
        tally.restored(line(40, 40));
        attempt(&mut tally, line(40, 40), 60, 60);
        tally.fall_back(line(70, 70));
        assert_eq!(figures(&tally), (70, 100, 0));
        attempt(&mut tally, line(70, 70), 10, 10);
        assert_eq!(figures(&tally), (80, 100, 10));
    }
}

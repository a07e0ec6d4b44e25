//! What a subtask counts: written by its own thread alone, read by anyone.

mod time;

pub use time::{BarrierTimes, Doing, Spent, TimeSpent};

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter with one writer.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds; only the owning subtask does.
    #[inline(always)]
    pub fn add(&self, n: u64) {
        // One writer: a plain load and store make no lost update, and cost no locked instruction.
        self.0.store(self.0.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }

    /// The present value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A subtask's record counters (ruling 29); they count this attempt, the engine adds what a checkpoint restored.
///
/// Of a sink there are two: what has been pre-committed belongs to the next checkpoint, what can be seen is what a
/// report says. A sink whose records can be seen as soon as they are written calls [`Counters::written`].
#[derive(Debug, Default)]
pub struct Counters {
    /// Records read by a source, rejected ones included.
    pub records_in: Counter,
    /// Records of this attempt that a sink has made visible.
    pub records_out: Counter,
    /// Records that become visible when the next barrier's checkpoint completes, and all those before them. What an
    /// unfinished file of the restored checkpoint holds counts when that file is finished, what was pre-committed for
    /// it does not count again.
    pub records_sealed: Counter,
    /// Records that came after their window was gone.
    pub records_late: Counter,
    /// Records that could not be used.
    pub records_rejected: Counter,
    /// Keyed state that this attempt begins with, and how much of it is there by now.
    pub restore: Restore,
    /// Where the subtask's time goes.
    pub time: TimeSpent,
    /// The newest barrier.
    pub barrier: BarrierTimes,
}

/// How far the keyed state of a subtask is restored (MS-083). What is done is all there is once the subtask runs.
#[derive(Debug, Default)]
pub struct Restore {
    /// Keys that are to be restored.
    pub records: Counter,
    /// Keys that are restored.
    pub records_done: Counter,
    /// Bytes that are to be read for that.
    pub bytes: Counter,
    /// Bytes that have been read and applied.
    pub bytes_done: Counter,
}

impl Counters {
    /// A sink has made so many records visible that nothing takes back.
    pub fn written(&self, records: u64) {
        self.records_sealed.add(records);
        self.records_out.add(records);
    }
}

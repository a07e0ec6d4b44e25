//! A subtask's snapshot between the barrier and its acknowledgement.

use super::message::{Acknowledged, Report, Reporter};
use crate::checkpoint::{AckMetrics, Barrier, CheckpointFailure};
use crate::error::{Error, panic_text};
use crate::operator::SnapshotParts;
use millstream_io::clock::{Clock, Moment};
use millstream_io::counters::Counters;
use millstream_io::error::Class;
use millstream_io::executor::Executor;
use millstream_io::id::CheckpointId;
use millstream_io::storage::Storage;
use millstream_state::metadata::LineCounters;
use millstream_state::snapshot::{SubtaskSnapshot, WriteOptions};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A snapshot whose keyed state is still being drained.
pub(crate) struct Pending {
    pub(crate) barrier: Barrier,
    pub(crate) parts: SnapshotParts,
    metrics: AckMetrics,
    counters: LineCounters,
    ended: bool,
}

/// Writes a subtask's snapshots in the background.
pub(crate) struct SnapshotWriter {
    pub(crate) name: String,
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) executor: Arc<dyn Executor>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) counters: Arc<Counters>,
    /// Where the directories of the job's checkpoints are.
    pub(crate) dir: PathBuf,
    pub(crate) options: WriteOptions,
    /// Snapshots being written; the flag tells the work that nobody wants it any more.
    pub(crate) under_way: Vec<(CheckpointId, Arc<AtomicBool>)>,
}

impl SnapshotWriter {
    /// The operators have contributed; what they counted belongs to the same cut.
    pub(crate) fn begin(
        &self,
        barrier: Barrier,
        parts: SnapshotParts,
        mut metrics: AckMetrics,
        ended: bool,
        begun: Moment,
        now: Moment,
    ) -> Pending {
        metrics.sync = now.saturating_sub(begun);
        let counters = LineCounters {
            records_in: self.counters.records_in.get(),
            // What the sink has pre-committed: visible once this checkpoint is complete (ruling 29).
            records_out: self.counters.records_sealed.get(),
            records_late: self.counters.records_late.get(),
            records_rejected: self.counters.records_rejected.get(),
        };
        Pending { barrier, parts, metrics, counters, ended }
    }

    /// Starts writing.
    pub(crate) fn write(&mut self, pending: Pending, reporter: &Reporter) {
        let id = pending.barrier.id;
        let unwanted = Arc::new(AtomicBool::new(false));
        self.under_way.push((id, unwanted.clone()));
        let job = Write {
            pending,
            unwanted,
            name: self.name.clone(),
            storage: self.storage.clone(),
            clock: self.clock.clone(),
            dir: self.dir.join(format!("chk-{id}")),
            options: self.options,
        };
        let (reporter, name) = (reporter.clone(), self.name.clone());
        self.executor.spawn(Box::new(move || {
            // A sink's work may panic, and the executor says nothing of that.
            let reported = catch_unwind(AssertUnwindSafe(|| job.run(&reporter)));
            let panicked = |panic: Box<dyn Any + Send>| {
                let cause = format!("panicked: {}", panic_text(&*panic));
                Some(Report::Failed(Error::new(Class::Restart, "snapshot", name, cause)))
            };
            if let Some(report) = reported.unwrap_or_else(panicked) {
                reporter.report(report);
            }
        }));
    }

    /// This checkpoint was aborted.
    pub(crate) fn cancel(&mut self, id: CheckpointId) {
        self.under_way.retain(|(other, unwanted)| {
            if *other == id {
                unwanted.store(true, Ordering::Relaxed);
            }
            *other != id
        });
    }

    /// Checkpoints up to this one have ended.
    pub(crate) fn forget_up_to(&mut self, id: CheckpointId) {
        self.under_way.retain(|(other, _)| *other > id);
    }
}

/// The background part of one snapshot.
struct Write {
    pending: Pending,
    unwanted: Arc<AtomicBool>,
    name: String,
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    dir: PathBuf,
    options: WriteOptions,
}

impl Write {
    /// What to report; nothing for an aborted checkpoint, whose directory the coordinator removes.
    fn run(self, reporter: &Reporter) -> Option<Report> {
        if self.unwanted.load(Ordering::Relaxed) {
            return None;
        }
        let id = self.pending.barrier.id;
        Some(match self.write() {
            Ok((acknowledged, metrics)) => Report::Acknowledged(id, acknowledged, metrics),
            Err(error) => Report::Declined(
                id,
                CheckpointFailure::Snapshot { subtask: reporter.subtask, cause: error.to_string() },
            ),
        })
    }

    fn write(self) -> Result<(Acknowledged, AckMetrics), Error> {
        let begun = self.clock.now();
        let Pending { parts, mut metrics, counters, ended, .. } = self.pending;
        for work in parts.work {
            work()?;
        }
        let mut operators = parts.operators;
        operators.iter_mut().for_each(|operator| operator.finished = ended);
        let snapshot = SubtaskSnapshot { operators };
        let written =
            millstream_state::snapshot::write(&*self.storage, &self.dir, &self.name, snapshot, self.options)?;
        metrics.bytes = written.bytes();
        metrics.full_bytes = written.bytes();
        metrics.background = self.clock.now().saturating_sub(begun);
        Ok((Acknowledged { written, counters, ended }, metrics))
    }
}

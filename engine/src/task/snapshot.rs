//! A subtask's snapshot between the barrier and its acknowledgement.

use super::message::{Acknowledged, Report, Reporter};
use super::turns::{Extents, Turn, Turns};
use crate::checkpoint::{AckMetrics, Barrier, CheckpointFailure};
use crate::error::{Error, panic_text};
use crate::operator::SnapshotParts;
use millstream_io::clock::{Clock, Moment};
use millstream_io::counters::Counters;
use millstream_io::error::Class;
use millstream_io::executor::Executor;
use millstream_io::id::CheckpointId;
use millstream_io::sink::DurableWork;
use millstream_io::storage::Storage;
use millstream_state::keyed::Extent;
use millstream_state::layout::{data_file, shared_name};
use millstream_state::metadata::LineCounters;
use millstream_state::metadata::SHARED_FILE;
use millstream_state::snapshot::{
    Destination, OperatorSnapshot, SubtaskSnapshot, WriteOptions, WrittenSnapshot,
};
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
    /// Set once the checkpoint is aborted: then only what later ones build on is written.
    unwanted: Arc<AtomicBool>,
}

impl Pending {
    /// The checkpoint was aborted.
    pub(crate) fn aborted(&mut self) {
        self.unwanted.store(true, Ordering::Relaxed);
        self.parts = SnapshotParts::default();
    }
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
    /// The line of checkpoints.
    pub(crate) line: u64,
    pub(crate) turns: Turns,
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
        Pending { barrier, parts, metrics, counters, ended, unwanted: Arc::default() }
    }

    /// Starts writing.
    pub(crate) fn write(&mut self, pending: Pending, reporter: &Reporter) {
        let id = pending.barrier.id;
        self.under_way.push((id, pending.unwanted.clone()));
        let job = Write {
            pending,
            name: self.name.clone(),
            storage: self.storage.clone(),
            clock: self.clock.clone(),
            dir: self.dir.join(format!("chk-{id}")),
            shared: shared_name(self.line, Some(id), &self.name),
            options: self.options,
            turn: self.turns.next(id),
            reporter: reporter.clone(),
        };
        let (reporter, name) = (reporter.clone(), self.name.clone());
        self.executor.spawn(Box::new(move || {
            // A sink's work may panic, and the executor says nothing of that.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| job.run())) {
                let cause = format!("panicked: {}", panic_text(&*panic));
                reporter.report(Report::Failed(Error::new(Class::Restart, "snapshot", name, cause)));
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
    name: String,
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    dir: PathBuf,
    /// The name of its shared file.
    shared: String,
    options: WriteOptions,
    turn: Turn,
    reporter: Reporter,
}

impl Write {
    /// Writes, and reports once those before it have been written. Of an aborted checkpoint, whose directory the coordinator
    /// removes, only what later ones build on, and reports nothing.
    fn run(mut self) {
        let unwanted = self.pending.unwanted.load(Ordering::Relaxed);
        let begun = self.clock.now();
        let parts = std::mem::take(&mut self.pending.parts);
        let mut operators = parts.operators;
        let extents = extents(&operators);
        if unwanted && extents.iter().all(|(_, extent)| *extent == Extent::Whole) {
            return self.turn.skip();
        }
        let ended = self.pending.ended;
        operators.iter_mut().for_each(|operator| operator.finished = ended);
        let mut work = parts.work;
        if unwanted {
            work.clear();
            for operator in &mut operators {
                operator.lists.clear();
                operator.keyed.retain(|(_, keyed)| keyed.extent != Extent::Whole);
            }
        }
        let outcome = self.write(work, SubtaskSnapshot { operators });
        let Self { clock, pending: Pending { barrier, mut metrics, counters, .. }, reporter, turn, .. } =
            self;
        metrics.bytes = outcome.as_ref().map_or(0, WrittenSnapshot::bytes);
        turn.complete(outcome, extents, move |outcome| {
            if unwanted {
                return;
            }
            reporter.report(match outcome {
                Ok(written) => {
                    metrics.full_bytes = written.bytes();
                    metrics.background = clock.now().saturating_sub(begun);
                    Report::Acknowledged(barrier.id, Acknowledged { written, counters, ended }, metrics)
                }
                Err(error) => Report::Declined(
                    barrier.id,
                    CheckpointFailure::Snapshot { subtask: reporter.subtask, cause: error.to_string() },
                ),
            });
        });
    }

    fn write(&self, work: Vec<DurableWork>, snapshot: SubtaskSnapshot) -> Result<WrittenSnapshot, Error> {
        for work in work {
            work()?;
        }
        let to = Destination { dir: &self.dir, name: &self.name, shared: &self.shared };
        let written = millstream_state::snapshot::write(&*self.storage, to, snapshot, self.options);
        if written.is_err() {
            // The checkpoint's directory goes with it; a torn file among the shared ones would stay, and on a full disk be in
            // the way of the next one.
            let _ = self.storage.remove(&data_file(&self.dir, &format!("{SHARED_FILE}{}", self.shared)));
        }
        Ok(written?)
    }
}

/// What each keyed state's part is.
fn extents(operators: &[OperatorSnapshot]) -> Extents {
    let of = |operator: &OperatorSnapshot| {
        let id = operator.id;
        operator.keyed.iter().map(move |(state, keyed)| ((id, *state), keyed.extent)).collect::<Vec<_>>()
    };
    operators.iter().flat_map(of).collect()
}

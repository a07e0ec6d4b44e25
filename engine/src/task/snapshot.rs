//! A subtask's snapshot between the barrier and its acknowledgement.

use super::flow::Flow;
use super::message::{Acknowledged, Report, Reporter};
use super::stream::{Place, Stream};
use super::turns::{Extents, Outcome, Turn, Turns};
use crate::checkpoint::{AckMetrics, Barrier, CheckpointFailure};
use crate::error::Error;
use crate::operator::SnapshotParts;
use millstream_io::clock::{Clock, Moment};
use millstream_io::counters::Counters;
use millstream_io::executor::Executor;
use millstream_io::id::CheckpointId;
use millstream_io::storage::Storage;
use millstream_state::OperatorId;
use millstream_state::keyed::{Chunk, Extent};
use millstream_state::layout::shared_name;
use millstream_state::metadata::LineCounters;
use millstream_state::snapshot::{
    ListSnapshot, OperatorSnapshot, StateId, SubtaskSnapshot, WriteOptions, WrittenSnapshot,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A snapshot whose keyed state is still being drained.
pub(crate) struct Pending {
    pub(crate) barrier: Barrier,
    pub(crate) parts: SnapshotParts,
    /// All keyed state is encoded.
    pub(crate) drained: bool,
    /// What is in flight is yet to come.
    pub(crate) awaits_in_flight: bool,
    metrics: AckMetrics,
    counters: LineCounters,
    ended: bool,
    /// When the subtask went on.
    begun: Moment,
    /// Set once the checkpoint is aborted: then only what later ones build on is written.
    unwanted: Arc<AtomicBool>,
    stream: Stream,
}

impl Pending {
    /// The checkpoint was aborted.
    pub(crate) fn aborted(&mut self) {
        self.unwanted.store(true, Ordering::Relaxed);
        self.awaits_in_flight = false;
        if !self.drained {
            self.parts = SnapshotParts::default();
        }
    }

    /// Whether its checkpoint was aborted.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.unwanted.load(Ordering::Relaxed)
    }

    /// What was in flight before an operator is complete, after the barriers of all channels have come.
    pub(crate) fn in_flight(&mut self, operator: OperatorId, records: ListSnapshot, bytes: u64) {
        self.awaits_in_flight = false;
        self.metrics.persisted_bytes = bytes;
        if records.elements() > 0 {
            self.parts.in_flight(operator, records);
        }
    }

    /// Has pieces of keyed state written, which came in this order.
    pub(crate) fn hand_over(&self, chunks: Vec<(StateId, Chunk)>) {
        for (state, chunk) in chunks {
            self.stream.chunk(state, chunk);
        }
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
    /// Bytes that one state may have, where there is a limit (CS-02).
    pub(crate) largest_state: Option<u64>,
    /// The line of checkpoints.
    pub(crate) line: u64,
    pub(crate) turns: Turns,
    pub(crate) flow: Arc<Flow>,
    /// Snapshots being written; the flag tells the work that nobody wants it any more.
    pub(crate) under_way: Vec<(CheckpointId, Arc<AtomicBool>)>,
}

impl SnapshotWriter {
    /// The operators have contributed; what they counted belongs to the same cut.
    pub(crate) fn begin(
        &self,
        barrier: Barrier,
        parts: SnapshotParts,
        metrics: AckMetrics,
        ended: bool,
        reporter: &Reporter,
    ) -> Pending {
        let counters = LineCounters {
            records_in: self.counters.records_in.get(),
            // What the sink has pre-committed: visible once this checkpoint is complete (ruling 29).
            records_out: self.counters.records_sealed.get(),
            records_late: self.counters.records_late.get(),
            records_rejected: self.counters.records_rejected.get(),
        };
        let place = Place {
            storage: self.storage.clone(),
            dir: self.dir.join(format!("chk-{}", barrier.id)),
            name: self.name.clone(),
            shared: shared_name(self.line, Some(barrier.id), &self.name),
            options: self.options,
            largest_state: self.largest_state,
        };
        let stream = Stream::new(place, &self.executor, self.flow.clone(), reporter.clone());
        let begun = self.clock.now();
        Pending {
            barrier,
            parts,
            drained: false,
            awaits_in_flight: false,
            metrics,
            counters,
            ended,
            begun,
            unwanted: Arc::default(),
            stream,
        }
    }

    /// All is there: writes what has not been yet, and reports.
    pub(crate) fn finish(&mut self, pending: Pending, reporter: &Reporter) {
        let Pending { barrier, parts, metrics, counters, ended, begun, unwanted, stream, .. } = pending;
        self.under_way.push((barrier.id, unwanted.clone()));
        let turn = self.turns.next(barrier.id);
        if unwanted.load(Ordering::Relaxed) {
            self.turns.aborted(barrier.id);
        }
        stream.finish(Write {
            id: barrier.id,
            parts,
            metrics,
            counters,
            ended,
            begun,
            unwanted,
            clock: self.clock.clone(),
            turn,
            reporter: reporter.clone(),
        });
    }

    /// This checkpoint was aborted.
    pub(crate) fn cancel(&mut self, id: CheckpointId) {
        self.under_way.retain(|(other, unwanted)| {
            if *other == id {
                unwanted.store(true, Ordering::Relaxed);
            }
            *other != id
        });
        self.turns.aborted(id);
    }

    /// Checkpoints up to this one have ended.
    pub(crate) fn forget_up_to(&mut self, id: CheckpointId) {
        self.under_way.retain(|(other, _)| *other > id);
        self.turns.completed(id);
    }
}

/// The end of one snapshot's background part.
pub(super) struct Write {
    id: CheckpointId,
    parts: SnapshotParts,
    metrics: AckMetrics,
    counters: LineCounters,
    ended: bool,
    begun: Moment,
    unwanted: Arc<AtomicBool>,
    clock: Arc<dyn Clock>,
    turn: Turn,
    reporter: Reporter,
}

impl Write {
    /// Writes the rest, by `write`, and reports once the snapshots before it have been written. Of an aborted checkpoint, whose
    /// directory the coordinator removes, only what later ones build on, and reports nothing.
    pub(super) fn run(self, write: impl FnOnce(Result<SubtaskSnapshot, Error>) -> Outcome) {
        let Self { id, parts, mut metrics, counters, ended, begun, unwanted, clock, turn, reporter } = self;
        let unwanted = unwanted.load(Ordering::Relaxed);
        let SnapshotParts { mut operators, mut work } = parts;
        let extents = extents(&operators);
        if unwanted && extents.iter().all(|(_, extent)| *extent == Extent::Whole) {
            return turn.skip();
        }
        operators.iter_mut().for_each(|operator| operator.finished = ended);
        if unwanted {
            work.clear();
            for operator in &mut operators {
                operator.lists.clear();
                operator.keyed.retain(|(_, keyed)| keyed.extent != Extent::Whole);
            }
        }
        let worked: Result<(), Error> = work.into_iter().try_for_each(|work| Ok(work()?));
        let outcome = write(worked.map(|()| SubtaskSnapshot { operators }));
        metrics.bytes = outcome.as_ref().map_or(0, WrittenSnapshot::bytes);
        turn.complete(outcome, extents, move |outcome| {
            if unwanted {
                return;
            }
            reporter.report(match outcome {
                Ok(written) => {
                    metrics.full_bytes = written.bytes();
                    metrics.background = clock.now().saturating_sub(begun);
                    Report::Acknowledged(id, Acknowledged { written, counters, ended }, metrics)
                }
                Err(error) => Report::Declined(
                    id,
                    CheckpointFailure::Snapshot { subtask: reporter.subtask, cause: error.to_string() },
                ),
            });
        });
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

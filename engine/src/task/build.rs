//! What a chain is built with.

use super::{Core, Fault, Restored};
use crate::config::CheckpointMode;
use crate::exchange::{Aside, Event, Gate, Lane};
use crate::graph::{Edge, Link, Loop, Loops, OwnBackend};
use millstream_io::Record;
use millstream_io::clock::Clock;
use millstream_io::counters::Counters;
use millstream_io::ring::{Rx, Tx};
use millstream_io::scratch::Supply;
use millstream_io::sink::SinkContext;
use millstream_io::source::SourceContext;
use millstream_io::storage::Storage;
use millstream_io::waker::Waker;
use millstream_state::key_group::{KeyGroupRange, Parallelism, Router};
use millstream_state::{Backend, OperatorId};
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Place of an operator in its job, in the order of definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OperatorIndex(pub(crate) usize);

/// Place of an edge (all rings between two tasks) in its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EdgeIndex(pub(crate) usize);

/// Settings that all subtasks of a job share.
#[derive(Clone, Debug)]
pub(crate) struct TaskSettings {
    /// Bytes of a segment.
    pub segment_size: usize,
    /// Bytes held back in memory while a barrier is aligned, in one subtask.
    pub alignment_memory: usize,
    /// Bytes held back in files beyond that.
    pub alignment_files: usize,
    /// Longest time that records wait in a partial segment under a trickle of input.
    pub buffer_timeout: Duration,
    /// Whether barriers are aligned; otherwise every record is processed at least once.
    pub mode: CheckpointMode,
    /// What keeps keyed state.
    pub backend: Backend,
    /// What makes backends of the program's own, where the state is kept in these.
    pub own_backend: Option<OwnBackend>,
    /// Bytes of state up to which pages are not worth their while.
    pub small_state: usize,
    /// Bytes of changed pages that are handed over to be written at once.
    pub chunk: usize,
    /// Bytes of copies that a subtask may keep of what changes while it is being copied for a snapshot.
    pub keep: usize,
    /// Bytes that one state may have in a snapshot, where there is a limit (CS-02).
    pub largest_state: Option<u64>,
    /// Time between checkpoints, if they are taken.
    pub interval: Option<Duration>,
    /// Whether snapshots have only what changed, where state can do that.
    pub incremental: bool,
    /// Whether checkpoints go on when some subtasks have come to their end of data (CP-28).
    pub after_tasks_finish: bool,
}

/// The ring ends of one subtask, by edge; typed again where they are taken.
#[derive(Default)]
pub(crate) struct EdgeEnds {
    pub inputs: HashMap<EdgeIndex, Box<dyn Any + Send>>,
    pub outputs: HashMap<EdgeIndex, Box<dyn Any + Send>>,
}

/// What a chain is built with for one subtask.
pub struct BuildContext<'a> {
    pub(crate) subtask: usize,
    pub(crate) parallelism: usize,
    pub(crate) width: Parallelism,
    pub(crate) fault: Fault,
    pub(crate) counters: Arc<Counters>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) storage: Arc<dyn Storage>,
    /// What the memory of large state comes from.
    pub(crate) supply: Supply,
    pub(crate) waker: Waker,
    pub(crate) settings: Arc<TaskSettings>,
    pub(crate) job_id: String,
    pub(crate) line: u64,
    pub(crate) checkpointing: bool,
    pub(crate) ends: EdgeEnds,
    pub(crate) operators: &'a [OperatorId],
    pub(crate) core: Option<Core>,
    pub(crate) restored: Option<Restored>,
    /// Number of subtasks at the other end of each edge that leaves this task.
    pub(crate) targets: &'a HashMap<EdgeIndex, Target>,
    /// All edges of the job.
    pub(crate) edges: &'a [Edge],
    pub(crate) loops: &'a Loops,
    /// The loop that this task is part of.
    pub(crate) looped: Option<Loop>,
}

/// What is known of a channel of a gate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channel {
    /// Whether a barrier may overtake its records.
    pub overtaken: bool,
    /// Whether something is fed back on it.
    pub feedback: bool,
    /// Whether it comes from the loop that this task is part of.
    pub inside: bool,
}

/// What an edge leads to: so many subtasks with so many key groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target(pub(crate) Parallelism);

impl BuildContext<'_> {
    pub(crate) fn operator_id(&self, operator: OperatorIndex) -> OperatorId {
        self.operators[operator.0]
    }

    /// This subtask's key groups.
    pub(crate) fn key_groups(&self) -> KeyGroupRange {
        self.width.range_of(self.subtask)
    }

    /// Finds the subtask of a key behind an edge.
    pub(crate) fn router(&self, edge: EdgeIndex) -> Router {
        self.targets[&edge].0.router()
    }

    /// The lanes of an edge that leaves this task.
    pub(crate) fn lanes<T: Record>(&mut self, edge: EdgeIndex) -> Vec<Lane<T>> {
        let ends = self.ends.outputs.remove(&edge).expect("an edge is built for its task");
        let ends = ends.downcast::<Vec<Tx<T, Event>>>().expect("an edge has one record type");
        ends.into_iter().map(|tx| Lane::new(tx, self.settings.segment_size)).collect()
    }

    /// The gate of this task, for the channels of all edges that enter it, and what is known of each.
    pub(crate) fn gate<T: Record>(&mut self, inputs: &[EdgeIndex]) -> (Gate<T>, Vec<Channel>) {
        let (mut rings, mut channels) = (Vec::new(), Vec::new());
        for edge in inputs {
            rings.extend(self.channels::<T>(*edge));
            let link = self.edges[edge.0].link;
            let channel = Channel {
                overtaken: link.may_be_overtaken(),
                feedback: link == Link::Feedback,
                inside: self.loops.is_inside(*edge),
            };
            channels.resize(rings.len(), channel);
        }
        let TaskSettings { alignment_memory, alignment_files, .. } = *self.settings;
        let scratch = self.supply.scratch.clone();
        let aside = Aside::new(rings.len(), alignment_memory, alignment_files, scratch);
        (Gate::new(rings, aside), channels)
    }

    fn channels<T: Record>(&mut self, edge: EdgeIndex) -> Vec<Rx<T, Event>> {
        let ends = self.ends.inputs.remove(&edge).expect("an edge is built for its task");
        *ends.downcast::<Vec<Rx<T, Event>>>().expect("an edge has one record type")
    }

    pub(crate) fn source_context(&self) -> SourceContext {
        // Subtasks that had come to their end take no part any more (CP-28).
        let (subtask, parallelism) =
            self.restored.as_ref().map_or((self.subtask, self.parallelism), |restored| restored.share);
        SourceContext {
            subtask,
            parallelism,
            storage: self.storage.clone(),
            clock: self.clock.clone(),
            waker: self.waker.clone(),
            counters: self.counters.clone(),
        }
    }

    pub(crate) fn sink_context(&self) -> SinkContext {
        SinkContext {
            subtask: self.subtask,
            parallelism: self.parallelism,
            job_id: self.job_id.clone(),
            line: self.line,
            checkpointing: self.checkpointing,
            storage: self.storage.clone(),
            clock: self.clock.clone(),
            counters: self.counters.clone(),
        }
    }

    /// The part of the subtask that is the same for all; taken once, by the head.
    pub(crate) fn core(&mut self) -> Core {
        self.core.take().expect("a chain has one head")
    }

    /// What to go on from; taken once, by the head.
    pub(crate) fn restored(&mut self) -> Restored {
        self.restored.take().expect("a chain has one head")
    }
}

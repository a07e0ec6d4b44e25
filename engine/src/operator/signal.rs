//! What travels along a chain besides records.

use super::Draining;
use crate::alignment::Round;
use crate::checkpoint::Barrier;
use crate::task::Restored;
use millstream_io::Record;
use millstream_io::clock::Moment;
use millstream_io::id::CheckpointId;
use millstream_io::sink::DurableWork;
use millstream_state::snapshot::{ListSnapshot, OperatorSnapshot};
use millstream_state::{CommitPermit, OperatorId, Snapshots};

/// A signal to every operator of a chain, in order with the records.
///
/// Only [`Signal::Barrier`], [`Signal::Cancel`], [`Signal::Round`], [`Signal::End`] and [`Signal::Close`] leave the chain at its end
/// and travel on in the rings; the others concern this subtask alone.
pub enum Signal<'a> {
    /// Before the first record: state to go on from.
    Open(&'a mut Restored),
    /// A barrier: emit what must precede it, pass it on, then contribute to the snapshot (CP-23).
    Barrier(Barrier, &'a mut SnapshotParts),
    /// The barrier of this checkpoint will not come: downstream must not wait for it.
    Cancel(CheckpointId),
    /// A marker goes round the loop that this chain is part of.
    Round(Round),
    /// Encode some more of the frozen keyed state: [`Draining::state`] for each.
    Drain(&'a mut Draining),
    /// Frozen keyed state is drained: hand it over, by [`SnapshotParts::collect`] for each.
    Collect(&'a mut SnapshotParts),
    /// The next snapshot has to be one of everything.
    ForgetBase,
    /// The checkpoint whose snapshot is being drained was aborted; sets the flag when some of it has to be written all the
    /// same, because later ones build on it.
    Abandon(&'a mut bool),
    /// A checkpoint is complete and durable: commit.
    Complete(CommitPermit),
    /// A checkpoint will never complete.
    Aborted(CheckpointId),
    /// The input has ended: emit what is left.
    End,
    /// The input had ended before the snapshot that was restored: there is nothing left to emit.
    AlreadyEnded,
    /// Checkpoints are off and every subtask has come to the end of its input: pre-commit everything.
    PreCommitAtEnd,
    /// Every subtask has pre-committed everything: commit it.
    CommitAtEnd,
    /// Time has passed; lower the due moment to when the next such signal is needed.
    Tick(Moment, &'a mut Option<Moment>),
    /// The subtask is over; nothing follows on its channels.
    Close,
}

/// What the operators of one subtask contribute to a checkpoint.
#[derive(Default)]
pub struct SnapshotParts {
    /// The operators' state; keyed state once it is drained.
    pub operators: Vec<OperatorSnapshot>,
    /// Work that must succeed before the snapshot counts.
    pub work: Vec<DurableWork>,
}

impl SnapshotParts {
    /// Adds list state of an operator; its only list has index 0.
    pub(crate) fn list<T: Record>(&mut self, operator: OperatorId, elements: &[T]) {
        let mut list = ListSnapshot::new(0);
        let mut bytes = Vec::new();
        for element in elements {
            bytes.clear();
            T::encode_into(element.view(), &mut bytes);
            list.push(&bytes);
        }
        self.of(operator).lists.push(list);
    }

    /// Adds what was in flight before an operator.
    pub(crate) fn in_flight(&mut self, operator: OperatorId, records: ListSnapshot) {
        self.of(operator).lists.push(records);
    }

    /// Adds a drained keyed state of an operator, which is that of this index in it; one that was forgotten has nothing.
    pub(crate) fn collect(
        &mut self,
        operator: OperatorId,
        index: u16,
        state: &mut (impl Snapshots + ?Sized),
    ) {
        if state.is_frozen() {
            self.of(operator).keyed.push((index, state.take_snapshot()));
        }
    }

    fn of(&mut self, id: OperatorId) -> &mut OperatorSnapshot {
        let at = self.operators.iter().position(|part| part.id == id).unwrap_or_else(|| {
            self.operators.push(OperatorSnapshot {
                id,
                finished: false,
                keyed: Vec::new(),
                lists: Vec::new(),
            });
            self.operators.len() - 1
        });
        &mut self.operators[at]
    }
}

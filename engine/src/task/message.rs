//! What the supervisor tells subtasks, and what they tell it: never behind data (BR-04).

use crate::checkpoint::{AckMetrics, Barrier, CheckpointFailure, SubtaskId};
use crate::error::Error;
use crossbeam_channel::Sender;
use millstream_io::id::CheckpointId;
use millstream_state::CommitPermit;
use millstream_state::metadata::LineCounters;
use millstream_state::snapshot::WrittenSnapshot;

/// To a subtask.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    /// To a source: inject this barrier.
    Trigger(Barrier),
    /// This checkpoint is complete and durable.
    Complete(CommitPermit),
    /// This checkpoint will never complete.
    Aborted(CheckpointId),
    /// Checkpoints are off and the whole input has been read: pre-commit.
    PreCommitAtEnd,
    /// All subtasks have pre-committed: commit.
    CommitAtEnd,
    /// Nothing is awaited any more: close.
    Close,
}

/// A subtask's part of a checkpoint, written.
#[derive(Clone, Debug)]
pub(crate) struct Acknowledged {
    /// What was written, by operator.
    pub written: WrittenSnapshot,
    /// What this attempt of the subtask has counted up to the barrier.
    pub counters: LineCounters,
    /// Whether the subtask had come to its end of data.
    pub ended: bool,
}

/// From a subtask.
#[derive(Debug)]
pub(crate) enum Report {
    /// It has restored its state and processes records.
    Running,
    /// Its part of a checkpoint is written.
    Acknowledged(CheckpointId, Acknowledged, AckMetrics),
    /// It cannot contribute to a checkpoint.
    Declined(CheckpointId, CheckpointFailure),
    /// It is a source and works off a backlog, or does so no more.
    Backlog(bool),
    /// It is the head of a loop, and its input from outside has ended: no barrier comes to it any more, and the loop may go on
    /// for long.
    InputEnded,
    /// Its input has ended, and it has emitted everything.
    EndOfData,
    /// Everything has been pre-committed, as asked at the end without checkpoints.
    PreCommitted,
    /// Everything has been committed, as asked behind that.
    Committed,
    /// It is over.
    Closed,
    /// It failed, and with it the attempt.
    Failed(Error),
}

/// What arrives at the supervisor.
#[derive(Debug)]
pub(crate) enum ToSupervisor {
    /// A subtask of an attempt has something to say.
    Report(u64, SubtaskId, Report),
    /// The metadata of a checkpoint has been published, or not.
    Stored(CheckpointId, Result<CommitPermit, Error>),
    /// What a completed checkpoint has made superfluous has been deleted, as far as that was possible, so that these are kept.
    Deleted(Vec<CheckpointId>),
    /// Somebody outside wants something.
    Command(crate::runtime::Command),
}

/// A subtask's line to the supervisor.
#[derive(Clone, Debug)]
pub(crate) struct Reporter {
    pub attempt: u64,
    pub subtask: SubtaskId,
    pub sender: Sender<ToSupervisor>,
}

impl Reporter {
    /// Tells the supervisor; it may be gone, then nobody needs to know any more.
    pub(crate) fn report(&self, report: Report) {
        let _ = self.sender.send(ToSupervisor::Report(self.attempt, self.subtask, report));
    }
}

//! What the coordinator is told and what it asks for.

use super::event::CheckpointEvent;
use super::failure::{CheckpointFailure, ToleranceExceeded};
use millstream_io::clock::Moment;
use millstream_io::id::CheckpointId;
use std::fmt;
use std::time::Duration;

/// One parallel instance of a task, numbered over the whole job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubtaskId(pub u32);

impl fmt::Display for SubtaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names a request, so that its answer finds the one who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CheckpointKind {
    /// A checkpoint as configured.
    Checkpoint,
    /// A checkpoint that refers to no earlier one.
    FullCheckpoint,
}

/// The marker that flows through the job: everything before it belongs to the checkpoint, nothing after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// The checkpoint.
    pub id: CheckpointId,
    /// What is taken.
    pub kind: CheckpointKind,
    /// When it was triggered; the start delay of a subtask counts from here.
    pub timestamp: Moment,
    /// The snapshot holds finished work only: a sink closes its file (ruling 5). A sink whose subtask has reached its
    /// end of data closes its file at *every* barrier, also where this is false.
    pub close: bool,
    /// Sources stop at this barrier, and a subtask that has taken its snapshot processes nothing more until the
    /// checkpoint is complete; if it is aborted instead, all go on.
    pub last: bool,
}

/// A subtask of the attempt that starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskInfo {
    /// The subtask.
    pub subtask: SubtaskId,
    /// The task that it is an instance of; the subtasks of a task are allowed to finish together.
    pub task: u32,
    /// Whether it has no upstream, so that the coordinator's trigger must reach it directly.
    pub source: bool,
    /// Whether the snapshot that was restored says that it has finished, so that it is not run again.
    pub finished: bool,
}

/// What a subtask measured while it took its snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckMetrics {
    /// Bytes written for this checkpoint.
    pub bytes: u64,
    /// Bytes of everything that the snapshot refers to.
    pub full_bytes: u64,
    /// From the first barrier to the last.
    pub alignment: Duration,
    /// Bytes held back during alignment, the most at any time.
    pub held_bytes: u64,
    /// Bytes of what was held back that were written into files.
    pub spilled_bytes: u64,
    /// Bytes of the segments that were processed between the first barrier and the last.
    pub processed_bytes: u64,
    /// Whether the barrier overtook records, which are part of the snapshot (UC-02).
    pub unaligned: bool,
    /// Bytes of these records.
    pub persisted_bytes: u64,
    /// From the trigger to the first barrier here.
    pub start_delay: Duration,
    /// For how long the subtask stood still.
    pub sync: Duration,
    /// From there to the end of its writing, waiting for those before it included.
    pub background: Duration,
}

/// What a user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// A checkpoint now, whatever interval and pause say (CP-12).
    Checkpoint {
        /// One that refers to no earlier checkpoint.
        full: bool,
    },
    /// A final checkpoint at which the job stops: committed, kept (rulings 3 and 4).
    Stop,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The checkpoint is durable and the subtasks are being told.
    Completed(CheckpointId),
    /// A stop of a job that takes no checkpoints: nothing was committed, nothing kept (ruling 7). The subtasks may be
    /// cancelled.
    Nothing,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Input<A> {
    /// All subtasks of a new attempt run.
    Started {
        /// The subtasks.
        tasks: Vec<TaskInfo>,
        /// Decides the delay of the first periodic checkpoint.
        seed: u64,
    },
    /// The moment that [`Coordinator::due`](super::Coordinator::due) named has come (coming early does no harm).
    Tick,
    /// A subtask's snapshot is durable.
    Ack {
        /// The checkpoint.
        id: CheckpointId,
        /// The subtask.
        subtask: SubtaskId,
        /// What the snapshot consists of.
        payload: A,
        /// Whether the snapshot was taken after the subtask's end of data.
        ended: bool,
        /// What was measured.
        metrics: AckMetrics,
    },
    /// A subtask cannot contribute to this checkpoint.
    Decline {
        /// The checkpoint.
        id: CheckpointId,
        /// The subtask.
        subtask: SubtaskId,
        /// Why.
        failure: CheckpointFailure,
    },
    /// A subtask has processed and flushed everything and has forwarded its end of data (CP-31, step 3). It still
    /// answers triggers, which now reach it directly, and waits to be allowed to finish. May come before
    /// [`Input::Started`], while other subtasks of the attempt are still being deployed, but not from an attempt that
    /// has ended.
    EndOfData {
        /// The subtask.
        subtask: SubtaskId,
    },
    /// The input of a loop has ended, which this subtask is the head of, and what is in the loop has not: no barrier comes to
    /// it from outside any more, and triggers reach it directly (IT-03). Comes as [`Input::EndOfData`] does, and before it.
    InputEnded {
        /// The subtask.
        subtask: SubtaskId,
    },
    /// A source works off a backlog, or does so no more (CP-10). The last word of each counts; before the first none does.
    Backlog {
        /// The source's subtask.
        subtask: SubtaskId,
        /// Whether it does.
        behind: bool,
    },
    /// A subtask has ended for good.
    Finished {
        /// The subtask.
        subtask: SubtaskId,
    },
    /// The trigger could not be carried out: the target could not be created, say.
    TriggerFailed {
        /// The checkpoint.
        id: CheckpointId,
        /// Why.
        failure: CheckpointFailure,
    },
    /// `_metadata` is durable.
    Stored {
        /// The checkpoint.
        id: CheckpointId,
    },
    /// `_metadata` could not be published.
    StoreFailed {
        /// The checkpoint.
        id: CheckpointId,
        /// Why.
        cause: String,
    },
    /// So many completed checkpoints wait to be deleted; too many hold back new ones (CP-06).
    Deleting {
        /// How many.
        waiting: u32,
    },
    /// A user asks.
    Request {
        /// Names the request.
        ticket: Ticket,
        /// What for.
        kind: RequestKind,
    },
    /// The attempt failed or was cancelled (CP-21). A checkpoint that is being stored is not aborted by this, because
    /// it may already be durable: wait until [`Coordinator::storing`](super::Coordinator::storing) is `None` before
    /// choosing what to restore.
    Stopped,
    /// A checkpoint was restored, or a job was started from it.
    Restored {
        /// The checkpoint.
        id: CheckpointId,
    },
}

/// What is to be done, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<A> {
    /// Create the target of the checkpoint, removing what an earlier process may have left there (CP-13), and hand
    /// the barrier to these subtasks. May come again for a pending checkpoint, for a subtask that reached its end of
    /// data meanwhile; a subtask ignores a barrier it has already seen.
    Trigger {
        /// The barrier.
        barrier: Barrier,
        /// Who injects it.
        subtasks: Vec<SubtaskId>,
    },
    /// Publish `_metadata` and answer with [`Input::Stored`] or [`Input::StoreFailed`].
    Store {
        /// The barrier of the checkpoint.
        barrier: Barrier,
        /// The subtasks' snapshots, by subtask.
        acks: Vec<(SubtaskId, A)>,
        /// The subtasks that had finished before.
        finished: Vec<SubtaskId>,
    },
    /// Tell the subtasks that everything up to this checkpoint is durable (CP-26).
    Complete {
        /// The checkpoint.
        id: CheckpointId,
        /// Whom to tell.
        subtasks: Vec<SubtaskId>,
    },
    /// Tell the subtasks that the checkpoint will never complete, and remove its target (CP-15).
    Abort {
        /// The checkpoint.
        id: CheckpointId,
        /// Why.
        failure: CheckpointFailure,
        /// Whom to tell.
        subtasks: Vec<SubtaskId>,
        /// The newest checkpoint completed by this process.
        latest: Option<CheckpointId>,
    },
    /// Delete what these snapshots wrote, unless a retained checkpoint shares it. After a failed
    /// [`Action::Store`] a `_metadata` that may have been published must go first.
    Discard {
        /// The checkpoint.
        id: CheckpointId,
        /// The snapshots.
        payloads: Vec<A>,
    },
    /// Answer a request.
    Answer {
        /// The request.
        ticket: Ticket,
        /// What came of it.
        result: Result<Taken, CheckpointFailure>,
    },
    /// More checkpoints failed in a row than are tolerated (CP-18): fail the attempt, the restart strategy decides.
    /// What was pending is already aborted, as after [`Input::Stopped`].
    FailJob {
        /// Why.
        reason: ToleranceExceeded,
    },
    /// This has happened: for statistics and the log.
    Note(CheckpointEvent),
    /// These subtasks may close: what they did is part of a completed checkpoint.
    MayFinish {
        /// The subtasks.
        subtasks: Vec<SubtaskId>,
        /// Checkpointing is off and all input has ended: commit everything first (ruling 7).
        commit: bool,
    },
}

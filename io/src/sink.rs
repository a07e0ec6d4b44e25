//! Sinks: where a job's results go. One trait, implemented by the embedded connectors and by users.

use crate::clock::{Clock, Moment};
use crate::counters::Counters;
use crate::error::ConnectorError;
use crate::id::CheckpointId;
use crate::record::Record;
use crate::source::Redistribution;
use crate::storage::Storage;
use std::sync::Arc;

/// What a sink's subtask is given.
#[derive(Clone)]
pub struct SinkContext {
    /// Index of this subtask.
    pub subtask: usize,
    /// Number of subtasks.
    pub parallelism: usize,
    /// The job's id, 32 hex digits.
    pub job_id: String,
    /// The job's current line of checkpoints (ruling 2).
    pub line: u64,
    /// Whether commits follow checkpoints, be it only one at the end of a job that went on from an earlier one; without
    /// them everything is committed once, at the end of input (ruling 7).
    pub checkpointing: bool,
    /// Files.
    pub storage: Arc<dyn Storage>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// The subtask's counters. What a job reports as written is what its sinks count here, in two steps: a record in
    /// [`Counters::records_sealed`] before the [`Sink::pre_commit`] whose checkpoint will make it visible, and in
    /// [`Counters::records_out`] when it is visible; or in both with [`Counters::written`], where that is at once. A sink
    /// that counts in the second alone is missing from what checkpoints remember: after a restore its records seem not to
    /// have been written.
    pub counters: Arc<Counters>,
}

/// The barrier at which a sink closes its epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// The checkpoint.
    pub id: CheckpointId,
    /// Whether the snapshot must hold finished work only, nothing that is still being written: at final, stop and
    /// savepoint barriers (ruling 5).
    pub close: bool,
}

/// Work that makes an epoch durable, done in the background.
pub type DurableWork = Box<dyn FnOnce() -> Result<(), ConnectorError> + Send>;

/// A closed epoch: its state for the snapshot, and the background work after which the state may be relied on.
pub struct PreCommit<S> {
    /// List state of this subtask: what is committed when the checkpoint completes, and what is needed to go on.
    pub state: Vec<S>,
    /// Close and sync; a failure declines the checkpoint (ruling 6).
    pub work: Option<DurableWork>,
}

/// Receives a job's results and makes them visible exactly once, in two phases (SK-01).
///
/// Order of calls: [`Sink::prepare`] once for all subtasks before any of them runs; then in every subtask
/// [`Sink::open`], any number of [`Sink::write`] and [`Sink::tick`], [`Sink::pre_commit`] at a barrier,
/// [`Sink::commit`] once the checkpoint is durable. [`Sink::commit`] of checkpoint `n` commits everything
/// pre-committed up to and including `n`; notifications may be lost or merged. It must be idempotent: after a restore
/// it is called again for the checkpoint that was restored.
///
/// Nobody counts records for a sink: see [`SinkContext::counters`].
pub trait Sink: Clone + Send + 'static {
    /// What it receives.
    type In: Record;

    /// An element of its list state.
    type State: Record;

    /// How the list state is given out at a restore.
    const REDISTRIBUTION: Redistribution = Redistribution::Union;

    /// Cleans up after earlier attempts, once for all subtasks, before any of them runs: `restored` is the state this
    /// start goes on from (empty on a fresh start), `retained` that of all other retained checkpoints of the job.
    ///
    /// # Errors
    /// What makes a start impossible: a pending file that is gone, a directory that is not writable. At the first
    /// start of a job any error refuses it; later ones are restarted from by their class.
    fn prepare(
        &mut self,
        _cx: &SinkContext,
        _restored: &[Self::State],
        _retained: &[Self::State],
    ) -> Result<(), ConnectorError> {
        Ok(())
    }

    /// Begins or goes on. The engine calls [`Sink::commit`] for the restored checkpoint right after.
    ///
    /// # Errors
    /// What makes writing impossible.
    fn open(&mut self, cx: SinkContext, restored: Vec<Self::State>) -> Result<(), ConnectorError>;

    /// Takes one record.
    ///
    /// # Errors
    /// The attempt fails; the restart strategy decides by the error's class.
    fn write(&mut self, record: <Self::In as Record>::Ref<'_>) -> Result<(), ConnectorError>;

    /// Time has passed. Called when the subtask starts, and again at the returned moment or a little later; a sink
    /// that returns `None` is not called again.
    ///
    /// # Errors
    /// As for [`Sink::write`].
    fn tick(&mut self, _now: Moment) -> Result<Option<Moment>, ConnectorError> {
        Ok(None)
    }

    /// Closes the epoch at a barrier. Short: syncing belongs into the returned work.
    ///
    /// # Errors
    /// The attempt fails.
    fn pre_commit(&mut self, epoch: Epoch) -> Result<PreCommit<Self::State>, ConnectorError>;

    /// Checkpoint `id` is durable: makes everything pre-committed up to it visible. Idempotent.
    ///
    /// # Errors
    /// The attempt fails, and the commit is repeated after the restore.
    fn commit(&mut self, id: CheckpointId) -> Result<(), ConnectorError>;

    /// Nothing follows, and everything has been committed: makes durable what the commits have changed. Only after
    /// this may the job's end be put on record, from which no start goes back.
    ///
    /// # Errors
    /// The attempt fails.
    fn close(&mut self) -> Result<(), ConnectorError> {
        Ok(())
    }

    /// Line `cx.line` of the job is over for good, nothing will go on from it: removes what it has left uncommitted, except
    /// what `kept` names, the state that another line begins with. Called when a job has been cancelled, and once more
    /// at the next start, since a process may have been killed in it. Keeps everything, unless implemented.
    ///
    /// # Errors
    /// What stays and why; nothing fails for that.
    fn discard(&mut self, _cx: &SinkContext, _kept: &[Self::State]) -> Result<(), ConnectorError> {
        Ok(())
    }

    /// Checkpoint `id` will never complete. What was pre-committed for it belongs to the next one.
    fn aborted(&mut self, _id: CheckpointId) {}
}

//! The end of a chain: a sink, and the only caller of its `commit`.

use super::{Control, Signal};
use crate::error::Error;
use crate::task::{Fault, Restored};
use millstream_io::Record;
use millstream_io::emit::Emit;
use millstream_io::id::CheckpointId;
use millstream_io::sink::{Epoch, Sink, SinkContext};
use millstream_state::{CommitPermit, OperatorId};

/// The name of a sink's list state.
pub(crate) const SINK_STATE: &str = "sink";

/// A sink at the end of a chain.
pub(crate) struct SinkStage<K: Sink> {
    sink: K,
    id: OperatorId,
    context: Option<SinkContext>,
    fault: Fault,
    failed: bool,
    ended: bool,
    committed: Option<CheckpointId>,
}

impl<K: Sink> SinkStage<K> {
    pub(crate) fn new(sink: K, id: OperatorId, context: SinkContext, fault: Fault) -> Self {
        Self { sink, id, context: Some(context), fault, failed: false, ended: false, committed: None }
    }

    fn open(&mut self, restored: &mut Restored) -> Result<(), Error> {
        let states = restored.list::<K::State>(self.id)?;
        let context = self.context.take().expect("a subtask is opened once");
        self.sink.open(context, states)?;
        // What the restored checkpoint pre-committed may not have been committed before the crash (SK-01).
        if let Some(permit) = restored.permit {
            self.commit(permit)?;
        }
        Ok(())
    }

    /// The only call of a sink's `commit` while checkpoints are on: the permit proves that the checkpoint is durable.
    fn commit(&mut self, permit: CommitPermit) -> Result<(), Error> {
        let id = permit.checkpoint();
        // Notifications may be merged: a later one covers this one (CP-26).
        if self.committed.is_none_or(|last| last < id) {
            self.sink.commit(id)?;
            self.committed = Some(id);
        }
        Ok(())
    }

    /// Without checkpoints everything is committed once, when the whole input has been read (ruling 7), and when all
    /// subtasks have come through this: what one of them cannot write must not find the output of another one visible.
    fn pre_commit_at_end(&mut self) -> Result<(), Error> {
        if let Some(work) = self.sink.pre_commit(Epoch { id: CheckpointId::FIRST, close: true })?.work {
            work()?;
        }
        Ok(())
    }

    #[cold]
    fn fail(&mut self, error: Error) {
        self.failed = true;
        self.fault.raise(error);
    }
}

impl<K: Sink> Emit<K::In> for SinkStage<K> {
    #[inline(always)]
    fn emit(&mut self, record: <K::In as Record>::Ref<'_>) {
        if self.failed {
            return;
        }
        if let Err(error) = self.sink.write(record) {
            self.fail(error.into());
        }
    }

    /// Looks at `failed` once for all, so that a short chain becomes one tight loop. After a failure the attempt is
    /// over, and nobody misses the rest.
    #[inline(always)]
    fn emit_all<I: Iterator<Item = K::In>>(&mut self, mut records: I) {
        if self.failed {
            return;
        }
        let sink = &mut self.sink;
        if let Err(error) = records.try_for_each(|record| sink.write(record.view())) {
            self.fail(error.into());
        }
    }
}

impl<K: Sink> Control for SinkStage<K> {
    fn signal(&mut self, signal: &mut Signal<'_>) -> Result<(), Error> {
        match signal {
            Signal::Open(restored) => self.open(restored)?,
            Signal::Barrier(barrier, parts) => {
                let closed =
                    self.sink.pre_commit(Epoch { id: barrier.id, close: barrier.close || self.ended })?;
                parts.work.extend(closed.work);
                parts.list::<K::State>(self.id, &closed.state);
            }
            Signal::Complete(permit) => self.commit(*permit)?,
            Signal::Aborted(id) => self.sink.aborted(*id),
            Signal::Tick(now, due) => {
                if let Some(next) = self.sink.tick(*now)? {
                    **due = Some(due.map_or(next, |earlier| earlier.min(next)));
                }
            }
            Signal::PreCommitAtEnd => self.pre_commit_at_end()?,
            Signal::CommitAtEnd => self.sink.commit(CheckpointId::FIRST)?,
            Signal::Close => self.sink.close()?,
            Signal::End | Signal::AlreadyEnded => self.ended = true,
            Signal::Cancel(_)
            | Signal::Round(_)
            | Signal::Drain(..)
            | Signal::Collect(_)
            | Signal::ForgetBase
            | Signal::Abandon(_) => {}
        }
        Ok(())
    }

    fn flush(&mut self) -> bool {
        false
    }

    fn ready(&mut self) -> bool {
        true
    }
}

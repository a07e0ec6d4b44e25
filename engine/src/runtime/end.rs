//! The ends of a job.

use super::JobState;
use super::handle::not_taken;
use super::supervisor::Supervisor;
use crate::checkpoint::CheckpointFailure;
use crate::error::Error;
use millstream_io::error::Class;
use millstream_state::checkpoint_store::JobEnd;

impl Supervisor {
    /// The last subtask has closed: all input is processed and committed, or the job was stopped.
    pub(super) fn ended(&mut self) {
        let state = if self.stopped_at.is_some() { JobState::Stopped } else { JobState::Finished };
        self.end(state, None);
    }

    pub(super) fn cancelled(&mut self) {
        self.end(JobState::Canceled, None);
    }

    /// A stop of a job without checkpoints: nothing is committed, nothing kept (ruling 7).
    pub(super) fn stopped_without_checkpoint(&mut self) {
        tracing::warn!(
            job = %self.parts.name,
            "stopped without a checkpoint: execution.checkpointing.interval is not set, nothing was committed"
        );
        self.end(JobState::Stopped, None);
    }

    /// The final checkpoint of a stop has failed: the job goes on from its last good one at the next start (MS-078).
    pub(super) fn stop_failed(&mut self, failure: &CheckpointFailure) {
        let error = not_taken(&self.parts.name, failure)
            .with_hint("the job can be started again from its newest completed checkpoint");
        self.end(JobState::Failed, Some(error));
    }

    /// Stops everything as a crash would: commits nothing, deletes nothing.
    pub(super) fn abandoned(&mut self) {
        self.parts.driver.abandon();
        self.attempt = None;
        if let Some(store) = &self.parts.store {
            store.lock().release();
        }
        let error = Error::new(Class::Restart, "job", self.parts.name.clone(), "was abandoned by its handle");
        self.answer_all(&CheckpointFailure::AttemptEnded);
        self.settle(Err(error));
    }

    /// Ends the job: nothing runs any more, its end is on record, and what has no purpose any more is deleted.
    pub(super) fn end(&mut self, state: JobState, error: Option<Error>) {
        self.halt();
        // At the end of input everything that was written is committed; otherwise what the newest checkpoint holds.
        if state != JobState::Finished {
            self.count_completed();
        }
        self.enter(state);
        self.answer_all(&CheckpointFailure::AttemptEnded);
        let end = match (state, self.stopped_at) {
            (JobState::Finished, _) => JobEnd::Finished,
            (JobState::Canceled, _) => JobEnd::Canceled,
            (JobState::Stopped, _) => JobEnd::Suspended,
            _ => JobEnd::Failed,
        };
        let recorded = match &self.parts.store {
            Some(store) => store.lock().end(&end, self.parts.retention).map_err(Error::from),
            None => Ok(()),
        };
        let kept = self.parts.store.as_ref().is_some_and(|store| !store.lock().retained().is_empty());
        if !kept {
            self.parts.board.post(|posted| posted.last_checkpoint = None);
        }
        let outcome = match error {
            Some(error) => Err(error),
            None => recorded.map(|()| self.summary()),
        };
        self.settle(outcome);
    }
}

//! The ends of a job.

use super::JobState;
use super::board::Board;
use super::ending::{Abandoned, Ending, warn_left};
use super::restore;
use super::summary::{CheckpointInfo, Summary};
use super::supervisor::{Supervisor, SupervisorParts};
use crate::checkpoint::CheckpointFailure;
use crate::error::{Error, caught};
use millstream_io::error::Class;
use millstream_io::id::CheckpointId;
use millstream_state::CheckpointStore;
use millstream_state::checkpoint_store::{JobEnd, Restored, line_end};
use millstream_state::metadata::LineCounters;
use std::time::Duration;

/// How long background work may go on behind the end of a job: what it still writes is in the way of the next start, and
/// what does not come to its end must not be in the way of this one.
pub(super) const BACKGROUND: Duration = Duration::from_secs(5);

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

    /// A stop that finds no attempt running: there is nothing to snapshot, and nothing new to commit. The job ends at once
    /// with its newest completed checkpoint, from which the next start goes on (ruling 4).
    ///
    /// That one is not the user's to keep, even where a final one would be: it may count on a file that a sink has not
    /// finished, and which only the line itself goes on with (ruling 5).
    pub(super) fn stopped_between_attempts(&mut self) {
        let Some(store) = self.parts.store.clone() else { return self.stopped_without_checkpoint() };
        let newest = store.lock().latest();
        tracing::warn!(
            job = %self.parts.name,
            error = self.failure.as_ref().map(tracing::field::display),
            "stopped between two attempts: no final checkpoint was taken"
        );
        match newest {
            Ok(newest) => {
                let info = newest.map(info_of);
                self.parts.board.post(|posted| posted.last_checkpoint = info);
            }
            // The next start refuses it, and says what else there is.
            Err(error) => {
                tracing::warn!(job = %self.parts.name, %error, "the newest checkpoint cannot be read")
            }
        }
        self.end(JobState::Stopped, None);
    }

    /// The final checkpoint of a stop has failed: the job goes on from its last good one at the next start (MS-078).
    pub(super) fn stop_failed(&mut self, failure: &CheckpointFailure) {
        let cause = match (failure, self.failure.take()) {
            (CheckpointFailure::AttemptEnded, Some(error)) => {
                format!("the job failed before its final checkpoint was complete: {error}")
            }
            _ => format!("the final checkpoint failed: {failure}"),
        };
        let error = Error::new(Class::Restart, "stop", &*self.parts.name, cause).with_hint(
            "once this is mended, start the job again: it goes on from its newest completed checkpoint",
        );
        self.end(JobState::Failed, Some(error));
    }

    /// The final checkpoint of a stop is durable, but a subtask has failed before it had committed it: the next start
    /// does that (CP-33).
    pub(super) fn stop_not_committed(&mut self, id: CheckpointId, error: &Error) {
        let path = self.checkpoint_path(id);
        let cause =
            format!("checkpoint {} is complete, but may not be fully committed: {error}", path.display());
        let error = Error::new(Class::Fatal, "stop", &*self.parts.name, cause)
            .with_hint("start the job again: what is left is committed then");
        self.end(JobState::Failed, Some(error));
    }

    /// Without checkpoints the commit at the end has begun, and has failed: a restart would write everything once more.
    pub(super) fn half_committed(&mut self, error: Error) {
        let hint = "some of the output may be visible already: remove it before you start the job again";
        self.end(JobState::Failed, Some(error.with_hint(hint)));
    }

    /// Stops everything as a crash would: commits nothing, deletes nothing (ruling 4). The job's lock goes last, as the
    /// death of a process has it: a new start must not run beside a subtask that is still in its last step, or beside
    /// background work that still writes a snapshot.
    pub(super) fn abandoned(&mut self) {
        self.parts.driver.stop();
        self.attempt = None;
        self.parts.shared.executor.settle(BACKGROUND);
        if let Some(store) = &self.parts.store {
            let mut store = store.lock();
            if let Some(newest) = post_newest(&self.parts.board, &store) {
                self.completed = newest;
            }
            store.release();
        }
        self.fall_back();
        let error = Error::new(Class::Restart, "job", self.parts.name.clone(), Abandoned);
        self.answer_all(&CheckpointFailure::AttemptEnded);
        self.settle(Err(error));
    }

    /// Ends the job: nothing runs any more, its end is on record, and what has no purpose any more is deleted.
    ///
    /// Nothing that takes time may follow the record of a finish: a process that is killed between it and its exit has
    /// finished without having said so.
    pub(super) fn end(&mut self, state: JobState, error: Option<Error>) {
        // Before the attempt goes: what is answered by its end must not end the job a second time.
        self.answer_all(&CheckpointFailure::AttemptEnded);
        self.halt();
        // At the end of input everything that was written is committed; otherwise what the newest checkpoint holds.
        if state != JobState::Finished {
            self.fall_back();
        }
        if self.parts.store.is_some() {
            // What is still being written would be in the way of what is deleted, and of whoever starts the job next.
            self.parts.shared.executor.settle(BACKGROUND);
        }
        self.enter(state);
        let recorded = match state {
            JobState::Finished => self.finish(),
            JobState::Canceled => {
                let recorded = self.record(&JobEnd::Canceled);
                if recorded.is_ok() {
                    self.discard_uncommitted();
                }
                self.cancelled_all_the_same(recorded)
            }
            JobState::Stopped => self.record(&self.stopped()).map_err(|error| self.stop_not_recorded(&error)),
            _ => self.record(&JobEnd::Failed),
        };
        // The first error is the one to report; what could not be recorded is as it was.
        let outcome = error.map_or(recorded, Err).map(|()| self.summary());
        if outcome.is_err() {
            self.enter(JobState::Failed);
        }
        if let Some(store) = &self.parts.store {
            store.lock().release();
        }
        self.settle(outcome);
    }

    /// Has the end of a finished job put on record, by the user if there is something to be done before.
    fn finish(&mut self) -> Result<(), Error> {
        let ending = Ending {
            summary: Summary { last_checkpoint: None, ..self.summary() },
            store: self.parts.store.clone(),
            retention: self.parts.retention,
        };
        match self.parts.before_end.take() {
            Some(conclude) => caught(|| conclude(ending)).unwrap_or_else(|text| {
                let cause = format!("panicked in before_end: {text}");
                Err(Error::new(Class::Fatal, "job", &*self.parts.name, cause))
            })?,
            None => ending.complete()?,
        };
        self.parts.board.post(|posted| posted.last_checkpoint = None);
        Ok(())
    }

    /// What a cancelled job has written and not committed goes with its checkpoints.
    fn discard_uncommitted(&mut self) {
        let SupervisorParts { name, plan, shared, store, retention, .. } = &mut self.parts;
        let line = store.as_ref().map_or(1, |store| store.lock().line());
        if store.is_none() || line_end(&JobEnd::Canceled, *retention).is_some() {
            restore::discard(name, plan, line, None, shared);
        }
    }

    /// A job that was to end has ended, whether that can be put on record or not (ruling 4): its checkpoints then stay.
    fn cancelled_all_the_same(&self, recorded: Result<(), Error>) -> Result<(), Error> {
        if let Err(error) = recorded {
            tracing::warn!(
                job = %self.parts.name, %error,
                "cancelled, but that could not be put on record: the job keeps its checkpoints, and its next start goes on \
                 from the newest of them, unless it is told to begin afresh"
            );
        }
        Ok(())
    }

    /// All is committed, but nothing says that the final checkpoint is the user's.
    fn stop_not_recorded(&self, error: &Error) -> Error {
        let path = self.stopped_at.map(|id| self.checkpoint_path(id).display().to_string());
        let at = path.unwrap_or_else(|| self.parts.name.clone());
        let cause = format!("complete and committed, but the stop could not be put on record: {error}");
        Error::new(Class::Restart, "stop", at, cause).with_hint(
            "once this is mended, start the job again: it goes on from this checkpoint, and deletes it when it has a newer one",
        )
    }

    /// A stop leaves a mark that names its checkpoint (ruling 3), a suspend leaves the line open (ruling 4).
    fn stopped(&self) -> JobEnd {
        match self.stopped_at {
            Some(id) if self.keep => JobEnd::Stopped(self.checkpoint_path(id)),
            _ => JobEnd::Suspended,
        }
    }

    fn record(&mut self, end: &JobEnd) -> Result<(), Error> {
        let Some(store) = &self.parts.store else { return Ok(()) };
        let mut store = store.lock();
        let recorded = store.end(end, self.parts.retention).map_err(Error::from);
        let recorded = recorded.map(|left| warn_left(&self.parts.name, &left));
        // What a completed checkpoint has made superfluous may still wait for its deletion, which later would come too
        // late (RT-01).
        if let Err(error) = store.subsume() {
            tracing::warn!(job = %self.parts.name, %error, "cleaning up checkpoints failed");
        }
        let _ = post_newest(&self.parts.board, &store);
        if let Some(copies) = &self.parts.shared.copies {
            copies.end(&*self.parts.shared.checkpoints);
        }
        recorded
    }

    fn summary(&self) -> Summary {
        let metrics = self.parts.board.metrics();
        let counts = metrics.checkpoints.counts();
        Summary {
            job: self.parts.name.clone(),
            job_id: self.parts.job_id.to_string(),
            state: self.state,
            parallelism: self.parts.plan.widest(),
            records_in: metrics.records_in,
            records_out: metrics.records_out,
            records_replayed: metrics.records_replayed,
            records_late: metrics.records_late,
            records_rejected: metrics.records_rejected,
            checkpoints_completed: counts.completed,
            checkpoints_failed: counts.failed,
            restarts: metrics.restarts,
            restored_from: self.restored_from.clone(),
            last_checkpoint: metrics.last_checkpoint,
            duration: self.now().saturating_sub(self.started),
        }
    }
}

/// Tells of the newest checkpoint that is there: one that was being stored may have become it, unheard of, and have
/// superseded the one that is told of. Gives what the line had counted there.
fn post_newest(board: &Board, store: &CheckpointStore) -> Option<LineCounters> {
    if store.retained().is_empty() {
        board.post(|posted| posted.last_checkpoint = None);
        return None;
    }
    let newest = store.latest().ok().flatten()?;
    let counters = newest.metadata.counters;
    board.post(|posted| posted.last_checkpoint = Some(info_of(newest)));
    Some(counters)
}

fn info_of(checkpoint: Restored) -> CheckpointInfo {
    CheckpointInfo {
        id: checkpoint.metadata.checkpoint,
        path: checkpoint.dir,
        completed_ms: checkpoint.metadata.completed_ms,
    }
}

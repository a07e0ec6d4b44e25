//! Attempts: the first one, and those that follow a failure.

use super::JobState;
use super::attempt::Attempt;
use super::restore::{self, Base, Prepared};
use super::supervisor::Supervisor;
use crate::checkpoint::Input;
use crate::error::Error;
use crate::restart::{Decision, GaveUp, RestartStrategy};
use millstream_state::checkpoint_store::Restored;
use millstream_state::metadata::LineCounters;

impl Supervisor {
    /// Deploys the first attempt; an error refuses the start.
    pub(super) fn begin(&mut self, restored: Option<Restored>, prepared: Prepared) -> Result<(), Error> {
        self.goes_on_from(restored.as_ref());
        self.deploy(restored.as_ref(), prepared)
    }

    /// Goes on from the final checkpoint of a job that has finished without having said so: it only says so.
    pub(super) fn conclude(&mut self, last: &Restored) {
        self.goes_on_from(Some(last));
        self.completed = last.metadata.counters;
        self.note_restored(last);
        self.over = true;
    }

    fn goes_on_from(&mut self, restored: Option<&Restored>) {
        self.restored_from = restored.map(|restored| restored.dir.clone());
        let from = self.restored_from.clone();
        let counted = restored.map_or_else(LineCounters::default, |restored| restored.metadata.counters);
        self.parts.board.post(|posted| {
            posted.restored_from = from;
            posted.tally.restored(counted);
        });
    }

    fn note_restored(&mut self, restored: &Restored) {
        let id = restored.metadata.checkpoint;
        self.coordinate(Input::Restored { id });
    }

    /// Starts an attempt that goes on from `restored`, of which each subtask gets its part in `prepared`.
    fn deploy(&mut self, restored: Option<&Restored>, prepared: Prepared) -> Result<(), Error> {
        self.base = restored.map_or_else(LineCounters::default, |restored| restored.metadata.counters);
        self.completed = self.base;
        self.carried = prepared.carried;
        let parts = &mut self.parts;
        let line = parts.store.as_ref().map_or(1, |store| store.lock().line());
        self.attempts += 1;
        let attempt = Attempt::start(
            self.attempts,
            line,
            &mut parts.plan,
            &parts.shared,
            prepared.subtasks,
            &mut *parts.driver,
        )?;
        if let Some(restored) = restored {
            self.note_restored(restored);
        }
        let (base, counters) = (self.base, attempt.counters.clone());
        self.parts.board.begin(base, counters);
        self.attempt = Some(attempt);
        self.failure = None;
        Ok(())
    }

    /// The next attempt after a failure, from the newest completed checkpoint.
    pub(super) fn redeploy(&mut self) {
        self.enter(JobState::Starting);
        if let Err(error) = self.try_redeploy() {
            self.failed(error);
        }
    }

    fn try_redeploy(&mut self) -> Result<(), Error> {
        let parts = &mut self.parts;
        let (mut restored, mut owned, mut retained, mut line) = (None, false, Vec::new(), 1);
        if let Some(store) = &parts.store {
            let mut store = store.lock();
            if let Err(error) = store.sweep_ended_attempt() {
                tracing::warn!(job = %parts.name, %error, "removing what the last attempt left failed");
            }
            restored = store.latest()?;
            owned = restored.as_ref().is_some_and(|restored| store.owns(restored));
            line = store.line();
            let newest = restored.as_ref().map(|restored| &restored.dir);
            for id in store.retained() {
                let dir = store.checkpoint_dir(*id);
                if newest == Some(&dir) {
                    continue;
                }
                match store.load(*id) {
                    Ok(metadata) => retained.push((dir, metadata)),
                    // Nobody can go on from it, now or later, and the newest one is what counts.
                    Err(error) => {
                        tracing::warn!(job = %parts.name, %error, "an older checkpoint cannot be read");
                    }
                }
            }
        }
        let from = restored.as_ref();
        let assigned = restore::fit(&mut parts.plan, from, parts.allow_dropped)?;
        let gathered = restore::gather(&mut parts.plan, &assigned, from, parts.allow_dropped, &parts.shared)?;
        let base = Base { restored: from, owned, retained: &retained, line };
        let prepared = restore::prepare(&mut parts.plan, &assigned, gathered, &base, &parts.shared)?;
        self.deploy(restored.as_ref(), prepared)
    }

    /// The attempt has failed: the restart strategy decides (RS-08).
    pub(super) fn failed(&mut self, error: Error) {
        // A failed stop may be one failed checkpoint too many as well; the job has then ended already.
        if self.outcome.is_some() {
            return;
        }
        let committing = self.attempt.as_ref().is_some_and(Attempt::is_committing);
        // With the attempt ends a stop whose checkpoint is not complete, for this reason, and then the job.
        self.failure = Some(error);
        self.halt();
        if self.outcome.is_some() {
            return;
        }
        let Some(error) = self.failure.take() else { return };
        self.fall_back();
        if let Some(id) = self.stopped_at {
            return self.stop_not_committed(id, &error);
        }
        if committing {
            return self.half_committed(error);
        }
        match self.parts.restart.on_failure(self.now(), error.class()) {
            Decision::RestartAfter(delay) => {
                tracing::warn!(job = %self.parts.name, %error, ?delay, "attempt failed, restarting");
                self.restart_at = Some(self.now().saturating_add(delay));
                self.failure = Some(error);
                self.enter(JobState::Restarting);
                self.parts.board.post(|posted| posted.restarts += 1);
            }
            Decision::GiveUp(why) => {
                tracing::error!(job = %self.parts.name, %error, %why, "job failed");
                let error = match &why {
                    GaveUp::Exhausted(RestartStrategy::None) | GaveUp::NotRestartable => error,
                    GaveUp::Exhausted(_) => error.after(&why),
                };
                self.end(JobState::Failed, Some(error));
            }
        }
    }

    /// Stops the present attempt.
    pub(super) fn halt(&mut self) {
        self.parts.driver.stop();
        self.attempt = None;
        self.coordinate(Input::Stopped);
    }

    /// Counts as of the newest completed checkpoint: what was read after it will be read again, if anything is.
    pub(super) fn fall_back(&mut self) {
        let completed = self.completed;
        self.parts.board.post(|posted| posted.tally.fall_back(completed));
    }
}

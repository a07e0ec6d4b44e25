//! The shell around the coordinator and the restart strategy: one for each job.

use super::JobState;
use super::attempt::{Attempt, Shared};
use super::board::Board;
use super::driver::Driver;
use super::ending::{Ending, Over};
use super::handle::Command;
use super::restore::{self, Base};
use super::summary::{CheckpointInfo, Summary};
use crate::checkpoint::{CheckpointFailure, Coordinator, Input, RequestKind, SubtaskId, Ticket};
use crate::error::{Error, caught, drop_quietly};
use crate::graph::Plan;
use crate::restart::{Decision, GaveUp, Restart, RestartStrategy};
use crate::seed;
use crate::task::{self, Acknowledged, Message, Report, ToSupervisor};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use millstream_io::clock::Moment;
use millstream_io::error::Class;
use millstream_io::id::CheckpointId;
use millstream_state::checkpoint_store::{Restored, Retention};
use millstream_state::metadata::LineCounters;
use millstream_state::{CheckpointStore, CommitPermit, JobId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// What a supervisor needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// To be turned again when something arrives, or at this moment at the latest.
    Wait(Option<Moment>),
    /// Nothing: the job has ended, take its outcome.
    Done,
}

/// What a supervisor is made of.
pub(super) struct SupervisorParts {
    pub name: String,
    pub job_id: JobId,
    pub plan: Plan,
    pub shared: Shared,
    pub store: Option<Arc<Mutex<CheckpointStore>>>,
    pub coordinator: Coordinator<Acknowledged>,
    pub restart: Restart,
    pub driver: Box<dyn Driver>,
    pub inbox: Receiver<ToSupervisor>,
    pub board: Arc<Board>,
    pub retention: Retention,
    pub allow_dropped: bool,
    pub seed: u64,
    pub before_end: Option<BeforeEnd>,
}

/// What the user does at the end of a finished job.
pub(crate) type BeforeEnd = Box<dyn FnOnce(Ending) -> Result<Over, Error> + Send>;

/// Who waits for a checkpoint that was asked for.
pub(super) enum Asked {
    /// A user who wants to know its path.
    Checkpoint(Sender<Result<CheckpointInfo, Error>>),
    /// The job's end.
    Stop {
        /// Whether the checkpoint is the user's to keep.
        keep: bool,
    },
}

/// Runs one job: deploys attempts, carries facts to the coordinator and its decisions to the subtasks.
pub struct Supervisor {
    pub(super) parts: SupervisorParts,
    pub(super) attempt: Option<Attempt>,
    attempts: u64,
    pub(super) state: JobState,
    /// When the next attempt is due.
    restart_at: Option<Moment>,
    /// Why the last attempt failed, until the next one runs.
    pub(super) failure: Option<Error>,
    pub(super) asked: HashMap<Ticket, Asked>,
    tickets: u64,
    /// Commands that wait for the subtasks to run.
    held: Vec<Command>,
    /// Permits of checkpoints that were published and whose completion is to be announced.
    pub(super) permits: HashMap<CheckpointId, CommitPermit>,
    /// What the line had counted at the newest completed checkpoint.
    pub(super) completed: LineCounters,
    /// What it would have counted at those being stored.
    pub(super) storing: HashMap<CheckpointId, LineCounters>,
    /// What the line had counted when the present attempt began.
    pub(super) base: LineCounters,
    /// The final checkpoint of a stop, once it is durable.
    pub(super) stopped_at: Option<CheckpointId>,
    /// It is the user's to keep.
    pub(super) keep: bool,
    restored_from: Option<PathBuf>,
    /// The job has finished before, and nobody was told.
    over: bool,
    started: Moment,
    /// Completed checkpoints that wait for the deletion of older ones.
    pub(super) deletions: u32,
    /// Checkpoints whose directory has been made.
    pub(super) begun: Vec<CheckpointId>,
    outcome: Option<Result<Summary, Error>>,
}

impl Supervisor {
    pub(super) fn new(parts: SupervisorParts) -> Self {
        let started = parts.shared.clock.now();
        Self {
            parts,
            attempt: None,
            attempts: 0,
            state: JobState::Starting,
            restart_at: None,
            failure: None,
            asked: HashMap::new(),
            tickets: 0,
            held: Vec::new(),
            permits: HashMap::new(),
            completed: LineCounters::default(),
            storing: HashMap::new(),
            base: LineCounters::default(),
            stopped_at: None,
            keep: false,
            restored_from: None,
            over: false,
            started,
            deletions: 0,
            begun: Vec::new(),
            outcome: None,
        }
    }

    /// Goes on from the final checkpoint of a job that has finished without having said so: it only says so.
    pub(super) fn conclude(&mut self, last: &Restored) {
        self.goes_on_from(Some(last));
        self.completed = last.metadata.counters;
        self.note_restored(last);
        self.over = true;
    }

    /// Deploys the first attempt; an error refuses the start.
    pub(super) fn begin(
        &mut self,
        restored: Option<Restored>,
        prepared: Vec<task::Restored>,
    ) -> Result<(), Error> {
        self.goes_on_from(restored.as_ref());
        self.deploy(restored.as_ref(), prepared)
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

    /// Tells the coordinator; between attempts there is nothing that it could want to have done.
    fn note_restored(&mut self, restored: &Restored) {
        let id = restored.metadata.checkpoint;
        self.parts.coordinator.on(self.now(), Input::Restored { id }, &mut Vec::new());
    }

    /// The outcome, once [`Supervisor::turn`] has said that it is done.
    pub fn outcome(&mut self) -> Option<Result<Summary, Error>> {
        self.outcome.take()
    }

    /// Handles what has arrived and what is due. Never waits.
    pub fn turn(&mut self) -> Turn {
        if std::mem::take(&mut self.over) {
            self.ended();
        }
        while self.outcome.is_none() {
            let Ok(message) = self.parts.inbox.try_recv() else { break };
            self.arrived(message);
        }
        if self.outcome.is_some() {
            return Turn::Done;
        }
        let now = self.now();
        if self.parts.coordinator.due().is_some_and(|due| due <= now) {
            self.coordinate(Input::Tick);
        }
        // What is being stored may be what the next attempt goes on from, or the next start.
        let waits = if self.parts.coordinator.storing().is_none() { self.restart_at } else { None };
        let stop = self.held.iter().any(|command| matches!(command, Command::Stop { .. }));
        match waits {
            Some(_) if stop => self.stopped_between_attempts(),
            Some(at) if at <= now => {
                self.restart_at = None;
                self.redeploy();
            }
            _ => {}
        }
        if self.outcome.is_some() {
            return Turn::Done;
        }
        let waits = waits.and(self.restart_at);
        Turn::Wait(match (self.parts.coordinator.due(), waits) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        })
    }

    /// Turns until the job has ended, waiting in between; for a thread of its own.
    ///
    /// # Errors
    /// The job has failed for good.
    pub fn run(mut self) -> Result<Summary, Error> {
        let name = self.parts.name.clone();
        let outcome = caught(|| self.turns()).unwrap_or_else(|text| {
            // Nobody may be at work any more when the job's directory is given up.
            let _ = caught(|| self.parts.driver.stop());
            self.enter(JobState::Failed);
            Err(Error::new(Class::Fatal, "job", &*name, format!("panicked: {text}")))
        });
        // What the job is made of goes before anybody hears of its end, and cannot take the outcome with it.
        drop_quietly(&name, self);
        outcome
    }

    fn turns(&mut self) -> Result<Summary, Error> {
        loop {
            match self.turn() {
                Turn::Done => {
                    let ended = || Error::new(Class::Restart, "job", &*self.parts.name, "has ended");
                    return self.outcome.take().unwrap_or_else(|| Err(ended()));
                }
                Turn::Wait(due) => self.wait(due),
            }
        }
    }

    fn wait(&mut self, due: Option<Moment>) {
        let message = match due {
            Some(due) => self.parts.inbox.recv_timeout(due.saturating_sub(self.now())),
            None => self.parts.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        if let Ok(message) = message {
            self.arrived(message);
        }
    }

    pub(super) fn now(&self) -> Moment {
        self.parts.shared.clock.now()
    }

    fn arrived(&mut self, message: ToSupervisor) {
        match message {
            ToSupervisor::Report(attempt, subtask, report) => {
                if self.attempt.as_ref().is_some_and(|present| present.number == attempt) {
                    self.reported(subtask, report);
                }
            }
            ToSupervisor::Stored(id, Ok(permit)) => {
                self.permits.insert(id, permit);
                if let Some(counted) = self.storing.remove(&id) {
                    self.completed = counted;
                }
                self.coordinate(Input::Stored { id });
            }
            ToSupervisor::Stored(id, Err(error)) => {
                self.storing.remove(&id);
                let cause = error.to_string();
                // First, so that the checkpoint's failure is seen as what it is: part of the job's.
                if error.class() == Class::Fatal {
                    self.failed(error);
                }
                self.coordinate(Input::StoreFailed { id, cause });
            }
            ToSupervisor::Deleted => self.deleting(self.deletions - 1),
            ToSupervisor::Command(command) => self.commanded(command),
        }
    }

    /// So many deletions are under way; too many hold back new checkpoints (CP-06).
    pub(super) fn deleting(&mut self, waiting: u32) {
        self.deletions = waiting;
        self.coordinate(Input::Deleting { waiting });
    }

    fn reported(&mut self, subtask: SubtaskId, report: Report) {
        let Some(attempt) = &mut self.attempt else { return };
        tracing::trace!(%subtask, ?report);
        match report {
            Report::Running => {
                attempt.running += 1;
                if attempt.running == attempt.len() {
                    let tasks = attempt.tasks.clone();
                    let seed = seed::mix(self.parts.seed ^ attempt.number);
                    let ended = std::mem::take(&mut attempt.ended_early);
                    let base = self.base;
                    self.parts.board.post(|posted| posted.tally.opened(base));
                    self.enter(JobState::Running);
                    self.coordinate(Input::Started { tasks, seed });
                    for subtask in ended {
                        self.coordinate(Input::EndOfData { subtask });
                    }
                    for command in std::mem::take(&mut self.held) {
                        self.commanded(command);
                    }
                }
            }
            Report::Acknowledged(id, payload, metrics) => {
                let ended = payload.ended;
                self.coordinate(Input::Ack { id, subtask, payload, ended, metrics });
            }
            Report::Declined(id, failure) => self.coordinate(Input::Decline { id, subtask, failure }),
            Report::EndOfData if attempt.running < attempt.len() => attempt.ended_early.push(subtask),
            Report::EndOfData => self.coordinate(Input::EndOfData { subtask }),
            Report::PreCommitted => {
                attempt.pre_committed += 1;
                if attempt.is_committing() {
                    attempt.tell_all(&Message::CommitAtEnd);
                }
            }
            Report::Committed => {
                attempt.committed += 1;
                if attempt.committed == attempt.len() {
                    attempt.tell_all(&Message::Close);
                }
            }
            Report::Closed => {
                attempt.closed += 1;
                let all = attempt.closed == attempt.len();
                self.coordinate(Input::Finished { subtask });
                if all {
                    self.ended();
                }
            }
            Report::Failed(error) => self.failed(error),
        }
    }

    fn commanded(&mut self, command: Command) {
        let starting = matches!(self.state, JobState::Starting | JobState::Restarting);
        match command {
            // What needs running subtasks waits for them.
            Command::Checkpoint { .. } | Command::Stop { .. } if starting => self.held.push(command),
            Command::Checkpoint { full, reply } => {
                let ticket = self.ticket(Asked::Checkpoint(reply));
                self.coordinate(Input::Request { ticket, kind: RequestKind::Checkpoint { full } });
            }
            // The job ends by itself; should that fail, it is stopped after the restart.
            Command::Stop { .. } if self.attempt.as_ref().is_some_and(Attempt::is_finishing) => {
                self.held.push(command);
            }
            Command::Stop { keep } => {
                self.enter(JobState::Stopping);
                let ticket = self.ticket(Asked::Stop { keep });
                self.coordinate(Input::Request { ticket, kind: RequestKind::Stop });
            }
            Command::Cancel => self.cancelled(),
            Command::Abandon => self.abandoned(),
        }
    }

    fn ticket(&mut self, asked: Asked) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.asked.insert(ticket, asked);
        ticket
    }

    /// Tells the coordinator and does what it decides.
    pub(super) fn coordinate(&mut self, input: Input<Acknowledged>) {
        let mut actions = Vec::new();
        self.parts.coordinator.on(self.now(), input, &mut actions);
        for action in actions {
            self.act(action);
        }
        let statistics = self.parts.coordinator.statistics().clone();
        self.parts.board.post(|posted| posted.checkpoints = statistics);
    }

    pub(super) fn enter(&mut self, state: JobState) {
        self.state = state;
        self.parts.board.post(|posted| posted.state = state);
    }

    /// Starts an attempt that goes on from `restored`, of which each subtask gets its part in `prepared`.
    fn deploy(&mut self, restored: Option<&Restored>, prepared: Vec<task::Restored>) -> Result<(), Error> {
        self.base = restored.map_or_else(LineCounters::default, |restored| restored.metadata.counters);
        self.completed = self.base;
        let parts = &mut self.parts;
        let line = parts.store.as_ref().map_or(1, |store| store.lock().line());
        self.attempts += 1;
        let attempt = Attempt::start(
            self.attempts,
            line,
            &mut parts.plan,
            &parts.shared,
            prepared,
            &mut *parts.driver,
        )?;
        if let Some(restored) = restored {
            self.note_restored(restored);
        }
        let (base, counters) = (self.base, attempt.counters.clone());
        self.parts.board.post(|posted| posted.tally.begin(base, counters));
        self.attempt = Some(attempt);
        self.failure = None;
        Ok(())
    }

    /// The next attempt after a failure, from the newest completed checkpoint.
    fn redeploy(&mut self) {
        self.enter(JobState::Starting);
        if let Err(error) = self.try_redeploy() {
            self.failed(error);
        }
    }

    fn try_redeploy(&mut self) -> Result<(), Error> {
        let parts = &mut self.parts;
        let (mut restored, mut retained, mut line) = (None, Vec::new(), 1);
        if let Some(store) = &parts.store {
            let store = store.lock();
            restored = store.latest()?;
            line = store.line();
            let newest = restored.as_ref().map(|restored| &restored.dir);
            for id in store.retained() {
                let dir = store.checkpoint_dir(*id);
                if newest != Some(&dir) {
                    retained.push((dir, store.load(*id)?));
                }
            }
        }
        let from = restored.as_ref();
        let assigned = restore::fit(&mut parts.plan, from, parts.allow_dropped)?;
        let gathered = restore::gather(&mut parts.plan, &assigned, from, parts.allow_dropped, &parts.shared)?;
        let base = Base { restored: from, retained: &retained, line };
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
        self.halt();
        // With the attempt ends a stop whose checkpoint is not complete, and then the job.
        if self.outcome.is_some() {
            return;
        }
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

    pub(super) fn checkpoint_path(&self, id: CheckpointId) -> PathBuf {
        match &self.parts.store {
            Some(store) => store.lock().checkpoint_dir(id),
            None => PathBuf::new(),
        }
    }

    pub(super) fn settle(&mut self, outcome: Result<Summary, Error>) {
        self.outcome = Some(outcome);
    }

    pub(super) fn summary(&self) -> Summary {
        let metrics = self.parts.board.metrics();
        let counts = self.parts.coordinator.statistics().counts();
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

    /// Answers everybody who still waits for a checkpoint.
    pub(super) fn answer_all(&mut self, failure: &CheckpointFailure) {
        for command in std::mem::take(&mut self.held) {
            if let Command::Checkpoint { reply, .. } = command {
                let _ = reply.send(Err(super::handle::not_taken(&self.parts.name, failure)));
            }
        }
        for (_, asked) in self.asked.drain() {
            if let Asked::Checkpoint(reply) = asked {
                let _ = reply.send(Err(super::handle::not_taken(&self.parts.name, failure)));
            }
        }
    }
}

//! The shell around the coordinator and the restart strategy: one for each job.
//!
//! Here it waits and hands on what arrives; `reports` and `commands` take that in, `actions` carries out what the
//! coordinator decides, `deploy` starts attempts and `end` ends the job.

use super::JobState;
use super::attempt::{Attempt, Shared};
use super::board::Board;
use super::commands::Asked;
use super::driver::Driver;
use super::end::BACKGROUND;
use super::ending::BeforeEnd;
use super::handle::Command;
use super::summary::Summary;
use crate::checkpoint::{Coordinator, Input, Ticket};
use crate::error::{Error, caught, drop_quietly};
use crate::graph::Plan;
use crate::restart::Restart;
use crate::task::{Acknowledged, ToSupervisor};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use millstream_io::clock::Moment;
use millstream_io::error::Class;
use millstream_io::id::CheckpointId;
use millstream_state::checkpoint_store::Retention;
use millstream_state::metadata::LineCounters;
use millstream_state::{CheckpointStore, CommitPermit, JobId, StateDescriptor};
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

/// Runs one job: deploys attempts, carries facts to the coordinator and its decisions to the subtasks.
pub struct Supervisor {
    pub(super) parts: SupervisorParts,
    pub(super) attempt: Option<Attempt>,
    pub(super) attempts: u64,
    /// Keyed states that operators of the attempt carry on.
    pub(super) carried: Vec<(Vec<StateDescriptor>, u32)>,
    pub(super) state: JobState,
    /// When the next attempt is due.
    pub(super) restart_at: Option<Moment>,
    /// Why the last attempt failed, until the next one runs.
    pub(super) failure: Option<Error>,
    pub(super) asked: HashMap<Ticket, Asked>,
    pub(super) tickets: u64,
    /// Commands that wait for the subtasks to run.
    pub(super) held: Vec<Command>,
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
    pub(super) restored_from: Option<PathBuf>,
    /// The job has finished before, and nobody was told.
    pub(super) over: bool,
    pub(super) started: Moment,
    /// Completed checkpoints that wait for the deletion of older ones.
    pub(super) deletions: u32,
    /// Checkpoints whose directory has been made.
    pub(super) begun: Vec<CheckpointId>,
    pub(super) outcome: Option<Result<Summary, Error>>,
}

impl Supervisor {
    pub(super) fn new(parts: SupervisorParts) -> Self {
        let started = parts.shared.clock.now();
        Self {
            parts,
            attempt: None,
            attempts: 0,
            carried: Vec::new(),
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
            let _ = caught(|| {
                self.parts.driver.stop();
                self.parts.shared.executor.settle(BACKGROUND);
            });
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
            ToSupervisor::Deleted(retained) => self.deleted(retained),
            ToSupervisor::Command(command) => self.commanded(command),
        }
    }

    /// So many deletions are under way or wait; too many hold back new checkpoints (CP-06).
    pub(super) fn deleting(&mut self, waiting: u32) {
        self.deletions = waiting;
        self.coordinate(Input::Deleting { waiting });
    }

    /// Tells the coordinator and does what it decides.
    pub(super) fn coordinate(&mut self, input: Input<Acknowledged>) {
        let mut actions = Vec::new();
        self.parts.coordinator.on(self.now(), input, &mut actions);
        for action in actions {
            self.act(action);
        }
    }

    pub(super) fn enter(&mut self, state: JobState) {
        self.state = state;
        self.parts.board.enter(state);
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
}

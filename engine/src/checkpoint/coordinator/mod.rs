//! The coordinator: from inputs to actions.

mod attempt;
mod cause;
mod onward;
mod outcome;

use crate::checkpoint::event::CheckpointEvent;
use crate::checkpoint::failure::{CheckpointFailure, Tolerance};
use crate::checkpoint::message::{Action, CheckpointKind, Input, RequestKind, SubtaskId, Taken, Ticket};
use crate::checkpoint::pending::{Pending, Stage};
use crate::checkpoint::plan::{Progress, Subtasks};
use crate::checkpoint::request::Requests;
use crate::checkpoint::schedule::Schedule;
use crate::config::Checkpointing;
use cause::FinalRetry;
use millstream_io::clock::Moment;
use millstream_io::id::CheckpointId;
use std::collections::{BTreeMap, BTreeSet};

/// Decides when checkpoints are taken and how they end. `A` is a subtask's snapshot: handles, cheap to clone.
///
/// ```
/// use millstream::checkpoint::{Action, Coordinator, Input, SubtaskId, TaskInfo};
/// use millstream::config::Checkpointing;
/// use std::time::Duration;
///
/// let settings = Checkpointing { interval: Some(Duration::from_secs(1)), ..Checkpointing::default() };
/// let mut coordinator = Coordinator::<&str>::new(&settings);
/// let source = TaskInfo { subtask: SubtaskId(0), task: 0, source: true, finished: false };
/// let mut actions = Vec::new();
/// coordinator.on(Duration::ZERO, Input::Started { tasks: vec![source], seed: 7 }, &mut actions);
/// let due = coordinator.due().expect("the first checkpoint is planned");
/// coordinator.on(due, Input::Tick, &mut actions);
/// assert!(matches!(&actions[..], [Action::Note(_), Action::Trigger { subtasks, .. }] if subtasks == &[SubtaskId(0)]));
/// ```
#[derive(Clone, Debug)]
pub struct Coordinator<A> {
    config: Checkpointing,
    /// Whether the job ends with a checkpoint although no other is taken.
    final_only: bool,
    next_id: CheckpointId,
    subtasks: Subtasks,
    /// How far subtasks had come before the whole attempt ran.
    early: BTreeMap<SubtaskId, Progress>,
    schedule: Option<Schedule>,
    /// Sources that work off a backlog, also before the whole attempt runs.
    behind: BTreeSet<SubtaskId>,
    requests: Requests,
    /// In order of ids.
    pending: Vec<Pending<A>>,
    latest: Option<CheckpointId>,
    tolerance: Tolerance,
    final_retry: FinalRetry,
    deleting: u32,
}

impl<A: Clone> Coordinator<A> {
    /// A coordinator for a job without earlier checkpoints. Valid settings are expected
    /// ([`Config::validate`](crate::config::Config::validate)).
    pub fn new(config: &Checkpointing) -> Self {
        let config = config.effective();
        Self {
            final_only: false,
            next_id: CheckpointId::FIRST,
            subtasks: Subtasks::default(),
            early: BTreeMap::new(),
            schedule: None,
            behind: BTreeSet::new(),
            requests: Requests::default(),
            pending: Vec::new(),
            latest: None,
            tolerance: Tolerance::new(config.tolerable_failed),
            final_retry: FinalRetry::default(),
            deleting: 0,
            config,
        }
    }

    /// The job belongs to a line of checkpoints. It ends with one even where no interval asks for any: only so a start
    /// that follows knows that it has ended, or what is left to commit.
    pub fn end_with_a_checkpoint(&mut self) {
        self.final_only = !self.config.enabled();
    }

    /// Whether what is written becomes visible by checkpoints alone.
    pub(super) fn commits_by_checkpoint(&self) -> bool {
        self.config.enabled() || self.final_only
    }

    /// Ids go on from `id`, unless they are beyond it already: above the highest found anywhere in the job's
    /// directory, so that nothing that is left is overwritten (CP-13, ruling 2).
    pub fn continue_from(&mut self, id: CheckpointId) {
        self.next_id = self.next_id.max(id);
    }

    /// The settings in force (CP-05).
    pub fn config(&self) -> &Checkpointing {
        &self.config
    }

    /// The newest checkpoint that this process completed.
    pub fn latest(&self) -> Option<CheckpointId> {
        self.latest
    }

    /// The checkpoint whose metadata is being published: it may be durable at any moment, and its outcome has to be
    /// waited for before an attempt chooses what to restore.
    pub fn storing(&self) -> Option<CheckpointId> {
        self.pending.iter().find(|p| p.stage == Stage::Storing).map(Pending::id)
    }

    /// When it wants [`Input::Tick`]; later than any moment at which it was told the time, or at once.
    pub fn due(&self) -> Option<Moment> {
        let waiting = self.pending.iter().filter(|p| p.stage == Stage::Acknowledging);
        let deadlines = waiting.flat_map(|p| std::iter::once(p.deadline).chain(p.overtakes_at));
        deadlines.chain(self.next_trigger()).min()
    }

    /// When a checkpoint is to be triggered by time.
    fn next_trigger(&self) -> Option<Moment> {
        let schedule = self.schedule.as_ref().filter(|_| self.subtasks.any() && !self.closing())?;
        if self.subtasks.wants_final() {
            return Some(self.final_retry.at);
        }
        schedule.due().filter(|_| !self.subtasks.all_ended())
    }

    /// Takes what happened at `now` and appends what is to be done. Time must not go back.
    pub fn on(&mut self, now: Moment, input: Input<A>, actions: &mut Vec<Action<A>>) {
        match input {
            Input::Started { tasks, seed } => self.started(now, tasks, seed, actions),
            Input::Tick => self.tick(now, actions),
            Input::Ack { id, subtask, payload, ended, metrics } => {
                self.acknowledged(now, id, subtask, (payload, ended), &metrics, actions);
            }
            Input::Decline { id, subtask, failure } => {
                self.declined(now, id, failure, Some(subtask), actions);
            }
            Input::TriggerFailed { id, failure } => self.declined(now, id, failure, None, actions),
            Input::InputEnded { subtask } => self.without_barriers(subtask, Progress::Looping, actions),
            Input::EndOfData { subtask } => self.without_barriers(subtask, Progress::Ended, actions),
            Input::Backlog { subtask, behind } => self.backlog(now, subtask, behind),
            Input::Finished { subtask } => self.finished(now, subtask, actions),
            Input::Stored { id } => self.stored(now, id, actions),
            Input::StoreFailed { id, cause } => self.store_failed(now, id, cause, actions),
            Input::Deleting { waiting } => self.deleting = waiting,
            Input::Request { ticket, kind } => self.request(ticket, kind, actions),
            Input::Stopped => self.attempt_ended(now, actions),
            Input::Restored { id } => {
                self.continue_from(id.next());
                actions.push(Action::Note(CheckpointEvent::Restored { id, at: now }));
            }
        }
        self.go_on(now, actions);
    }

    fn request(&mut self, ticket: Ticket, kind: RequestKind, actions: &mut Vec<Action<A>>) {
        let limit = Requests::LIMIT;
        let result = match kind {
            RequestKind::Stop if !self.config.enabled() && !self.closing() => Some(Ok(Taken::Nothing)),
            RequestKind::Checkpoint { .. } if !self.config.enabled() => {
                Some(Err(CheckpointFailure::CheckpointingOff))
            }
            _ if !self.subtasks.any() => Some(Err(CheckpointFailure::NotAllTasksRunning)),
            RequestKind::Stop => match self.pending.iter_mut().find(|p| p.barrier.last) {
                Some(closing) => {
                    closing.tickets.push(ticket);
                    None
                }
                None => {
                    let queued = self.requests.push_stop(ticket);
                    (!queued).then_some(Err(CheckpointFailure::TooManyRequests { limit }))
                }
            },
            RequestKind::Checkpoint { full } => {
                let kind = if full { CheckpointKind::FullCheckpoint } else { CheckpointKind::Checkpoint };
                let queued = self.requests.push(ticket, kind);
                (!queued).then_some(Err(CheckpointFailure::TooManyRequests { limit }))
            }
        };
        if let Some(result) = result {
            actions.push(Action::Answer { ticket, result });
        }
    }

    fn position(&self, id: CheckpointId) -> Option<usize> {
        self.pending.iter().position(|p| p.id() == id)
    }
}

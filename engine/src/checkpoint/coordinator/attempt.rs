//! The subtasks of an attempt: they begin, come to their ends, and are gone.

use super::Coordinator;
use super::cause::FinalRetry;
use crate::checkpoint::failure::CheckpointFailure;
use crate::checkpoint::message::{Action, SubtaskId, TaskInfo};
use crate::checkpoint::pending::{Pending, Stage};
use crate::checkpoint::plan::{Progress, Subtasks};
use crate::checkpoint::schedule::Schedule;
use millstream_io::clock::Moment;

impl<A: Clone> Coordinator<A> {
    pub(super) fn started(
        &mut self,
        now: Moment,
        tasks: Vec<TaskInfo>,
        seed: u64,
        actions: &mut Vec<Action<A>>,
    ) {
        let early = std::mem::take(&mut self.early);
        let behind = std::mem::take(&mut self.behind);
        self.attempt_ended(now, actions);
        self.behind = behind;
        self.subtasks = Subtasks::new(tasks);
        for (subtask, progress) in early {
            self.subtasks.advance(subtask, progress);
        }
        self.schedule = self.commits_by_checkpoint().then(|| Schedule::start(now, &self.config, seed));
        if !self.behind.is_empty() {
            self.reschedule(now);
        }
    }

    /// CP-21: nothing of this attempt is waited for any more, except what may already be durable.
    pub(super) fn attempt_ended(&mut self, now: Moment, actions: &mut Vec<Action<A>>) {
        self.subtasks = Subtasks::default();
        self.early.clear();
        self.behind.clear();
        self.schedule = None;
        self.final_retry = FinalRetry::default();
        self.pending.iter_mut().for_each(Pending::orphan);
        while let Some(at) = self.pending.iter().position(|p| p.stage != Stage::Storing) {
            self.fail(now, at, CheckpointFailure::AttemptEnded, actions);
        }
        for ticket in self.requests.drain() {
            actions.push(Action::Answer { ticket, result: Err(CheckpointFailure::AttemptEnded) });
        }
    }

    /// CP-10: the last word of each source counts.
    pub(super) fn backlog(&mut self, now: Moment, subtask: SubtaskId, behind: bool) {
        let before = self.behind.is_empty();
        if behind {
            self.behind.insert(subtask);
        } else {
            self.behind.remove(&subtask);
        }
        if self.behind.is_empty() != before {
            self.reschedule(now);
        }
    }

    /// The interval is the one that holds now.
    fn reschedule(&mut self, now: Moment) {
        let backlog = self.config.interval_during_backlog.filter(|_| !self.behind.is_empty());
        let interval = backlog.or(self.config.interval).filter(|interval| !interval.is_zero());
        if let Some(schedule) = self.schedule.as_mut().filter(|_| self.config.enabled()) {
            schedule.every(now, interval);
        }
    }

    /// No barrier may come to this subtask any more, so it is triggered directly for whatever still misses it. If it
    /// has seen the barrier after all, and its acknowledgement is under way, it ignores the trigger (BR-10).
    pub(super) fn without_barriers(
        &mut self,
        subtask: SubtaskId,
        progress: Progress,
        actions: &mut Vec<Action<A>>,
    ) {
        if self.subtasks.is_empty() {
            self.early.insert(subtask, progress);
        }
        if !self.subtasks.advance(subtask, progress) {
            return;
        }
        for pending in &mut self.pending {
            if pending.trigger_directly(subtask) {
                actions.push(Action::Trigger { barrier: pending.barrier, subtasks: vec![subtask] });
            }
        }
    }

    /// A subtask that was released owes nothing to any pending checkpoint. One that ends on its own takes its
    /// snapshot with it.
    pub(super) fn finished(&mut self, now: Moment, subtask: SubtaskId, actions: &mut Vec<Action<A>>) {
        if !self.subtasks.advance(subtask, Progress::Finished) {
            return;
        }
        while let Some(at) = self.pending.iter().position(|p| p.missing().contains(&subtask)) {
            self.abort(now, at, CheckpointFailure::TaskClosing { subtask }, actions);
        }
    }
}

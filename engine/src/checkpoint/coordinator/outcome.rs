//! What becomes of pending checkpoints.

use super::Coordinator;
use crate::checkpoint::event::CheckpointEvent;
use crate::checkpoint::failure::CheckpointFailure;
use crate::checkpoint::message::{AckMetrics, Action, SubtaskId, Taken};
use crate::checkpoint::pending::{Pending, Stage};
use crate::checkpoint::plan::Progress;
use millstream_io::clock::Moment;
use millstream_io::id::CheckpointId;

impl<A: Clone> Coordinator<A> {
    pub(super) fn tick(&mut self, now: Moment, actions: &mut Vec<Action<A>>) {
        let expired = |p: &Pending<A>| p.stage == Stage::Acknowledging && now >= p.deadline;
        while let Some(at) = self.pending.iter().position(expired) {
            let missing = self.pending[at].missing().len();
            self.abort(
                now,
                at,
                CheckpointFailure::Expired { timeout: self.config.timeout, missing },
                actions,
            );
        }
        let late = |p: &&mut Pending<A>| {
            p.stage == Stage::Acknowledging && p.overtakes_at.is_some_and(|at| now >= at)
        };
        for pending in self.pending.iter_mut().filter(late) {
            let subtasks = pending.overtake();
            if !subtasks.is_empty() {
                actions.push(Action::Trigger { barrier: pending.barrier, subtasks });
            }
        }
        if let Some(schedule) = &mut self.schedule {
            schedule.tick(now);
        }
    }

    pub(super) fn acknowledged(
        &mut self,
        now: Moment,
        id: CheckpointId,
        subtask: SubtaskId,
        (payload, ended): (A, bool),
        metrics: &AckMetrics,
        actions: &mut Vec<Action<A>>,
    ) {
        let Some(at) = self.position(id) else {
            actions.push(Action::Discard { id, payloads: vec![payload] });
            return;
        };
        let pending = &mut self.pending[at];
        if pending.has(subtask) {
            // The same snapshot again (CP-25): what it refers to is in use.
            return;
        }
        match pending.acknowledge(subtask, payload, ended) {
            Ok(()) => {
                let acknowledged = CheckpointEvent::Acknowledged { id, subtask, metrics: *metrics, at: now };
                actions.push(Action::Note(acknowledged));
            }
            Err(payload) => actions.push(Action::Discard { id, payloads: vec![payload] }),
        }
    }

    /// A decline comes too late for a checkpoint that has all its acknowledgements.
    pub(super) fn declined(
        &mut self,
        now: Moment,
        id: CheckpointId,
        failure: CheckpointFailure,
        subtask: Option<SubtaskId>,
        actions: &mut Vec<Action<A>>,
    ) {
        let declinable = |at: &usize| self.pending[*at].stage == Stage::Acknowledging;
        if let Some(at) = self.position(id).filter(declinable) {
            self.pending[at].declined_by = subtask;
            self.abort(now, at, failure, actions);
        }
    }

    pub(super) fn stored(&mut self, now: Moment, id: CheckpointId, actions: &mut Vec<Action<A>>) {
        let Some(at) = self.position(id).filter(|at| self.pending[*at].stage == Stage::Storing) else {
            return;
        };
        let pending = self.pending.remove(at);
        while self.pending.first().is_some_and(|older| older.id() < id) {
            self.abort(now, 0, CheckpointFailure::Subsumed { by: id }, actions);
        }
        self.latest = Some(id);
        self.tolerance.succeeded(id);
        actions.push(Action::Note(CheckpointEvent::Completed { id, at: now }));
        if let Some(schedule) = &mut self.schedule {
            schedule.completed(now);
        }
        for subtask in pending.covers() {
            self.subtasks.advance(subtask, Progress::Covered);
        }
        let alive = |s: &SubtaskId| self.subtasks.progress(*s).is_some_and(|p| p < Progress::Finished);
        let subtasks = pending.notify.iter().copied().filter(alive).collect();
        actions.push(Action::Complete { id, subtasks });
        for ticket in pending.tickets {
            actions.push(Action::Answer { ticket, result: Ok(Taken::Completed(id)) });
        }
    }

    pub(super) fn store_failed(
        &mut self,
        now: Moment,
        id: CheckpointId,
        cause: String,
        actions: &mut Vec<Action<A>>,
    ) {
        if let Some(at) = self.position(id).filter(|at| self.pending[*at].stage == Stage::Storing) {
            self.abort(now, at, CheckpointFailure::Store { cause }, actions);
        }
    }

    /// Ends a pending checkpoint that will not complete, and the attempt when that was one failure too many.
    pub(super) fn abort(
        &mut self,
        now: Moment,
        at: usize,
        failure: CheckpointFailure,
        actions: &mut Vec<Action<A>>,
    ) {
        let (id, last) = (self.pending[at].id(), self.pending[at].barrier.last);
        self.fail(now, at, failure.clone(), actions);
        if last {
            self.final_retry.failed(now);
        }
        if self.schedule.is_none() {
            // Between attempts a failure is a side effect of the one that ended the last (CP-19).
            return;
        }
        if let Some(reason) = self.tolerance.failed(id, &failure) {
            actions.push(Action::FailJob { reason });
            self.attempt_ended(now, actions);
        }
    }

    pub(super) fn fail(
        &mut self,
        now: Moment,
        at: usize,
        failure: CheckpointFailure,
        actions: &mut Vec<Action<A>>,
    ) {
        let mut pending = self.pending.remove(at);
        let id = pending.id();
        let subtask = pending.declined_by.or(failure.subtask());
        let failed = CheckpointEvent::Failed { id, failure: failure.clone(), subtask, at: now };
        actions.push(Action::Note(failed));
        let subtasks = std::mem::take(&mut pending.notify);
        actions.push(Action::Abort { id, failure: failure.clone(), subtasks, latest: self.latest });
        for ticket in std::mem::take(&mut pending.tickets) {
            actions.push(Action::Answer { ticket, result: Err(failure.clone()) });
        }
        let payloads = pending.payloads();
        if !payloads.is_empty() {
            actions.push(Action::Discard { id, payloads });
        }
    }
}

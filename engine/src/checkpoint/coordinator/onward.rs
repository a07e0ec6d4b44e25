//! What follows from a change: what is stored next, who may finish, what is triggered.

use super::Coordinator;
use super::cause::Cause;
use crate::checkpoint::event::CheckpointEvent;
use crate::checkpoint::message::{Action, Barrier, SubtaskId};
use crate::checkpoint::pending::{Pending, Stage};
use crate::checkpoint::plan::Progress;
use millstream_io::clock::Moment;
use std::collections::BTreeSet;

impl<A: Clone> Coordinator<A> {
    /// What follows from any change: storing, releasing, triggering.
    pub(super) fn go_on(&mut self, now: Moment, actions: &mut Vec<Action<A>>) {
        self.store_next(actions);
        self.release(actions);
        while let Some(cause) = self.next_cause(now) {
            self.trigger(now, cause, actions);
        }
    }

    /// Stores the next checkpoint that has all its acknowledgements. It says of subtasks that were released before that nothing
    /// is left of them, and what these commit is in an older one that goes with it: so first they have to have closed, which
    /// they do once all of that is done.
    fn store_next(&mut self, actions: &mut Vec<Action<A>>) {
        if self.storing().is_some() {
            return;
        }
        let closed = |id: &SubtaskId| self.subtasks.progress(*id).is_none_or(|p| p >= Progress::Finished);
        if let Some(next) = self.pending.iter_mut().find(|p| p.stage == Stage::Acknowledged)
            && next.finished.iter().all(closed)
        {
            next.stage = Stage::Storing;
            let finished = next.finished.clone();
            actions.push(Action::Store { barrier: next.barrier, acks: next.snapshots(), finished });
        }
    }

    fn release(&mut self, actions: &mut Vec<Action<A>>) {
        let commit = !self.commits_by_checkpoint();
        let subtasks = if commit {
            if self.subtasks.all_ended() { self.subtasks.release_all() } else { Vec::new() }
        } else {
            let awaited: BTreeSet<SubtaskId> =
                self.pending.iter().flat_map(|p| p.missing()).copied().collect();
            self.subtasks.release(!self.config.after_tasks_finish, &awaited)
        };
        if !subtasks.is_empty() {
            actions.push(Action::MayFinish { subtasks, commit });
        }
    }

    /// Whether a checkpoint is pending with which the job ends: nothing is triggered beside it.
    pub(super) fn closing(&self) -> bool {
        self.pending.iter().any(|p| p.barrier.last)
    }

    /// Whether another checkpoint has to wait for the end of one (CP-06).
    fn crowded(&self) -> bool {
        let max = self.config.max_concurrent;
        self.pending.len() >= max as usize || self.deleting > max
    }

    /// The next checkpoint that can be triggered now, in the order of CP-07. What the job ends with is forced: it
    /// does not wait for others.
    fn next_cause(&mut self, now: Moment) -> Option<Cause> {
        if self.schedule.is_none() || self.closing() {
            return None;
        }
        let stop = self.requests.take_stop();
        if !stop.is_empty() {
            return Some(Cause::Stop(stop));
        }
        if self.subtasks.wants_final() && now >= self.final_retry.at {
            return Some(Cause::Final);
        }
        if self.crowded() {
            return None;
        }
        if let Some((ticket, kind)) = self.requests.pop() {
            return Some(Cause::Requested(ticket, kind));
        }
        let schedule = self.schedule.as_mut()?;
        let ready = !self.subtasks.all_ended() && schedule.ready(now);
        ready.then(|| {
            schedule.used(now);
            Cause::Periodic
        })
    }

    fn trigger(&mut self, now: Moment, cause: Cause, actions: &mut Vec<Action<A>>) {
        // What a job ends with is to be found in its files, not in flight.
        let timeout = self.config.aligned_timeout().filter(|_| !cause.last());
        let overtakes = timeout.is_some_and(|timeout| timeout.is_zero());
        let plan = match self.subtasks.plan(self.config.after_tasks_finish, overtakes) {
            Ok(plan) => plan,
            Err(failure) => {
                for ticket in cause.tickets() {
                    actions.push(Action::Answer { ticket, result: Err(failure.clone()) });
                }
                return;
            }
        };
        let id = self.next_id;
        self.next_id = id.next();
        let (kind, last) = (cause.kind(), cause.last());
        let barrier = Barrier { id, kind, timestamp: now, close: last, last };
        let deadline = now.saturating_add(self.config.timeout);
        let subtasks = plan.acknowledge.iter().copied().collect();
        actions.push(Action::Note(CheckpointEvent::Triggered { barrier, subtasks }));
        let overtakes_at = timeout.filter(|_| !overtakes).map(|timeout| now.saturating_add(timeout));
        self.pending.push(Pending::new(barrier, deadline, overtakes_at, &plan, cause.tickets()));
        actions.push(Action::Trigger { barrier, subtasks: plan.trigger });
    }
}

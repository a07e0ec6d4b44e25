//! A checkpoint that has been triggered and is not complete yet.

use super::message::{Barrier, SubtaskId, Ticket};
use super::plan::Plan;
use millstream_io::clock::Moment;
use millstream_io::id::CheckpointId;
use std::collections::{BTreeMap, BTreeSet};

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Acknowledgements are missing; only now can it expire.
    Acknowledging,
    /// All are in; waits until an older one has been stored.
    Acknowledged,
    /// The metadata is being published: nothing can stop it, its outcome has to be waited for.
    Storing,
}

#[derive(Clone, Debug)]
pub(super) struct Acked<A> {
    payload: A,
    ended: bool,
}

/// A pending checkpoint.
#[derive(Clone, Debug)]
pub(super) struct Pending<A> {
    pub(super) barrier: Barrier,
    pub(super) deadline: Moment,
    /// From then on its barriers overtake what is in their way (UC-08).
    pub(super) overtakes_at: Option<Moment>,
    pub(super) stage: Stage,
    /// Who asked for it.
    pub(super) tickets: Vec<Ticket>,
    /// Whom to tell how it ended.
    pub(super) notify: Vec<SubtaskId>,
    pub(super) finished: Vec<SubtaskId>,
    /// Who said that it will not complete.
    pub(super) declined_by: Option<SubtaskId>,
    missing: BTreeSet<SubtaskId>,
    direct: BTreeSet<SubtaskId>,
    acks: BTreeMap<SubtaskId, Acked<A>>,
}

impl<A> Pending<A> {
    pub(super) fn new(
        barrier: Barrier,
        deadline: Moment,
        overtakes_at: Option<Moment>,
        plan: &Plan,
        tickets: Vec<Ticket>,
    ) -> Self {
        Self {
            barrier,
            deadline,
            overtakes_at,
            stage: Stage::Acknowledging,
            tickets,
            notify: plan.acknowledge.iter().copied().collect(),
            finished: plan.finished.clone(),
            declined_by: None,
            missing: plan.acknowledge.clone(),
            direct: plan.trigger.iter().copied().collect(),
            acks: BTreeMap::new(),
        }
    }

    pub(super) fn id(&self) -> CheckpointId {
        self.barrier.id
    }

    /// Those whose acknowledgement is missing.
    pub(super) fn missing(&self) -> &BTreeSet<SubtaskId> {
        &self.missing
    }

    /// Takes an acknowledgement, or gives the payload back when it is not one that is waited for.
    pub(super) fn acknowledge(&mut self, subtask: SubtaskId, payload: A, ended: bool) -> Result<(), A> {
        if !self.missing.remove(&subtask) {
            return Err(payload);
        }
        self.acks.insert(subtask, Acked { payload, ended });
        if self.missing.is_empty() {
            self.stage = Stage::Acknowledged;
        }
        Ok(())
    }

    /// Its barriers have not come in time: those that have not acknowledged and have to be triggered directly now.
    pub(super) fn overtake(&mut self) -> Vec<SubtaskId> {
        self.overtakes_at = None;
        let late: Vec<_> = self.missing.difference(&self.direct).copied().collect();
        self.direct.extend(&late);
        late
    }

    /// Whether this subtask has acknowledged already.
    pub(super) fn has(&self, subtask: SubtaskId) -> bool {
        self.acks.contains_key(&subtask)
    }

    /// A subtask has reached its end of data: whether it has to be triggered directly now. True once.
    pub(super) fn trigger_directly(&mut self, subtask: SubtaskId) -> bool {
        self.missing.contains(&subtask) && self.direct.insert(subtask)
    }

    /// Its attempt has ended: its subtasks are gone, and their successors have nothing to do with it.
    pub(super) fn orphan(&mut self) {
        self.notify.clear();
    }

    /// The subtasks whose end this checkpoint holds: those that took their snapshot after it, and all at a stop.
    pub(super) fn covers(&self) -> Vec<SubtaskId> {
        let holds_end = |id: &SubtaskId| self.barrier.last || self.acks.get(id).is_some_and(|ack| ack.ended);
        self.notify.iter().copied().filter(holds_end).collect()
    }

    pub(super) fn payloads(self) -> Vec<A> {
        self.acks.into_values().map(|ack| ack.payload).collect()
    }
}

impl<A: Clone> Pending<A> {
    /// The snapshots, by subtask.
    pub(super) fn snapshots(&self) -> Vec<(SubtaskId, A)> {
        self.acks.iter().map(|(id, ack)| (*id, ack.payload.clone())).collect()
    }
}

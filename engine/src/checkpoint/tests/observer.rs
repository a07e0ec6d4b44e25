//! Watches a coordinator from outside: knows what it was told and what it asked for, and checks that one follows from
//! the other. Shares no code with what it checks.

use crate::checkpoint::{
    Action, Barrier, CheckpointFailure, Input, RequestKind, SubtaskId, TaskInfo, Ticket,
};
use crate::config::Checkpointing;
use millstream_io::clock::Moment;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Watched {
    pub(super) barrier: Barrier,
    pub(super) missing: BTreeSet<SubtaskId>,
    acked: BTreeMap<SubtaskId, (u64, bool)>,
    triggered: BTreeSet<SubtaskId>,
    pub(super) storing: bool,
    orphan: bool,
}

impl Watched {
    /// Whether its barriers overtake what is in their way.
    fn overtakes(&self, now: Moment, config: &Checkpointing) -> bool {
        let timeout = config.unaligned.then_some(config.aligned_checkpoint_timeout);
        timeout.is_some_and(|timeout| !self.barrier.last && now - self.barrier.timestamp >= timeout)
    }
}

/// A subtask of the present attempt.
#[derive(Clone, Debug)]
pub(super) struct Watchee {
    pub(super) info: TaskInfo,
    pub(super) ended: bool,
    covered: bool,
    pub(super) released: bool,
    pub(super) finished: bool,
}

#[derive(Debug, Default)]
pub(super) struct Observer {
    config: Checkpointing,
    pub(super) running: bool,
    started: Moment,
    periodic: u128,
    last_id: u64,
    last_completed: u64,
    in_a_row: u32,
    pause_end: Option<Moment>,
    pub(super) pending: BTreeMap<u64, Watched>,
    pub(super) subtasks: BTreeMap<SubtaskId, Watchee>,
    ended_early: BTreeSet<SubtaskId>,
    queue: VecDeque<Ticket>,
    pub(super) unanswered: BTreeSet<Ticket>,
    stops: BTreeSet<Ticket>,
    answered: u64,
    /// What this step must still discard: the ack that nobody waits for, or what an abort let go of.
    to_discard: BTreeSet<u64>,
    deleting: u32,
    backlog: Backlog,
}

/// Sources that are behind, and what has been triggered by time since the first of them said so.
#[derive(Debug, Default)]
struct Backlog {
    behind: BTreeSet<SubtaskId>,
    since: Moment,
    periodic: u128,
}

impl Backlog {
    fn told(&mut self, now: Moment, subtask: SubtaskId, behind: bool) {
        let before = self.behind.is_empty();
        if behind {
            self.behind.insert(subtask)
        } else {
            self.behind.remove(&subtask)
        };
        if before {
            self.begins(now);
        }
    }

    fn begins(&mut self, now: Moment) {
        (self.since, self.periodic) = (now, 0);
    }

    /// CP-10: with nought there is none; else a tick that was due already or nearer, and those of the longer interval.
    fn triggered(&mut self, now: Moment, interval: Option<Duration>) {
        let Some(interval) = interval.filter(|_| !self.behind.is_empty()) else { return };
        assert!(!interval.is_zero(), "none while a source is behind");
        self.periodic += 1;
        let ticks = (now - self.since).as_nanos() / interval.as_nanos();
        assert!(self.periodic <= ticks + 2, "more than the ticks that were while a source is behind");
    }
}

impl Observer {
    pub(super) fn new(config: &Checkpointing) -> Self {
        Self { config: config.effective(), ..Self::default() }
    }

    /// Before the coordinator is told.
    pub(super) fn told(&mut self, now: Moment, input: &Input<u64>) {
        match input {
            Input::Started { tasks, .. } => {
                let watchee = |info: &TaskInfo| Watchee {
                    info: info.clone(),
                    ended: self.ended_early.contains(&info.subtask),
                    covered: false,
                    released: info.finished,
                    finished: info.finished,
                };
                let subtasks = tasks.iter().map(|info| (info.subtask, watchee(info))).collect();
                let behind = std::mem::take(&mut self.backlog.behind);
                self.attempt_ended();
                self.backlog.behind = behind;
                self.backlog.begins(now);
                self.subtasks = subtasks;
                (self.running, self.started, self.periodic, self.pause_end) = (true, now, 0, None);
            }
            Input::Ack { id, subtask, payload, ended, .. } => self.acked(id.0, *subtask, *payload, *ended),
            Input::EndOfData { subtask } => match self.subtasks.get_mut(subtask) {
                Some(watchee) => watchee.ended = true,
                None => _ = self.ended_early.insert(*subtask),
            },
            Input::Backlog { subtask, behind } => self.backlog.told(now, *subtask, *behind),
            Input::Finished { subtask } => {
                self.subtasks
                    .get_mut(subtask)
                    .into_iter()
                    .for_each(|s| (s.released, s.finished) = (true, true));
            }
            Input::Request { ticket, kind } => {
                self.unanswered.insert(*ticket);
                match kind {
                    RequestKind::Checkpoint { .. } => self.queue.push_back(*ticket),
                    RequestKind::Stop => _ = self.stops.insert(*ticket),
                }
            }
            Input::Stopped => self.attempt_ended(),
            Input::Restored { id } => self.last_id = self.last_id.max(id.0),
            Input::Deleting { waiting } => self.deleting = *waiting,
            _ => {}
        }
    }

    fn attempt_ended(&mut self) {
        self.running = false;
        self.ended_early.clear();
        self.backlog.behind.clear();
        self.subtasks.clear();
        self.pending.values_mut().for_each(|p| p.orphan = true);
    }

    fn acked(&mut self, id: u64, subtask: SubtaskId, payload: u64, ended: bool) {
        match self.pending.get_mut(&id) {
            Some(p) if p.missing.contains(&subtask) => {
                p.missing.remove(&subtask);
                p.acked.insert(subtask, (payload, ended));
            }
            Some(p) if p.acked.contains_key(&subtask) => {}
            _ => _ = self.to_discard.insert(payload),
        }
    }

    /// What the coordinator asks for after having been told.
    pub(super) fn asked(&mut self, now: Moment, input: &Input<u64>, actions: &[Action<u64>]) {
        for action in actions {
            match action {
                Action::Trigger { barrier, subtasks } => self.trigger(now, barrier, subtasks),
                Action::Store { barrier, acks, finished } => self.store(barrier, acks, finished),
                Action::Complete { id, subtasks } => self.complete(now, id.0, subtasks, input),
                Action::Abort { id, failure, .. } => self.abort(id.0, failure, input),
                Action::Discard { payloads, .. } => {
                    for payload in payloads {
                        assert!(self.to_discard.remove(payload), "discards {payload} without a reason");
                    }
                }
                Action::Answer { ticket, .. } => self.answer(*ticket),
                Action::FailJob { reason } => {
                    assert!(self.in_a_row > self.config.tolerable_failed, "fails the job too early");
                    assert!(reason.failure.counts());
                    self.in_a_row = 0;
                    self.attempt_ended();
                }
                Action::Note(_) => {}
                Action::MayFinish { subtasks, commit } => self.may_finish(subtasks, *commit),
            }
        }
        if matches!(input, Input::Tick) {
            self.late_ones_are_triggered(now);
        }
        assert!(self.to_discard.is_empty(), "not discarded: {:?}", self.to_discard);
        assert!(!self.running || self.in_a_row <= self.config.tolerable_failed, "should have failed the job");
    }

    fn trigger(&mut self, now: Moment, barrier: &Barrier, subtasks: &[SubtaskId]) {
        assert!(self.running && self.config.enabled());
        if let Some(pending) = self.pending.get_mut(&barrier.id.0) {
            let again = subtasks.iter().all(|subtask| pending.triggered.insert(*subtask));
            assert!(again && !subtasks.is_empty(), "triggered twice");
            assert!(subtasks.iter().all(|subtask| pending.missing.contains(subtask)));
            let ended = matches!(subtasks, [subtask] if self.subtasks[subtask].ended);
            assert!(ended || pending.overtakes(now, &self.config), "a barrier comes to it in its turn");
            return;
        }
        assert!(barrier.id.0 > self.last_id, "ids must grow");
        self.last_id = barrier.id.0;
        assert!(self.pending.values().all(|p| !p.barrier.last), "beside the last one");
        if barrier.last {
            let all_ended = self.subtasks.values().all(|s| s.ended || s.released);
            assert!(all_ended || !self.stops.is_empty(), "nobody wants the job to end");
        } else {
            assert!(self.pending.len() < self.config.max_concurrent as usize);
            assert!(self.deleting <= self.config.max_concurrent);
            if self.queue.pop_front().is_none() {
                self.periodic_trigger(now);
            }
        }
        let part = self.subtasks.values().filter(|s| !s.released);
        let missing: BTreeSet<SubtaskId> = part.clone().map(|s| s.info.subtask).collect();
        let at_once =
            self.config.unaligned && self.config.aligned_checkpoint_timeout.is_zero() && !barrier.last;
        let direct = part.filter(|s| at_once || s.info.source || s.ended).map(|s| s.info.subtask);
        assert_eq!(subtasks, direct.collect::<Vec<_>>());
        let triggered = subtasks.iter().copied().collect();
        let (acked, storing, orphan) = (BTreeMap::new(), false, false);
        let watched = Watched { barrier: *barrier, missing, acked, triggered, storing, orphan };
        self.pending.insert(barrier.id.0, watched);
    }

    /// UC-08: nobody waits for a barrier to come in its turn when it should have come.
    fn late_ones_are_triggered(&self, now: Moment) {
        let late = self.pending.values().filter(|p| !p.orphan && p.overtakes(now, &self.config));
        for pending in late {
            assert!(pending.missing.is_subset(&pending.triggered), "waits for a barrier that is late");
        }
    }

    fn periodic_trigger(&mut self, now: Moment) {
        let interval = self.config.interval.expect("periodic");
        self.periodic += 1;
        self.backlog.triggered(now, self.config.interval_during_backlog);
        let since = (now - self.started).checked_sub(self.config.min_pause).expect("after the first pause");
        assert!(self.periodic <= since.as_nanos() / interval.as_nanos() + 1, "more than the ticks that were");
        assert!(self.pause_end.is_none_or(|end| now >= end), "within the pause");
    }

    fn store(&mut self, barrier: &Barrier, acks: &[(SubtaskId, u64)], finished: &[SubtaskId]) {
        assert!(self.pending.values().all(|p| !p.storing), "one at a time");
        let pending = self.pending.get_mut(&barrier.id.0).expect("pending");
        assert!(pending.missing.is_empty(), "all have acknowledged");
        let accepted: Vec<_> =
            pending.acked.iter().map(|(subtask, (payload, _))| (*subtask, *payload)).collect();
        assert_eq!(acks, accepted);
        assert!(finished.iter().all(|subtask| !pending.acked.contains_key(subtask)));
        let closed = |subtask: &SubtaskId| self.subtasks.get(subtask).is_none_or(|s| s.finished);
        assert!(
            finished.iter().all(closed),
            "what those commit that it leaves out is in no checkpoint any more"
        );
        pending.storing = true;
    }

    fn complete(&mut self, now: Moment, id: u64, subtasks: &[SubtaskId], input: &Input<u64>) {
        assert!(matches!(input, Input::Stored { id: stored } if stored.0 == id), "only what has been stored");
        let pending = self.pending.remove(&id).expect("never after an abort, never twice");
        assert!(pending.storing && id > self.last_completed);
        assert!(self.pending.keys().all(|older| *older > id), "older ones are subsumed first");
        self.last_completed = id;
        self.in_a_row = 0;
        if self.running {
            self.pause_end = Some(now.saturating_add(self.config.min_pause));
        }
        if pending.orphan {
            assert!(subtasks.is_empty());
            return;
        }
        for (subtask, (_, ended)) in &pending.acked {
            let watchee = self.subtasks.get_mut(subtask).expect("of this attempt");
            watchee.covered |= *ended || pending.barrier.last;
            assert_eq!(subtasks.contains(subtask), !watchee.finished, "those that are there are told");
        }
    }

    fn abort(&mut self, id: u64, failure: &CheckpointFailure, input: &Input<u64>) {
        let pending = self.pending.remove(&id).expect("never after its end");
        let store_failed = matches!(input, Input::StoreFailed { id: failed, .. } if failed.0 == id);
        assert_eq!(pending.storing, store_failed, "what is being stored cannot be aborted");
        if matches!(failure, CheckpointFailure::Expired { .. }) {
            assert!(!pending.missing.is_empty());
        }
        self.to_discard.extend(pending.acked.values().map(|(payload, _)| payload));
        if self.running && failure.counts() && id > self.last_completed {
            self.in_a_row += 1;
        }
    }

    fn answer(&mut self, ticket: Ticket) {
        assert!(self.unanswered.remove(&ticket), "answered twice");
        self.answered += 1;
        self.stops.remove(&ticket);
        self.queue.retain(|waiting| *waiting != ticket);
    }

    fn may_finish(&mut self, subtasks: &[SubtaskId], commit: bool) {
        assert_eq!(commit, !self.config.enabled());
        for subtask in subtasks {
            let watchee = &self.subtasks[subtask];
            assert!(!watchee.released, "released twice");
            assert!(if commit { watchee.ended } else { watchee.covered });
            assert!(self.pending.values().all(|p| !p.missing.contains(subtask)), "still awaited");
        }
        for subtask in subtasks {
            self.subtasks.get_mut(subtask).expect("known").released = true;
        }
        let of = |s: &Watchee| subtasks.contains(&s.info.subtask).then_some(s.info.task);
        let tasks: BTreeSet<u32> = self.subtasks.values().filter_map(of).collect();
        assert!(self.subtasks.values().all(|s| s.released || !tasks.contains(&s.info.task)), "together");
    }

    /// How long a checkpoint of this job may take.
    pub(super) fn timeout(&self) -> Duration {
        self.config.timeout
    }
}

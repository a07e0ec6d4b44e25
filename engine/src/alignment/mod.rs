//! Which barriers a subtask has seen, when it takes its snapshot, and which channels wait meanwhile: BR-03 as a pure
//! table.
//!
//! The gate feeds the [`Aligner`] the events of each channel in the channel's order: an event that stands behind data
//! which is held back is fed when that data has been replayed, so that a held channel is never heard of. It then does
//! what the [`Alignment`] says, in the order of its fields.
//!
//! Invariants:
//! - a held channel has delivered exactly the barrier of the alignment that is going on, and nothing behind it;
//! - each id is begun at most once, and ends at most once: in a snapshot or in an abort;
//! - what overtakes is never a barrier of an [excluded](Aligner::never_overtaken) channel: its data is in the snapshot;
//! - a channel that something is fed back on is never waited for, or the barrier that is to come on it would wait for
//!   itself; it is overtaken, and the next checkpoint waits until the barrier has come round;
//! - ids that end come in ascending order (exactly-once), and an id at or below one seen is never begun.

mod announced;
mod in_flight;
mod rounds;
#[cfg(test)]
mod tests;

use crate::checkpoint::{Barrier, CheckpointFailure};
use crate::config::CheckpointMode;
use announced::Announced;
pub use in_flight::{InFlight, Reached};
use millstream_io::id::CheckpointId;
pub use rounds::{Outside, Round, Rounds, Turned};
use std::collections::VecDeque;

/// A checkpoint that this subtask takes no part in (any more).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aborted {
    /// The checkpoint; its cancel marker goes to all outputs.
    pub id: CheckpointId,
    /// What to decline it with; none where the coordinator has aborted it itself.
    pub decline: Option<CheckpointFailure>,
}

/// What an event means for the gate, to be done in the order of the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Alignment {
    /// Release what was held for these, send their cancel markers downstream, decline.
    pub aborted: Vec<Aborted>,
    /// The first barrier of this checkpoint has arrived: the alignment time counts from now.
    pub begun: Option<CheckpointId>,
    /// All that had to arrive have: take the snapshot now, send the barrier on, release what was held.
    pub complete: Option<Barrier>,
    /// The channels whose barrier has not arrived then: it overtakes what they bring before it, which belongs to the
    /// checkpoint as it is ([`InFlight`], UC-02). Ascending.
    pub overtaken: Vec<usize>,
}

impl Alignment {
    /// Whether there is nothing to do but to go on (a late barrier, say: BR-07).
    pub fn is_nothing(&self) -> bool {
        self.aborted.is_empty() && self.begun.is_none() && self.complete.is_none()
    }
}

/// A checkpoint of which some barriers have arrived and some have not.
#[derive(Clone, Debug)]
struct Aligning {
    barrier: Barrier,
    arrived: Vec<bool>,
    /// The coordinator has said that it need not wait for the barriers of channels that may be overtaken.
    overtakes: bool,
}

/// The barrier state of one subtask, for one attempt.
#[derive(Clone, Debug)]
pub struct Aligner {
    mode: CheckpointMode,
    after_tasks_finish: bool,
    /// Channels that have not ended.
    open: Vec<bool>,
    /// Channels whose barrier has to be waited for in any case.
    excluded: Vec<bool>,
    /// Channels that something is fed back on.
    feedback: Vec<bool>,
    /// The checkpoint whose barrier is going round.
    going_round: Option<CheckpointId>,
    /// Triggers that have come while another checkpoint is to be done with first.
    triggers: VecDeque<Barrier>,
    /// Those going on, in order of ids; at most one in exactly-once mode.
    aligning: VecDeque<Aligning>,
    /// The highest id begun, cancelled or aborted here.
    seen: Option<CheckpointId>,
    announced: Announced,
}

impl Aligner {
    /// How many checkpoints may be going on at once in at-least-once mode (CP-22).
    pub const MOST_AT_ONCE: usize = 50;

    /// A subtask with so many input channels (a source has none). `after_tasks_finish` says whether a channel that
    /// ends counts as having delivered its barrier (BR-10, CP-28); otherwise its end aborts what is going on.
    pub fn new(channels: usize, mode: CheckpointMode, after_tasks_finish: bool) -> Self {
        Self {
            mode,
            after_tasks_finish,
            open: vec![true; channels],
            excluded: vec![false; channels],
            feedback: vec![false; channels],
            going_round: None,
            triggers: VecDeque::new(),
            aligning: VecDeque::new(),
            seen: None,
            announced: Announced::default(),
        }
    }

    /// What this channel brings before a barrier is never overtaken from now on (UC-07).
    pub fn never_overtaken(&mut self, channel: usize) {
        self.excluded[channel] = true;
    }

    /// What this channel brings is fed back: its barriers are those of this subtask, come round.
    pub fn feeds_back(&mut self, channel: usize) {
        self.feedback[channel] = true;
    }

    /// Nothing that is fed back belongs to this checkpoint any more: its barrier has come round, or it was given up.
    pub fn came_round(&mut self, id: CheckpointId) -> Alignment {
        let mut out = Alignment::default();
        if self.going_round.take_if(|going| *going == id).is_some() {
            self.complete(&mut out);
        }
        out
    }

    /// The next trigger that has waited for the checkpoint before, if it need not wait any more.
    pub fn next_trigger(&mut self) -> Option<Alignment> {
        let waits = self.triggers_wait();
        let barrier = self.triggers.pop_front_if(|_| !waits)?;
        Some(self.trigger(barrier))
    }

    /// Whether a trigger has to wait, as what stands behind a barrier does in a held channel: only to the head of a loop come
    /// several.
    fn triggers_wait(&self) -> bool {
        let held = self.mode == CheckpointMode::ExactlyOnce && !self.aligning.is_empty();
        self.going_round.is_some() || held && self.feedback.contains(&true)
    }

    /// Whether the channel's data has to be held back now.
    pub fn is_held(&self, channel: usize) -> bool {
        self.mode == CheckpointMode::ExactlyOnce && self.aligning.front().is_some_and(|a| a.arrived[channel])
    }

    /// The oldest checkpoint whose barriers are being waited for.
    pub fn aligning(&self) -> Option<CheckpointId> {
        self.aligning.front().map(|a| a.barrier.id)
    }

    /// A barrier has arrived on a channel.
    pub fn barrier(&mut self, channel: usize, barrier: Barrier) -> Alignment {
        let mut out = Alignment::default();
        self.arrived(Some(channel), barrier, false, &mut out);
        out
    }

    /// The coordinator has triggered this subtask directly: all its channels have ended, or the barriers of those that have
    /// not need not be waited for (UC-02), or no longer (UC-08).
    pub fn trigger(&mut self, barrier: Barrier) -> Alignment {
        let mut out = Alignment::default();
        if self.triggers_wait() && self.seen < Some(barrier.id) {
            self.triggers.push_back(barrier);
        } else {
            self.arrived(None, barrier, self.mode == CheckpointMode::ExactlyOnce, &mut out);
        }
        out
    }

    fn arrived(&mut self, channel: Option<usize>, barrier: Barrier, overtakes: bool, out: &mut Alignment) {
        if self.seen < Some(barrier.id) {
            self.begin(barrier, out);
        }
        if let Some(going_on) = self.aligning.iter_mut().find(|a| a.barrier.id == barrier.id) {
            if let Some(channel) = channel {
                going_on.arrived[channel] = true;
            }
            going_on.overtakes |= overtakes;
            self.complete(out);
        }
    }

    /// The upstream of a channel will not send this checkpoint's barrier.
    pub fn cancel(&mut self, _channel: usize, id: CheckpointId) -> Alignment {
        let mut out = Alignment::default();
        if self.seen < Some(id) {
            self.see(id, &mut out);
            let told = self.announced.take(id);
            let decline = (!told).then_some(CheckpointFailure::CancelMarker);
            out.aborted.push(Aborted { id, decline });
        } else {
            self.drop_one(id, Some(CheckpointFailure::CancelMarker), &mut out);
        }
        out
    }

    /// A channel has ended: nothing more comes from it.
    pub fn end(&mut self, channel: usize) -> Alignment {
        let mut out = Alignment::default();
        self.open[channel] = false;
        if !self.after_tasks_finish {
            self.drop_while(|_| true, CheckpointFailure::InputEnded, &mut out);
        }
        self.complete(&mut out);
        out
    }

    /// The coordinator has aborted a checkpoint (CP-16). One of which nothing was seen yet is remembered: when its
    /// barrier comes there is no snapshot, and its cancel marker goes downstream.
    pub fn abort(&mut self, id: CheckpointId) -> Alignment {
        let mut out = Alignment::default();
        if self.seen < Some(id) {
            self.announced.add(id);
        } else {
            self.drop_one(id, None, &mut out);
        }
        out
    }

    /// No more can be held back (D6, ruling 9).
    pub fn give_up(&mut self, why: CheckpointFailure) -> Alignment {
        let mut out = Alignment::default();
        if self.mode == CheckpointMode::ExactlyOnce {
            self.drop_while(|_| true, why, &mut out);
        }
        out
    }

    /// The first sight of a new checkpoint.
    fn begin(&mut self, barrier: Barrier, out: &mut Alignment) {
        self.see(barrier.id, out);
        if self.announced.take(barrier.id) {
            out.aborted.push(Aborted { id: barrier.id, decline: None });
            return;
        }
        if self.aligning.len() == Self::MOST_AT_ONCE {
            let oldest = self.aligning[0].barrier.id;
            self.drop_while(|id| id == oldest, CheckpointFailure::NewerBarrier { newer: barrier.id }, out);
        }
        let arrived = vec![false; self.open.len()];
        self.aligning.push_back(Aligning { barrier, arrived, overtakes: false });
        out.begun = Some(barrier.id);
    }

    /// A newer id ends the alignment of an older one: where channels wait, its barrier can only be lost (BR-06).
    fn see(&mut self, id: CheckpointId, out: &mut Alignment) {
        self.seen = Some(id);
        if self.mode == CheckpointMode::ExactlyOnce {
            self.drop_while(|_| true, CheckpointFailure::NewerBarrier { newer: id }, out);
        }
    }

    /// Completes the newest that has all barriers that have to be waited for, and drops those older than it.
    fn complete(&mut self, out: &mut Alignment) {
        if self.going_round.is_some() {
            return;
        }
        let missing = |a: &Aligning, channel: &usize| self.open[*channel] && !a.arrived[*channel];
        let may_wait = |a: &Aligning, channel: &usize| !a.overtakes && !self.feedback[*channel];
        let waits = |a: &Aligning, channel: &usize| {
            missing(a, channel) && (may_wait(a, channel) || self.excluded[*channel])
        };
        let channels = 0..self.open.len();
        let all = |a: &Aligning| !channels.clone().any(|channel| waits(a, &channel));
        let Some(at) = self.aligning.iter().rposition(all) else { return };
        out.overtaken = channels.clone().filter(|channel| missing(&self.aligning[at], channel)).collect();
        let id = self.aligning[at].barrier.id;
        self.going_round = out.overtaken.iter().any(|channel| self.feedback[*channel]).then_some(id);
        self.drop_while(|older| older < id, CheckpointFailure::NewerBarrier { newer: id }, out);
        out.complete = self.aligning.pop_front().map(|a| a.barrier);
    }

    fn drop_while(
        &mut self,
        which: impl Fn(CheckpointId) -> bool,
        failure: CheckpointFailure,
        out: &mut Alignment,
    ) {
        while let Some(first) = self.aligning.pop_front_if(|a| which(a.barrier.id)) {
            out.aborted.push(Aborted { id: first.barrier.id, decline: Some(failure.clone()) });
        }
    }

    fn drop_one(&mut self, id: CheckpointId, decline: Option<CheckpointFailure>, out: &mut Alignment) {
        if let Some(at) = self.aligning.iter().position(|a| a.barrier.id == id) {
            self.aligning.remove(at);
            out.aborted.push(Aborted { id, decline });
        }
    }
}

//! What is in flight when a barrier overtakes it: from the snapshot on, all that a channel brings before its own barrier
//! (UC-02, UC-03). Pure.
//!
//! The subtask takes items off its channels ahead of their turn and feeds them here in the channel's order, at first those
//! that stood aside. A record of a channel that is [waited for](InFlight::is_waiting) belongs to the checkpoint, and is
//! processed in its turn all the same.
//!
//! Invariant: a channel is waited for until its barrier or its end, and each record before that is fed once.

use crate::checkpoint::CheckpointFailure;
use crate::exchange::Event;
use millstream_io::id::CheckpointId;

/// What an event of a channel means for what is in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Reached {
    /// Nothing.
    Nothing,
    /// The channel's barrier, or its end: nothing more of it belongs to the checkpoint.
    Barrier,
    /// The same, and it was the last channel: the snapshot is complete.
    All,
    /// The channel's barrier will not come.
    Never(CheckpointFailure),
}

/// The channels of one subtask that a barrier has overtaken.
#[derive(Clone, Debug)]
pub struct InFlight {
    id: CheckpointId,
    after_tasks_finish: bool,
    waiting: Vec<bool>,
}

impl InFlight {
    /// The barrier of checkpoint `id` has overtaken these of so many channels. `after_tasks_finish` is as for the
    /// [`Aligner`](super::Aligner).
    pub fn new(id: CheckpointId, channels: usize, overtaken: &[usize], after_tasks_finish: bool) -> Self {
        let mut waiting = vec![false; channels];
        overtaken.iter().for_each(|channel| waiting[*channel] = true);
        Self { id, after_tasks_finish, waiting }
    }

    /// The checkpoint.
    pub fn id(&self) -> CheckpointId {
        self.id
    }

    /// Whether what the channel brings next belongs to the checkpoint.
    pub fn is_waiting(&self, channel: usize) -> bool {
        self.waiting[channel]
    }

    /// The next event of a channel that is waited for.
    pub fn event(&mut self, channel: usize, event: Event) -> Reached {
        match event {
            Event::Round(_) => Reached::Nothing,
            // Of a checkpoint that has been given up.
            Event::Barrier(barrier) if barrier.id < self.id => Reached::Nothing,
            Event::Cancel(id) if id < self.id => Reached::Nothing,
            Event::Barrier(barrier) if barrier.id > self.id => {
                Reached::Never(CheckpointFailure::NewerBarrier { newer: barrier.id })
            }
            Event::Cancel(_) => Reached::Never(CheckpointFailure::CancelMarker),
            Event::End if !self.after_tasks_finish => Reached::Never(CheckpointFailure::InputEnded),
            Event::Barrier(_) | Event::End | Event::Close => {
                self.waiting[channel] = false;
                if self.waiting.contains(&true) { Reached::Barrier } else { Reached::All }
            }
        }
    }
}

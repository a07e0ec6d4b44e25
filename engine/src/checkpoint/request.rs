//! What users have asked for and what waits its turn (CP-07).

use super::message::{CheckpointKind, Ticket};
use std::collections::VecDeque;

/// Requests in order of age; a stop goes before all others.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    stop: Vec<Ticket>,
    checkpoints: VecDeque<(Ticket, CheckpointKind)>,
}

impl Requests {
    /// How many may wait.
    pub(super) const LIMIT: usize = 1000;

    fn full(&self) -> bool {
        self.stop.len() + self.checkpoints.len() >= Self::LIMIT
    }

    /// Takes a request for a checkpoint, unless too many wait already.
    pub(super) fn push(&mut self, ticket: Ticket, kind: CheckpointKind) -> bool {
        let room = !self.full();
        if room {
            self.checkpoints.push_back((ticket, kind));
        }
        room
    }

    /// Takes a request to stop, unless too many wait already.
    pub(super) fn push_stop(&mut self, ticket: Ticket) -> bool {
        let room = !self.full();
        if room {
            self.stop.push(ticket);
        }
        room
    }

    /// All requests to stop: one checkpoint serves them all.
    pub(super) fn take_stop(&mut self) -> Vec<Ticket> {
        std::mem::take(&mut self.stop)
    }

    /// The oldest request for a checkpoint.
    pub(super) fn pop(&mut self) -> Option<(Ticket, CheckpointKind)> {
        self.checkpoints.pop_front()
    }

    /// Everything that waits.
    pub(super) fn drain(&mut self) -> Vec<Ticket> {
        let mut tickets = self.take_stop();
        tickets.extend(self.checkpoints.drain(..).map(|(ticket, _)| ticket));
        tickets
    }
}

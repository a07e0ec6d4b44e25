//! Barriers that have come and wait for the drain before them (ruling 13). Nothing overtakes them, not even that a later one
//! will not come. Pure.

use crate::checkpoint::{AckMetrics, Barrier};
use millstream_io::clock::Moment;
use millstream_io::id::CheckpointId;
use std::collections::VecDeque;

/// What goes onward, in its order.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// A barrier, what was measured of it, and when it came.
    Barrier(Barrier, AckMetrics, Moment),
    /// There will be no barrier of this checkpoint.
    Cancel(CheckpointId),
}

/// See the module page.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The newest barrier that has come.
    newest: Option<CheckpointId>,
    queue: VecDeque<Next>,
}

impl Held {
    /// A barrier has come. Returns whether it is to pass: the coordinator may trigger twice, and nothing follows a last one.
    pub fn arrive(&mut self, barrier: Barrier, metrics: AckMetrics, now: Moment) -> bool {
        let is_last = |next: &Next| matches!(next, Next::Barrier(barrier, ..) if barrier.last);
        let new = self.newest.is_none_or(|newest| barrier.id > newest) && !self.queue.iter().any(is_last);
        if new {
            self.newest = Some(barrier.id);
            self.queue.push_back(Next::Barrier(barrier, metrics, now));
        }
        new
    }

    /// There will be no barrier of this checkpoint.
    pub fn cancel(&mut self, id: CheckpointId) {
        self.queue.push_back(Next::Cancel(id));
    }

    /// The checkpoint was aborted. If its barrier waits here it does not pass, and who waits for it is told.
    pub fn abort(&mut self, id: CheckpointId) {
        let of_it = |next: &Next| matches!(next, Next::Barrier(barrier, ..) if barrier.id == id);
        self.queue.iter_mut().filter(|next| of_it(next)).for_each(|next| *next = Next::Cancel(id));
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// What goes onward next; a barrier only where none has to `wait`.
    pub fn next(&mut self, wait: bool) -> Option<Next> {
        self.queue.pop_front_if(|next| !wait || matches!(next, Next::Cancel(_)))
    }

    /// Whether a barrier is the next to go.
    pub fn is_barrier(&self) -> bool {
        matches!(self.queue.front(), Some(Next::Barrier(..)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::CheckpointKind;

    fn barrier(id: u64) -> Barrier {
        let kind = CheckpointKind::Checkpoint;
        Barrier { id: CheckpointId(id), kind, timestamp: Moment::ZERO, close: false, last: false }
    }

    fn arrive(held: &mut Held, id: u64) -> bool {
        held.arrive(barrier(id), AckMetrics::default(), Moment::ZERO)
    }

    #[test]
    fn ruling_13_barriers_wait_in_their_order_and_nothing_overtakes_them() {
        let mut held = Held::default();
        assert!(arrive(&mut held, 5) && arrive(&mut held, 6) && !arrive(&mut held, 6));
        held.cancel(CheckpointId(7));
        assert_eq!(held.next(true), None);
        held.abort(CheckpointId(6));
        assert_eq!(held.next(false), Some(Next::Barrier(barrier(5), AckMetrics::default(), Moment::ZERO)));
        assert_eq!(held.next(true), Some(Next::Cancel(CheckpointId(6))), "that one does not wait");
        assert_eq!(held.next(true), Some(Next::Cancel(CheckpointId(7))));
        assert!(held.is_empty() && !arrive(&mut held, 5), "long passed");
        let last = Barrier { last: true, ..barrier(8) };
        assert!(held.arrive(last, AckMetrics::default(), Moment::ZERO) && !arrive(&mut held, 9));
    }
}

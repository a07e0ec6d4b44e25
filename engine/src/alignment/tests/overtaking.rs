//! UC-02 and UC-03 over random interleavings: the cut with what is in flight.
//!
//! The world is as in the model of alignment, and besides the coordinator triggers the subtask at any time, and it looks at
//! what channels bring ahead of its turn. Whatever order things happen in, of each channel the records that had been taken
//! when the snapshot was, and those in flight, are together the ones before its barrier: none twice, none left out.

use super::model::{Item, cases, channel};
use super::rows::barrier;
use crate::alignment::{Aligner, Alignment, InFlight, Reached};
use crate::config::CheckpointMode::ExactlyOnce;
use crate::exchange::Event;
use millstream_io::id::CheckpointId;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Turn {
    /// The next item of a channel is taken.
    Take(usize),
    /// A channel's next item is looked at.
    Look(usize),
    /// The coordinator gives up what is pending, and triggers the next one.
    Trigger,
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        20 => any::<usize>().prop_map(Turn::Take),
        10 => any::<usize>().prop_map(Turn::Look),
        2 => Just(Turn::Trigger),
    ]
}

/// A snapshot: how many records of each channel had been taken, and which are in flight.
#[derive(Debug)]
struct Cut {
    taken: Vec<usize>,
    in_flight: Vec<Vec<usize>>,
}

struct World {
    channels: Vec<Vec<Item>>,
    excluded: Vec<bool>,
    /// How many items of each channel were taken, and looked at.
    at: Vec<usize>,
    seen: Vec<usize>,
    aligner: Aligner,
    /// The highest id that was triggered or met.
    newest: u64,
    collecting: Option<(InFlight, Cut)>,
    complete: Vec<(u64, Cut)>,
}

impl World {
    fn new(channels: Vec<Vec<Item>>, excluded: &[bool]) -> Self {
        let n = channels.len();
        let mut aligner = Aligner::new(n, ExactlyOnce, true);
        let excluded: Vec<bool> = (0..n).map(|c| excluded[c % excluded.len()]).collect();
        (0..n).filter(|c| excluded[*c]).for_each(|c| aligner.never_overtaken(c));
        let (at, seen) = (vec![0; n], vec![0; n]);
        Self { channels, excluded, at, seen, aligner, newest: 0, collecting: None, complete: Vec::new() }
    }

    fn records(&self, c: usize, upto: usize) -> usize {
        self.channels[c][..upto].iter().filter(|item| **item == Item::Record).count()
    }

    fn follow(&mut self, out: Alignment) {
        let Some(barrier) = out.complete else { return };
        let n = self.channels.len();
        let taken = (0..n).map(|c| self.records(c, self.at[c])).collect();
        let cut = Cut { taken, in_flight: vec![Vec::new(); n] };
        assert!(out.overtaken.iter().all(|c| !self.excluded[*c]));
        if out.overtaken.is_empty() {
            self.complete.push((barrier.id.0, cut));
            return;
        }
        self.collecting = Some((InFlight::new(barrier.id, n, &out.overtaken, true), cut));
        // What was looked at for an older one stands aside.
        for c in 0..n {
            for item in self.at[c]..self.seen[c] {
                self.meet(c, item);
            }
        }
    }

    fn is_waiting(&self, c: usize) -> bool {
        self.collecting.as_ref().is_some_and(|(state, _)| state.is_waiting(c))
    }

    /// Feeds an item of a channel that is waited for.
    fn meet(&mut self, c: usize, index: usize) {
        if !self.is_waiting(c) {
            return;
        }
        let number = self.records(c, index);
        let Some((state, cut)) = &mut self.collecting else { return };
        let reached = match self.channels[c][index] {
            Item::Record => {
                cut.in_flight[c].push(number);
                return;
            }
            Item::Barrier(n) => state.event(c, Event::Barrier(barrier(n))),
            Item::Cancel(n) => state.event(c, Event::Cancel(CheckpointId(n))),
            Item::End => state.event(c, Event::End),
        };
        match reached {
            Reached::Nothing | Reached::Barrier => {}
            Reached::All => {
                let (state, cut) = self.collecting.take().unwrap();
                self.complete.push((state.id().0, cut));
            }
            Reached::Never(_) => self.collecting = None,
        }
    }

    fn take(&mut self, c: usize) {
        let at = self.at[c];
        let may_be = if self.is_waiting(c) { self.seen[c] } else { self.channels[c].len() };
        if self.aligner.is_held(c) || at >= may_be {
            return;
        }
        self.at[c] += 1;
        self.seen[c] = self.seen[c].max(at + 1);
        let out = match self.channels[c][at] {
            Item::Record => return,
            Item::Barrier(n) => {
                self.newest = self.newest.max(n);
                self.aligner.barrier(c, barrier(n))
            }
            Item::Cancel(n) => self.aligner.cancel(c, CheckpointId(n)),
            Item::End => self.aligner.end(c),
        };
        self.follow(out);
    }

    fn look(&mut self, c: usize) {
        if self.is_waiting(c) && self.seen[c] < self.channels[c].len() {
            self.seen[c] += 1;
            self.meet(c, self.seen[c] - 1);
        }
    }

    /// One checkpoint at a time: triggered is the one whose barriers are on their way, or the next.
    fn trigger(&mut self) {
        let switched = self.aligner.aligning().map(|id| id.0);
        if switched.is_none() {
            if let Some((state, _)) = self.collecting.take() {
                let _ = self.aligner.abort(state.id());
            }
            self.newest += 1;
        }
        let out = self.aligner.trigger(barrier(switched.unwrap_or(self.newest)));
        self.follow(out);
    }

    /// Records before the barrier, or before the end where the channel ended without it.
    fn before(&self, c: usize, id: u64) -> usize {
        let items = &self.channels[c];
        let at = items.iter().position(|item| *item == Item::Barrier(id)).unwrap_or(items.len());
        self.records(c, at)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn uc_03_what_was_taken_and_what_is_in_flight_is_what_stood_before_the_barriers(
        channels in prop::collection::vec(channel(), 1..5),
        excluded in prop::collection::vec(prop::bool::weighted(0.2), 1..5),
        turns in prop::collection::vec(turn(), 0..250),
    ) {
        let n = channels.len();
        let mut world = World::new(channels, &excluded);
        let tail = (0..n * 60).flat_map(|c| [Turn::Look(c), Turn::Take(c)]);
        for turn in turns.into_iter().chain(tail) {
            match turn {
                Turn::Take(pick) => world.take(pick % n),
                Turn::Look(pick) => world.look(pick % n),
                Turn::Trigger => world.trigger(),
            }
        }
        for (id, cut) in &world.complete {
            for c in 0..n {
                let of_it: Vec<usize> = (0..cut.taken[c]).chain(cut.in_flight[c].iter().copied()).collect();
                prop_assert_eq!(of_it, (0..world.before(c, *id)).collect::<Vec<_>>(), "channel {} at {}", c, id);
            }
        }
        prop_assert!(world.complete.is_sorted_by(|a, b| a.0 < b.0), "each once, in order");
    }
}

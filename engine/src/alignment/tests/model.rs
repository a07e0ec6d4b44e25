//! BR-03, BR-07, BR-10 and D6 over random interleavings.
//!
//! The world is a subtask with 1 to 5 channels and the gate before it. Each channel carries records, barriers, cancel
//! markers and its end; held channels are set aside in order and replayed. Beside the aligner runs the table as it
//! stands in the rules, written again in the plainest form; and the records that were taken before each snapshot are
//! compared with those that stood before its barriers.

use super::rows::barrier;
use crate::alignment::{Aligner, Alignment};
use crate::checkpoint::CheckpointFailure;
use crate::config::CheckpointMode::{self, AtLeastOnce, ExactlyOnce};
use millstream_io::id::CheckpointId;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Record,
    Barrier(u64),
    Cancel(u64),
    End,
}

/// What a channel carries: for each id a few records, then the barrier, sometimes its cancel marker instead,
/// sometimes neither; at last the end, sometimes.
pub(super) fn channel() -> impl Strategy<Value = Vec<Item>> {
    let part = (0usize..3, prop::sample::select(vec![0, 0, 0, 0, 0, 0, 1, 2]));
    (prop::collection::vec(part, 0..8), any::<bool>()).prop_map(|(parts, ends)| {
        let mut items = Vec::new();
        for (n, (records, what)) in parts.into_iter().enumerate() {
            items.extend(std::iter::repeat_n(Item::Record, records));
            match what {
                0 => items.push(Item::Barrier(n as u64 + 1)),
                1 => items.push(Item::Cancel(n as u64 + 1)),
                _ => {}
            }
        }
        items.push(Item::Record);
        items.extend(ends.then_some(Item::End));
        items
    })
}

/// What the schedule does next.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Channel(usize),
    Abort(u64),
    Overflow,
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        40 => any::<usize>().prop_map(Turn::Channel),
        1 => (1u64..9).prop_map(Turn::Abort),
        1 => Just(Turn::Overflow),
    ]
}

/// What the table says, in its own words.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    /// Cancel markers sent on, in order; whether with a decline.
    cancelled: Vec<(u64, bool)>,
    snapshot: Option<u64>,
}

impl From<Alignment> for Said {
    fn from(out: Alignment) -> Self {
        let cancelled = out.aborted.iter().map(|a| (a.id.0, a.decline.is_some())).collect();
        Self { cancelled, snapshot: out.complete.map(|barrier| barrier.id.0) }
    }
}

/// The table, exactly-once.
struct Table {
    cur: u64,
    pending: bool,
    got: BTreeSet<usize>,
    open: BTreeSet<usize>,
    told: BTreeSet<u64>,
}

impl Table {
    fn new(channels: usize) -> Self {
        let open = (0..channels).collect();
        Self { cur: 0, pending: false, got: BTreeSet::new(), open, told: BTreeSet::new() }
    }

    fn drop_cur(&mut self, decline: bool, said: &mut Said) {
        if std::mem::take(&mut self.pending) {
            said.cancelled.push((self.cur, decline));
        }
    }

    fn finish_if_all(&mut self, said: &mut Said) {
        if self.pending && self.open.is_subset(&self.got) {
            self.pending = false;
            said.snapshot = Some(self.cur);
        }
    }

    fn barrier(&mut self, c: usize, n: u64) -> Said {
        let mut said = Said::default();
        if n < self.cur || (n == self.cur && !self.pending) {
            return said;
        }
        if n > self.cur {
            self.drop_cur(true, &mut said);
            self.cur = n;
            if self.told.contains(&n) {
                said.cancelled.push((n, false));
                return said;
            }
            self.pending = true;
            self.got.clear();
        }
        self.got.insert(c);
        self.finish_if_all(&mut said);
        said
    }

    fn cancel(&mut self, n: u64) -> Said {
        let mut said = Said::default();
        if n > self.cur {
            self.drop_cur(true, &mut said);
            self.cur = n;
            said.cancelled.push((n, !self.told.contains(&n)));
        } else if n == self.cur {
            self.drop_cur(true, &mut said);
        }
        said
    }

    fn end(&mut self, c: usize) -> Said {
        let mut said = Said::default();
        self.open.remove(&c);
        self.finish_if_all(&mut said);
        said
    }

    fn abort(&mut self, n: u64) -> Said {
        let mut said = Said::default();
        if n == self.cur {
            self.drop_cur(false, &mut said);
        } else if n > self.cur {
            self.told.insert(n);
        }
        said
    }

    fn overflow(&mut self) -> Said {
        let mut said = Said::default();
        self.drop_cur(true, &mut said);
        said
    }

    fn held(&self, c: usize) -> bool {
        self.pending && self.got.contains(&c)
    }
}

/// The gate: takes the next item of a channel that is not held. What a held channel carries stays in order, which is
/// all that setting it aside and replaying it comes to.
struct World {
    channels: Vec<Vec<Item>>,
    at: Vec<usize>,
    taken: Vec<usize>,
    aligner: Aligner,
    snapshots: Vec<(u64, Vec<usize>)>,
    ended_ids: BTreeMap<u64, usize>,
}

impl World {
    fn new(channels: Vec<Vec<Item>>, mode: CheckpointMode) -> Self {
        let n = channels.len();
        let aligner = Aligner::new(n, mode, true);
        let (at, taken) = (vec![0; n], vec![0; n]);
        Self { channels, at, taken, aligner, snapshots: Vec::new(), ended_ids: BTreeMap::new() }
    }

    fn done(&self, c: usize) -> bool {
        self.at[c] == self.channels[c].len()
    }

    fn take(&mut self, c: usize) -> (Item, Said) {
        let item = self.channels[c][self.at[c]];
        self.at[c] += 1;
        let out = match item {
            Item::Record => {
                self.taken[c] += 1;
                Alignment::default()
            }
            Item::Barrier(n) => self.aligner.barrier(c, barrier(n)),
            Item::Cancel(n) => self.aligner.cancel(c, CheckpointId(n)),
            Item::End => self.aligner.end(c),
        };
        (item, self.note(out))
    }

    fn note(&mut self, out: Alignment) -> Said {
        let said = Said::from(out);
        if let Some(id) = said.snapshot {
            self.snapshots.push((id, self.taken.clone()));
        }
        for id in said.cancelled.iter().map(|(id, _)| *id).chain(said.snapshot) {
            *self.ended_ids.entry(id).or_default() += 1;
        }
        said
    }

    /// Records before the barrier, or before the end where the channel ended without it.
    fn before(&self, c: usize, id: u64) -> usize {
        let items = &self.channels[c];
        let at = items.iter().position(|item| *item == Item::Barrier(id)).unwrap_or(items.len());
        items[..at].iter().filter(|item| **item == Item::Record).count()
    }
}

pub(super) fn cases() -> u32 {
    std::env::var("MILLSTREAM_ALIGNER_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(2000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn br_03_the_aligner_is_the_table(
        channels in prop::collection::vec(channel(), 1..6),
        turns in prop::collection::vec(turn(), 0..200),
    ) {
        let n = channels.len();
        let mut world = World::new(channels, ExactlyOnce);
        let mut table = Table::new(n);
        // After the random turns every channel is taken in its turn until nothing more can be.
        let tail = (0..n * 60).map(Turn::Channel);
        for turn in turns.into_iter().chain(tail) {
            let (found, expected) = match turn {
                Turn::Channel(pick) => {
                    let ready = |c: &usize| !world.aligner.is_held(*c) && !world.done(*c);
                    let Some(c) = (0..n).map(|i| (pick + i) % n).find(ready) else { continue };
                    let (item, found) = world.take(c);
                    let expected = match item {
                        Item::Record => Said::default(),
                        Item::Barrier(id) => table.barrier(c, id),
                        Item::Cancel(id) => table.cancel(id),
                        Item::End => table.end(c),
                    };
                    (found, expected)
                }
                Turn::Abort(id) => {
                    let out = world.aligner.abort(CheckpointId(id));
                    (world.note(out), table.abort(id))
                }
                Turn::Overflow => {
                    let out = world.aligner.give_up(CheckpointFailure::AlignmentLimit { held: 2, limit: 1 });
                    (world.note(out), table.overflow())
                }
            };
            prop_assert_eq!(found, expected);
            for c in 0..n {
                prop_assert_eq!(world.aligner.is_held(c), table.held(c));
            }
        }
        // The cut (BR-02): exactly what stood before the barriers was taken before the snapshot.
        for (id, taken) in &world.snapshots {
            let before: Vec<usize> = (0..n).map(|c| world.before(c, *id)).collect();
            prop_assert_eq!(taken, &before);
        }
        prop_assert!(world.ended_ids.values().all(|times| *times == 1), "each id ends once");
        prop_assert!(world.snapshots.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn cp_22_at_least_once_takes_every_snapshot_late_enough_and_holds_nothing(
        channels in prop::collection::vec(channel(), 1..6),
        turns in prop::collection::vec(any::<usize>(), 0..200),
    ) {
        let n = channels.len();
        let mut world = World::new(channels, AtLeastOnce);
        let tail = (0..n * 60).collect::<Vec<_>>();
        for pick in turns.into_iter().chain(tail) {
            let Some(c) = (0..n).map(|i| (pick + i) % n).find(|c| !world.done(*c)) else { continue };
            _ = world.take(c);
            for c in 0..n {
                prop_assert!(!world.aligner.is_held(c));
            }
        }
        let mut complete = BTreeSet::new();
        for (id, taken) in &world.snapshots {
            complete.insert(*id);
            prop_assert!((0..n).all(|c| taken[c] >= world.before(c, *id)), "nothing before the barrier is lost");
        }
        prop_assert!(world.ended_ids.values().all(|times| *times == 1), "each id ends once");
        // Whatever had its barrier on every channel that was open then, and no cancel marker, was taken.
        for id in 1..9 {
            let everywhere = world.channels.iter().all(|items| items.contains(&Item::Barrier(id)));
            prop_assert!(!everywhere || complete.contains(&id), "{} was lost", id);
        }
    }
}

//! A snapshot under way: the maps as they were at the freeze, while they go on changing.
//!
//! Freezes are numbered. An entry has the number of the last freeze that it is *kept* for: what it held then is in the image, or
//! the entry was not there yet. Invariant: while draining, an entry whose number is less than that of the freeze holds exactly
//! what it held at the freeze. So a change of an entry, or its removal, keeps it first, and what is put in new is
//! kept from the beginning. A drain keeps the rest in order. Numbers only grow, so a freeze takes constant time, and so does
//! giving one up.

use super::{Bytes, Held, Map};
use crate::key_group::KeyGroupRange;
use crate::keyed::{Extent, GroupChunk, KeyedSnapshot};
use millstream_io::record::Record;
use std::ops::Bound;

/// What an entry costs beyond its bytes, and a group beyond its entries.
const EACH: usize = 32;

/// See the module page.
#[derive(Debug)]
pub(super) struct Freeze {
    current: u64,
    phase: Phase,
    /// The group where the drain goes on.
    group: usize,
    /// The key in it behind which the drain goes on; none yet at its beginning.
    after: Option<Vec<u8>>,
    image: Vec<Part>,
    /// Of the snapshot under way, and of the next one: values that begin with a time up to this are left out.
    left_out: [Option<u64>; 2],
}

/// How far the snapshot under way is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ordered) enum Phase {
    Idle,
    Draining,
    Complete,
}

/// What the image has of a group.
#[derive(Clone, Debug, Default)]
struct Part {
    entries: u64,
    bytes: Vec<u8>,
}

impl Freeze {
    pub fn new(groups: usize) -> Self {
        let image = vec![Part::default(); groups];
        Self { current: 0, phase: Phase::Idle, group: 0, after: None, image, left_out: [None; 2] }
    }

    /// What an entry that is new now has been kept for.
    pub fn current(&self) -> u64 {
        self.current
    }

    pub fn begin(&mut self) {
        assert_eq!(self.phase, Phase::Idle, "a snapshot is taken or abandoned before the next freeze");
        self.phase = Phase::Draining;
        self.current += 1;
        self.left_out = [self.left_out[1].take(), None];
        self.group = 0;
        self.after = None;
    }

    /// The next snapshot need not have values that begin with a time up to this.
    pub fn leave_out_up_to(&mut self, time: Option<u64>) {
        self.left_out[1] = time;
    }

    /// Keeps an entry that is about to change.
    pub fn keep(&mut self, group: usize, key: &[u8], held: &mut Held) {
        if self.phase == Phase::Draining && held.kept < self.current {
            held.kept = self.current;
            self.image[group].add(key, &held.value, self.left_out[0]);
        }
    }

    pub fn drain(&mut self, groups: &mut [Map], budget: usize) -> bool {
        if self.phase != Phase::Draining {
            return true;
        }
        let mut left = budget;
        while let Some(map) = groups.get_mut(self.group) {
            let part = &mut self.image[self.group];
            let from = self.after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            for (key, held) in map.range_mut::<[u8], _>((from, Bound::Unbounded)) {
                if left == 0 {
                    return false;
                }
                let before = part.bytes.len();
                if held.kept < self.current {
                    held.kept = self.current;
                    part.add(key, &held.value, self.left_out[0]);
                }
                left = left.saturating_sub(part.bytes.len() - before + EACH);
                if left == 0 {
                    self.after = Some(key.to_vec());
                }
            }
            (self.group, self.after) = (self.group + 1, None);
            left = left.saturating_sub(EACH);
        }
        self.phase = Phase::Complete;
        true
    }

    pub fn take(&mut self, range: KeyGroupRange) -> KeyedSnapshot {
        assert_eq!(self.phase, Phase::Complete, "a snapshot is taken once its drain is complete");
        self.phase = Phase::Idle;
        let parts = range.iter().zip(self.image.iter_mut().map(std::mem::take));
        let groups = parts.filter(|(_, part)| part.entries > 0);
        let groups = groups.map(|(group, Part { entries, bytes })| GroupChunk { group, entries, bytes });
        KeyedSnapshot { groups: groups.collect(), extent: Extent::Whole }
    }

    /// Whether something is frozen that was neither taken nor forgotten.
    pub fn is_under_way(&self) -> bool {
        self.phase != Phase::Idle
    }

    pub fn abandon(&mut self) {
        self.phase = Phase::Idle;
        self.image.fill(Part::default());
    }
}

impl Part {
    /// Adds an entry, unless it has expired.
    fn add(&mut self, key: &[u8], value: &[u8], left_out: Option<u64>) {
        let time = || value.first_chunk().map(|time| u64::from_le_bytes(*time));
        if left_out.is_some_and(|last| time().is_some_and(|time| time <= last)) {
            return;
        }
        Bytes::encode_into(key, &mut self.bytes);
        Bytes::encode_into(value, &mut self.bytes);
        self.entries += 1;
    }
}

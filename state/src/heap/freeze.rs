//! A snapshot under way: the state as it was at the freeze, while records go on changing it.
//!
//! Each slot has a bit that says whether the slot is *kept*: what it held at the freeze is in the image, or it was
//! empty. Invariant: while draining, a slot that is not kept holds exactly what it held at the freeze. So whatever is
//! about to change a slot keeps it first: the hot path the one slot that it found, an insertion the empty slot that it
//! fills, a removal all slots of the run that may move, growth its whole shard. The owner drains the rest in order.
//!
//! Outside a drain all slots are kept. A freeze turns the meaning of the bits around, so it takes constant time.

use super::head::Head;
use super::table::{ASIDE, At, Table};
use millstream_io::record::{Key, Record};

/// Bits of a word.
const WORD: usize = u64::BITS as usize;

/// How far the snapshot under way is.
#[derive(Debug, Default)]
pub(super) struct Freeze {
    draining: bool,
    /// All is kept, and waits to be taken.
    complete: bool,
    /// The bit of a kept slot, 64 times.
    mark: u64,
    /// Before this place everything is kept.
    cursor: (usize, usize),
}

impl Freeze {
    #[inline(always)]
    pub fn draining(&self) -> bool {
        self.draining
    }

    pub fn is_under_way(&self) -> bool {
        self.draining || self.complete
    }

    pub fn take(&mut self) {
        assert!(self.complete, "a snapshot is taken once its drain is complete");
        self.complete = false;
    }
}

/// Which slots of a shard are kept: 64 a word.
#[derive(Debug, Default)]
pub(super) struct Kept(Vec<u64>);

impl Kept {
    /// All of this many slots.
    pub fn all(slots: usize, freeze: &Freeze) -> Self {
        Self(vec![freeze.mark; slots.div_ceil(WORD)])
    }
}

impl<K: Key, H: Head<K>, V: Record + Default> Table<K, H, V> {
    pub fn freeze(&mut self) {
        assert!(!self.is_frozen(), "a snapshot is taken or abandoned before the next freeze");
        self.freeze.draining = true;
        self.freeze.mark = !self.freeze.mark;
        self.freeze.cursor = (0, 0);
        self.aside.kept = false;
        self.settle();
    }

    pub fn is_frozen(&self) -> bool {
        self.freeze.is_under_way()
    }

    pub fn drain(&mut self, budget: usize) -> bool {
        if !self.freeze.draining {
            return true;
        }
        self.keep(ASIDE);
        let mut left = budget;
        let (mut shard, mut word) = self.freeze.cursor;
        while let Some(rest) = self.rest.get(shard) {
            // Beyond the end: the table was spread meanwhile, and its first shard is now smaller.
            if word >= rest.kept.0.len() {
                (shard, word) = (shard + 1, 0);
                continue;
            }
            if left == 0 {
                self.freeze.cursor = (shard, word);
                return false;
            }
            let before = self.image.bytes();
            self.keep_word(shard, word);
            word += 1;
            left = left.saturating_sub(self.image.bytes() - before + WORD);
        }
        self.freeze.draining = false;
        self.freeze.complete = true;
        self.settle();
        true
    }

    pub fn abandon(&mut self) {
        if self.freeze.draining {
            for rest in &mut self.rest {
                rest.kept.0.fill(self.freeze.mark);
            }
        }
        self.freeze.draining = false;
        self.freeze.complete = false;
        self.settle();
        self.image.clear();
    }

    /// Keeps one slot, which is about to change.
    pub fn keep(&mut self, at: At) {
        if at.shard == ASIDE.shard {
            if self.aside.used && !self.aside.kept {
                self.encode_aside();
            }
            self.aside.kept = true;
            return;
        }
        let word = &mut self.rest[at.shard].kept.0[at.slot / WORD];
        let bit = 1 << (at.slot % WORD);
        if (*word ^ self.freeze.mark) & bit != 0 {
            *word ^= bit;
            self.encode(at);
        }
    }

    /// Keeps the slots from `at` to the next empty one, round about: all that a removal may move.
    pub fn keep_run(&mut self, at: At) {
        let mask = self.shards[at.shard].slots.len() - 1;
        let mut slot = at.slot;
        while !self.shards[at.shard].slots[slot].head.is_empty() {
            self.keep(At { slot, ..at });
            slot = (slot + 1) & mask;
        }
    }

    /// Keeps all slots of a shard.
    pub fn keep_shard(&mut self, shard: usize) {
        for word in 0..self.rest[shard].kept.0.len() {
            self.keep_word(shard, word);
        }
    }

    fn keep_word(&mut self, shard: usize, word: usize) {
        let kept = &mut self.rest[shard].kept.0[word];
        let mut missing = *kept ^ self.freeze.mark;
        *kept = self.freeze.mark;
        while missing != 0 {
            let slot = word * WORD + missing.trailing_zeros() as usize;
            missing &= missing - 1;
            if slot < self.shards[shard].slots.len() {
                self.encode(At { shard, slot });
            }
        }
    }

    /// Adds what a slot holds to the image.
    #[inline(always)]
    fn encode(&mut self, at: At) {
        let slot = &self.shards[at.shard].slots[at.slot];
        if slot.head.is_empty() {
            return;
        }
        let arena = &self.rest[at.shard].arena;
        self.image.add(slot.head.hash(), |out| {
            slot.head.append_row(arena, out);
            V::encode_into(slot.value.view(), out);
        });
    }

    fn encode_aside(&mut self) {
        let arena = &self.rest[0].arena;
        self.image.add(H::ASIDE.hash(), |out| {
            H::ASIDE.append_row(arena, out);
            V::encode_into(self.aside.value.view(), out);
        });
    }
}

//! A part of a table: an array of slots that grows by itself.

use super::arena::Arena;
use super::head::{Head, Layout};
use millstream_io::record::Key;

/// The first size of a shard.
const FIRST: usize = 16;

/// Slots that are looked at at once.
const WINDOW: usize = 4;

/// A key and its value; the value is the default where no key is.
#[derive(Debug, Default)]
pub(super) struct Slot<H: Layout, V> {
    pub head: H,
    pub value: V,
    _align: H::Align,
}

/// The slots: a power of two of them. A key is in the first slots from its home on, round about, of which none is
/// empty. What the hot path needs and nothing else, so that the shards of a table fit the first cache.
#[derive(Debug)]
pub(super) struct Shard<H: Layout, V> {
    pub slots: Box<[Slot<H, V>]>,
    /// Where the bits of a hash that choose the slot begin: right below those that choose the shard.
    shift: u32,
}

impl<H: Layout, V: Default> Shard<H, V> {
    /// An empty slot, so that a lookup finds an end, and no room for keys.
    pub fn empty() -> Self {
        Self { slots: Box::new([Slot::default()]), shift: 0 }
    }

    /// Room for about `keys` keys, in one of `shards` shards.
    pub fn for_keys(keys: usize, shards: usize) -> Self {
        let len = (keys * 3 / 2).next_power_of_two().max(FIRST);
        Self {
            slots: std::iter::repeat_with(Slot::default).take(len).collect(),
            shift: u64::BITS - shards.trailing_zeros() - len.trailing_zeros(),
        }
    }

    /// Keys that it takes before it grows. Fewer when it is alone, so near the core: there room costs less than a probe
    /// that goes further than was guessed.
    pub fn limit(&self, alone: bool) -> usize {
        if alone { self.slots.len() / 2 } else { self.slots.len() / 4 * 3 }
    }

    /// The slot where the probing for a hash begins.
    #[inline(always)]
    pub fn home(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize & (self.slots.len() - 1)
    }

    /// The slot of the probe's key, or the empty one where it would be.
    #[inline(always)]
    pub fn find<'a, K: Key>(
        &self,
        hash: u64,
        probe: H::Probe<'_>,
        arena: impl Fn() -> &'a Arena,
    ) -> Result<usize, usize>
    where
        H: Head<K>,
    {
        let mask = self.slots.len() - 1;
        let mut index = self.home(hash);
        loop {
            let head = self.slots[index].head;
            if head.matches(probe, &arena) {
                return Ok(index);
            }
            if head.is_empty() {
                return Err(index);
            }
            index = (index + 1) & mask;
        }
    }

    /// The slot of the probe's key where it is one of the first [`WINDOW`] from its home, and not round the end. Where
    /// all slots are near the core this is faster than to look at one after the other: what would cost most is a branch
    /// that depends on how far from home a key is.
    #[inline(always)]
    pub fn find_near<'a, K: Key>(
        &mut self,
        hash: u64,
        probe: H::Probe<'_>,
        arena: impl Fn() -> &'a Arena,
    ) -> Option<&mut Slot<H, V>>
    where
        H: Head<K>,
    {
        let home = self.home(hash);
        let window = self.slots[home..].first_chunk_mut::<WINDOW>()?;
        // At home unless seen elsewhere; a sum, since a choice may become a branch.
        let at = (1..WINDOW).fold(0, |at, i| at + i * usize::from(window[i].head.resembles(probe)));
        let slot = &mut window[at % WINDOW];
        slot.head.matches(probe, arena).then_some(slot)
    }

    /// Puts a key that is not there where it belongs. There must be an empty slot.
    #[inline(always)]
    pub fn place<K: Key>(&mut self, slot: Slot<H, V>)
    where
        H: Head<K>,
    {
        let mask = self.slots.len() - 1;
        let mut index = self.home(slot.head.hash());
        while !self.slots[index].head.is_empty() {
            index = (index + 1) & mask;
        }
        self.slots[index] = slot;
    }

    /// The keys with their values; their slots are gone.
    pub fn take<K: Key>(&mut self) -> impl Iterator<Item = Slot<H, V>> + use<H, V, K>
    where
        H: Head<K>,
    {
        let old = std::mem::replace(self, Self::empty());
        old.slots.into_iter().filter(|slot| !slot.head.is_empty())
    }

    /// Empties a slot, and moves the keys behind it to where they are found without it.
    pub fn remove<K: Key>(&mut self, index: usize)
    where
        H: Head<K>,
    {
        let mask = self.slots.len() - 1;
        let mut hole = index;
        let mut at = index;
        loop {
            at = (at + 1) & mask;
            let head = self.slots[at].head;
            if head.is_empty() {
                break;
            }
            let from_home = at.wrapping_sub(self.home(head.hash())) & mask;
            if from_home >= at.wrapping_sub(hole) & mask {
                self.slots.swap(hole, at);
                hole = at;
            }
        }
        self.slots[hole] = Slot::default();
    }
}

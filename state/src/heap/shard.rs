//! A part of a table, or all of it: an array of slots.

use super::arena::Arena;
use super::head::{HASH_BITS, Head, Layout};
use super::slots::{LINE, Slots};
use millstream_io::prefetch::HUGE_PAGE;
use millstream_io::record::Key;

/// The first size of a shard that is alone.
const FIRST: usize = 16;

/// A shard that is alone is at most a quarter full up to this size, then half. (Near the core room costs less than a probe
/// that goes further than was guessed.)
const NEAR_BYTES: usize = 128 << 10;

/// Bytes of one of many shards, and the most of one that is alone: a huge page. (Little in unit tests, so that a model of
/// some hundred keys meets all changes.)
const BYTES: usize = if cfg!(test) { 8 << 10 } else { HUGE_PAGE };

/// Most bits of a hash that choose among many shards.
pub(super) const SHARD_BITS: u32 = 16;

/// A key and its value; the value is the default where no key is.
#[derive(Debug, Default)]
pub(super) struct Slot<H: Layout, V> {
    pub head: H,
    pub value: V,
    _align: H::Align,
}

/// The slots: a power of two of them. A key is in the first slots from its home on, round about, of which none is
/// empty. What the hot path needs and nothing else, so that the shards of a table fit the first cache.
///
/// Home is a slot where the shard is alone, so that a lookup asks one question. It is a group of slots in one cache line
/// where the shard is one of many: far from the core each further line costs a wait, and each wrong guess the waits that
/// it keeps from being begun.
#[derive(Debug)]
pub(super) struct Shard<H: Layout, V> {
    pub slots: Slots<Slot<H, V>>,
    /// Where the bits of a hash that choose the home begin.
    shift: u32,
    /// The bits of a slot's index that a home has.
    homes: usize,
    /// Keys that it takes before it grows.
    limit: usize,
}

impl<H: Layout, V: Default> Shard<H, V> {
    /// Slots of a group: as many as fit a cache line, or none where these would be so few that many keys found no place.
    const GROUP: usize = {
        let fit = LINE / size_of::<Slot<H, V>>();
        if fit < 4 { 1 } else { 1 << fit.ilog2() }
    };

    /// An empty slot, so that a lookup finds an end, and no room for keys.
    pub fn empty() -> Self {
        Self { slots: Slots::new(1), shift: 0, homes: 0, limit: 0 }
    }

    /// Room for so many keys, for a shard that is alone; `None` where there should be many.
    pub fn alone(keys: usize) -> Option<Self> {
        let room = |len: usize| if len * size_of::<Slot<H, V>>() > NEAR_BYTES { len / 2 } else { len / 4 };
        let mut len = FIRST;
        while room(len) < keys {
            len *= 2;
        }
        let small = len * size_of::<Slot<H, V>>() <= BYTES;
        small.then(|| Self {
            slots: Slots::new(len),
            shift: u64::BITS - len.trailing_zeros(),
            homes: len - 1,
            limit: room(len),
        })
    }

    /// One of many, chosen by so many top bits of a hash.
    pub fn one_of_many(bits: u32) -> Self {
        Self::of_many(BYTES.div_ceil(size_of::<Slot<H, V>>()).next_power_of_two().max(FIRST), bits)
    }

    /// Twice as large as `self`, as one of many.
    pub fn twice(&self, bits: u32) -> Self {
        Self::of_many(self.slots.len() * 2, bits)
    }

    /// The slot is chosen by the bits right below those that choose the shard: keys that count up have hashes that are
    /// spread more evenly than at random, and most of all in their top bits.
    fn of_many(len: usize, bits: u32) -> Self {
        Self {
            slots: Slots::new(len),
            shift: (u64::BITS - bits).saturating_sub(len.trailing_zeros()).max(HASH_BITS.trailing_zeros()),
            homes: (len - 1) & !(Self::GROUP - 1),
            limit: len / 4 * 3,
        }
    }

    /// What leads to the homes of its hashes: the first slot's address, where the bits of a hash that choose the home begin,
    /// and which bits of a slot's index these are.
    pub fn lead(&self) -> (usize, u32, usize) {
        (self.slots.as_ptr() as usize, self.shift, self.homes)
    }

    /// Keys that it takes before it grows.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The slot where the probing for a hash begins.
    #[inline(always)]
    pub fn home(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize & self.homes
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
        self.find_from(self.home(hash), probe, arena)
    }

    #[inline(always)]
    fn find_from<'a, K: Key>(
        &self,
        home: usize,
        probe: H::Probe<'_>,
        arena: impl Fn() -> &'a Arena,
    ) -> Result<usize, usize>
    where
        H: Head<K>,
    {
        let mask = self.slots.len() - 1;
        let mut index = home & mask;
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

    /// The slot of the probe's key where that is its home.
    #[inline(always)]
    pub fn find_at_home<'a, K: Key>(
        &mut self,
        hash: u64,
        probe: H::Probe<'_>,
        arena: impl Fn() -> &'a Arena,
    ) -> Option<&mut Slot<H, V>>
    where
        H: Head<K>,
    {
        let home = self.home(hash);
        self.slots.get_mut(home).filter(|slot| slot.head.matches(probe, arena))
    }

    /// The slot of the probe's key where that is near `home`: in its group, of which all slots are looked at, without a branch
    /// that depends on which it is. Slots that are too large for groups are looked at one after the other.
    #[inline(always)]
    pub fn find_near<'a, K: Key>(
        &mut self,
        home: usize,
        probe: H::Probe<'_>,
        arena: impl Fn() -> &'a Arena,
    ) -> Option<&mut Slot<H, V>>
    where
        H: Head<K>,
    {
        if Self::GROUP == 1 {
            let slot = self.find_from(home, probe, arena).ok()?;
            return self.slots.get_mut(slot);
        }
        let group = self.slots.get_mut(home..home + Self::GROUP)?;
        // The first unless seen elsewhere; a sum, since a choice may become a branch.
        let at = (1..Self::GROUP).fold(0, |at, i| at + i * usize::from(group[i].head.resembles(probe)));
        let slot = &mut group[at % Self::GROUP];
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

    /// The keys with their values; the slots are empty then.
    pub fn take<K: Key>(&mut self) -> impl Iterator<Item = Slot<H, V>>
    where
        H: Head<K>,
    {
        self.slots.iter_mut().filter(|slot| !slot.head.is_empty()).map(std::mem::take)
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

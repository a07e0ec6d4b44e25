//! Which shard of a table a hash belongs to.

use super::head::Layout;
use super::shard::Shard;
use std::ops::{Index, IndexMut};

/// The top bits of a hash that choose one of many shards.
const BITS: u32 = 8;

/// How many are many.
pub(super) const MANY: usize = 1 << BITS;

/// One shard, or many. The one has a place of its own, so that looking something up in a small table does not wait
/// for a load whose address depends on the hash (measured: a seventh at 1,000 keys).
#[derive(Debug)]
pub(super) struct Shards<H: Layout, V> {
    one: Shard<H, V>,
    /// [`MANY`], or none as long as there is one.
    many: Vec<Shard<H, V>>,
}

impl<H: Layout, V: Default> Shards<H, V> {
    /// One without room.
    pub fn new() -> Self {
        Self { one: Shard::empty(), many: Vec::new() }
    }

    /// Whether there is only one.
    pub fn is_one(&self) -> bool {
        self.many.is_empty()
    }

    /// The only one, or the one that was.
    #[inline(always)]
    pub fn one_mut(&mut self) -> &mut Shard<H, V> {
        &mut self.one
    }

    /// The index of a hash's shard among many.
    #[inline(always)]
    pub fn of_many(&self, hash: u64) -> usize {
        (hash >> (u64::BITS - BITS)) as usize
    }

    /// One of many; `None` when there is only one.
    #[inline(always)]
    pub fn many_mut(&mut self, index: usize) -> Option<&mut Shard<H, V>> {
        self.many.get_mut(index)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.many.len().max(1)
    }

    /// The index of the shard of a hash.
    #[inline(always)]
    pub fn of(&self, hash: u64) -> usize {
        if self.is_one() { 0 } else { self.of_many(hash) }
    }

    /// The shard of a hash.
    #[inline(always)]
    pub fn at(&self, hash: u64) -> &Shard<H, V> {
        &self[self.of(hash)]
    }

    /// Goes from one shard, which is returned, to many with room for about this many keys in all.
    pub fn spread(&mut self, keys: usize) -> Shard<H, V> {
        self.many = std::iter::repeat_with(|| Shard::for_keys(keys / MANY, MANY)).take(MANY).collect();
        std::mem::replace(&mut self.one, Shard::empty())
    }
}

impl<H: Layout, V: Default> Index<usize> for Shards<H, V> {
    type Output = Shard<H, V>;

    #[inline(always)]
    fn index(&self, index: usize) -> &Shard<H, V> {
        if self.is_one() { &self.one } else { &self.many[index] }
    }
}

impl<H: Layout, V: Default> IndexMut<usize> for Shards<H, V> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut Shard<H, V> {
        if self.is_one() { &mut self.one } else { &mut self.many[index] }
    }
}

//! Which shard of a table a hash belongs to.

use super::head::Layout;
use super::shard::{SHARD_BITS, Shard, Slot};
use millstream_io::prefetch::prefetch_address;
use std::ops::{Index, IndexMut, Range};

/// Where a key of many shards should be: its shard, and the first slot of its home.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    pub(super) shard: u32,
    pub(super) slot: u32,
}

/// Where the hashes with some top bits lead. All that asking for a slot takes, so that it takes one look.
#[derive(Clone, Copy, Debug, Default)]
struct Lead {
    shard: u32,
    /// See [`Shard::lead`].
    start: usize,
    shift: u32,
    homes: usize,
}

/// One shard, or many. The one has a place of its own, so that looking something up in a small table does not wait
/// for a load whose address depends on the hash (measured: a seventh at 1,000 keys).
///
/// The many grow by themselves, one divided in two at a time, so that an insertion never waits for more than one shard
/// of a fixed size (extendible hashing: Fagin, Nievergelt, Pippenger and Strong 1979).
#[derive(Debug)]
pub(super) struct Shards<H: Layout, V> {
    one: Shard<H, V>,
    /// None as long as there is one.
    many: Vec<Shard<H, V>>,
    /// How many top bits of a hash choose each of the many.
    bits: Vec<u32>,
    /// Where each value of the top bits of a hash leads: as many bits as any shard has.
    directory: Vec<Lead>,
    /// Where those bits begin.
    shift: u32,
}

impl<H: Layout, V: Default> Shards<H, V> {
    /// One without room.
    pub fn new() -> Self {
        let one = Shard::empty();
        Self { one, many: Vec::new(), bits: Vec::new(), directory: Vec::new(), shift: u64::BITS - 1 }
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

    /// The index of a hash's shard among many; any when there is only one.
    #[inline(always)]
    pub fn of_many(&self, hash: u64) -> usize {
        self.directory.get((hash >> self.shift) as usize).map_or(0, |lead| lead.shard as usize)
    }

    /// Asks the memory for the home of a hash among many, and says where that is; any place when there is only one.
    #[inline(always)]
    pub fn ask(&self, hash: u64) -> Place {
        let Some(lead) = self.directory.get((hash >> self.shift) as usize) else { return Place::default() };
        let slot = (hash >> lead.shift) as usize & lead.homes;
        prefetch_address(lead.start.wrapping_add(slot * size_of::<Slot<H, V>>()));
        Place { shard: lead.shard, slot: slot as u32 }
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

    /// Makes room for more than `keys` keys where the hashes of a shard lead to, by a larger one or by one more. Returns
    /// what was there; the new ones are empty.
    pub fn grow(&mut self, index: usize, keys: usize) -> Shard<H, V> {
        if !self.is_one() {
            return self.split(index);
        }
        let larger = Shard::alone(keys + 1).unwrap_or_else(|| {
            self.many = vec![Shard::one_of_many(1), Shard::one_of_many(1)];
            self.bits = vec![1, 1];
            self.directory = vec![Lead::default(); 2];
            (0..2).for_each(|shard| self.lead_to(shard, shard..shard + 1));
            Shard::empty()
        });
        std::mem::replace(&mut self.one, larger)
    }

    /// Divides one of many in two; one that the bits of a hash divide no further becomes twice as large.
    fn split(&mut self, index: usize) -> Shard<H, V> {
        let bits = self.bits[index];
        let divided = bits < SHARD_BITS;
        if divided && u64::BITS - bits == self.shift {
            self.directory = self.directory.iter().flat_map(|lead| [*lead, *lead]).collect();
            self.shift -= 1;
        }
        let of_it = |lead: &Lead| lead.shard as usize == index;
        let first = self.directory.iter().position(of_it).expect("every shard is in the directory");
        let end = first + (1 << (u64::BITS - self.shift - bits));
        let shard = if divided { Shard::one_of_many(bits + 1) } else { self.many[index].twice(bits) };
        let old = std::mem::replace(&mut self.many[index], shard);
        self.lead_to(index, first..end);
        if divided {
            self.bits[index] = bits + 1;
            self.bits.push(bits + 1);
            self.many.push(Shard::one_of_many(bits + 1));
            self.lead_to(self.many.len() - 1, first.midpoint(end)..end);
        }
        old
    }

    /// Has these values of the top bits lead to a shard.
    fn lead_to(&mut self, shard: usize, values: Range<usize>) {
        let (start, shift, homes) = self.many[shard].lead();
        self.directory[values].fill(Lead { shard: shard as u32, start, shift, homes });
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

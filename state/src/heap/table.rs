//! A hash table for one state of one subtask.

use super::arena::Arena;
use super::freeze::{Freeze, Kept};
use super::head::{Head, Layout};
use super::image::Image;
use super::shard::Slot;
use super::shards::{Place, Shards};
use crate::key_group::{Grouping, KeyGroup, KeyGroupRange};
use crate::keyed::{Entry, KeyedSnapshot, RestoreError, Visit, restore};
use millstream_io::record::{Key, Record};
use std::marker::PhantomData;

/// Where a key is: shard and slot. The key that is kept aside has a shard number that no shard has.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub shard: usize,
    pub slot: usize,
}

pub(super) const ASIDE: At = At { shard: usize::MAX, slot: 0 };

/// What belongs to a shard and the hot path rarely needs.
#[derive(Debug)]
pub(super) struct Rest {
    used: usize,
    pub arena: Arena,
    pub kept: Kept,
}

/// The value of the one key that looks like an empty slot.
#[derive(Debug, Default)]
pub(super) struct Aside<V> {
    pub value: V,
    pub used: bool,
    pub kept: bool,
}

/// See the module page of [`heap`](super).
#[derive(Debug)]
pub(super) struct Table<K, H: Layout, V> {
    pub shards: Shards<H, V>,
    pub rest: Vec<Rest>,
    pub aside: Aside<V>,
    len: usize,
    /// One shard, and no drain under way: [`Table::with_near`] has nothing else to ask.
    near: bool,
    pub freeze: Freeze,
    pub image: Image,
    of: PhantomData<fn() -> K>,
}

impl<K: Key, H: Head<K>, V: Record + Default> Table<K, H, V> {
    pub fn new(range: KeyGroupRange, max_parallelism: u32) -> Self {
        let image = Image::new(range, Grouping::new(max_parallelism));
        Self {
            shards: Shards::new(),
            rest: vec![Rest { used: 0, arena: Arena::default(), kept: Kept::default() }],
            aside: Aside::default(),
            len: 0,
            near: true,
            freeze: Freeze::default(),
            image,
            of: PhantomData,
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub fn big(&self) -> bool {
        !self.shards.is_one()
    }

    /// To be called after what decides about `near` has changed.
    pub fn settle(&mut self) {
        self.near = self.shards.is_one() && !self.freeze.draining();
    }

    #[inline(always)]
    pub fn prefetch(&self, hash: u64) -> Place {
        self.shards.ask(hash)
    }

    #[inline(always)]
    pub fn with<R>(&mut self, hash: u64, key: K::Ref<'_>, f: impl FnOnce(Entry<'_, V>) -> R) -> R {
        if self.big() { self.with_rare(hash, key, f) } else { self.with_near(hash, key, f) }
    }

    /// [`Table::with`] for a table that is not big: one comparison, and the slot where the key should be.
    #[inline(always)]
    pub fn with_near<R>(&mut self, hash: u64, key: K::Ref<'_>, f: impl FnOnce(Entry<'_, V>) -> R) -> R {
        // What happens rarely gets the key and makes its own probe, so that this one stays in registers.
        H::with_probe(hash, key, |probe| {
            if self.near
                && !H::is_aside(probe)
                && let Some(slot) = self.shards.one_mut().find_at_home(hash, probe, || &self.rest[0].arena)
            {
                let mut cleared = false;
                let result = f(Entry::new(&mut slot.value, false, &mut cleared));
                if cleared {
                    self.remove(hash, key);
                }
                return result;
            }
            self.with_rare(hash, key, f)
        })
    }

    /// [`Table::with`] for a big table, and a key that was asked for: one group of slots. Should the table have changed since,
    /// the key is there no longer, or it is there all the same: it is in the table once.
    #[inline(always)]
    pub fn with_far<R>(
        &mut self,
        place: Place,
        hash: u64,
        key: K::Ref<'_>,
        f: impl FnOnce(Entry<'_, V>) -> R,
    ) -> R {
        H::with_probe(hash, key, |probe| {
            let index = place.shard as usize;
            if !self.freeze.draining()
                && !H::is_aside(probe)
                && let Some(shard) = self.shards.many_mut(index)
                && let Some(slot) = shard.find_near(place.slot as usize, probe, || &self.rest[index].arena)
            {
                let mut cleared = false;
                let result = f(Entry::new(&mut slot.value, false, &mut cleared));
                if cleared {
                    self.remove(K::hash(key), key);
                }
                return result;
            }
            // The hash anew: a layout that does not need it needs none so far.
            self.with_rare(K::hash(key), key, f)
        })
    }

    /// [`Table::with`] for a key that is not where keys mostly are, or during a drain.
    ///
    /// Only the search is in a function of its own: what `f` refers to would have to be in memory for that.
    #[inline(always)]
    fn with_rare<R>(&mut self, hash: u64, key: K::Ref<'_>, f: impl FnOnce(Entry<'_, V>) -> R) -> R {
        let (at, new) = self.find_or_insert(hash, key);
        let value = if at.shard == ASIDE.shard {
            &mut self.aside.value
        } else {
            &mut self.shards[at.shard].slots[at.slot].value
        };
        let mut cleared = false;
        let result = f(Entry::new(value, new, &mut cleared));
        if cleared {
            self.remove(hash, key);
        }
        result
    }

    /// Where the key is, which may be about to change, and whether it is new there.
    #[cold]
    #[inline(never)]
    fn find_or_insert(&mut self, hash: u64, key: K::Ref<'_>) -> (At, bool) {
        H::with_probe(hash, key, |probe| match self.find_probe(hash, probe) {
            Some(at) => {
                if self.freeze.draining() {
                    self.keep(at);
                }
                (at, false)
            }
            None => (self.insert(hash, probe), true),
        })
    }

    fn find(&self, hash: u64, key: K::Ref<'_>) -> Option<At> {
        H::with_probe(hash, key, |probe| self.find_probe(hash, probe))
    }

    fn find_probe(&self, hash: u64, probe: H::Probe<'_>) -> Option<At> {
        if H::is_aside(probe) {
            return self.aside.used.then_some(ASIDE);
        }
        let shard = self.shards.of(hash);
        let slot = self.shards[shard].find(hash, probe, || &self.rest[shard].arena).ok()?;
        Some(At { shard, slot })
    }

    /// A place for a key that is not there, with the default value.
    fn insert(&mut self, hash: u64, probe: H::Probe<'_>) -> At {
        let at = if H::is_aside(probe) { ASIDE } else { self.empty_place(hash, probe) };
        // Before the key is there, so that the snapshot does not have it.
        if self.freeze.draining() {
            self.keep(at);
        }
        if at.shard == ASIDE.shard {
            self.aside.used = true;
        } else {
            let rest = &mut self.rest[at.shard];
            self.shards[at.shard].slots[at.slot].head = H::make(probe, &mut rest.arena);
            rest.used += 1;
        }
        self.len += 1;
        at
    }

    fn empty_place(&mut self, hash: u64, probe: H::Probe<'_>) -> At {
        let shard = self.roomy(hash);
        match self.shards[shard].find(hash, probe, || &self.rest[shard].arena) {
            Ok(slot) | Err(slot) => At { shard, slot },
        }
    }

    /// The shard of a hash, with room for one more key.
    fn roomy(&mut self, hash: u64) -> usize {
        loop {
            let shard = self.shards.of(hash);
            if self.rest[shard].used < self.shards[shard].limit() {
                return shard;
            }
            self.grow(shard);
        }
    }

    /// Makes room for more keys where those of a shard are.
    fn grow(&mut self, shard: usize) {
        if self.freeze.draining() {
            self.keep_shard(shard);
        }
        let mut old = self.shards.grow(shard, self.rest[shard].used);
        let new_rest = self.new_rest(shard);
        let old_arena = std::mem::replace(&mut self.rest[shard], new_rest).arena;
        while self.rest.len() < self.shards.count() {
            self.rest.push(self.new_rest(self.rest.len()));
        }
        self.settle();
        for mut slot in old.take::<K>() {
            let shard = self.roomy(slot.head.hash());
            slot.head.relocate(&old_arena, &mut self.rest[shard].arena);
            self.rest[shard].used += 1;
            self.shards[shard].place(slot);
        }
    }

    fn new_rest(&self, shard: usize) -> Rest {
        let slots = self.shards[shard].slots.len();
        Rest { used: 0, arena: Arena::default(), kept: Kept::all(slots, &self.freeze) }
    }

    #[cold]
    #[inline(never)]
    fn remove(&mut self, hash: u64, key: K::Ref<'_>) {
        let Some(at) = self.find(hash, key) else { return };
        self.len -= 1;
        if at.shard == ASIDE.shard {
            self.aside.used = false;
            self.aside.value = V::default();
            return;
        }
        if self.freeze.draining() {
            self.keep_run(at);
        }
        let rest = &mut self.rest[at.shard];
        let shard = &mut self.shards[at.shard];
        let outside = shard.slots[at.slot].head.outside();
        shard.remove::<K>(at.slot);
        rest.used -= 1;
        if outside > 0 && rest.arena.forget(outside) {
            let mut tidy = rest.arena.successor();
            for slot in shard.slots.iter_mut() {
                slot.head.relocate(&rest.arena, &mut tidy);
            }
            rest.arena = tidy;
        }
    }

    pub fn visit(
        &mut self,
        at: &mut Visit,
        mut places: usize,
        mut f: impl FnMut(K::Ref<'_>, &mut V) -> bool,
    ) -> bool {
        // What `f` is about to change must be in the image first.
        self.drain(usize::MAX);
        if !std::mem::replace(&mut at.aside, true)
            && self.aside.used
            && !H::ASIDE.with_key(&Arena::default(), |key| f(key, &mut self.aside.value))
        {
            return false;
        }
        while at.shard < self.shards.count() {
            let (shard, rest) = (&mut self.shards[at.shard], &self.rest[at.shard]);
            for Slot { head, value, .. } in shard.slots[at.slot..].iter_mut().take(places) {
                at.slot += 1;
                places -= 1;
                if !head.is_empty() && !head.with_key(&rest.arena, |key| f(key, value)) {
                    return false;
                }
            }
            if at.slot < shard.slots.len() {
                return false;
            }
            (at.shard, at.slot) = (at.shard + 1, 0);
        }
        true
    }

    pub fn restore(&mut self, group: KeyGroup, entries: u64, bytes: &[u8]) -> Result<(), RestoreError> {
        if !self.image.range().contains(group) {
            return Ok(());
        }
        restore::read_entries::<K, V>(self.image.grouping(), group, entries, bytes, |hash, key, value| {
            self.with(hash, key, |mut entry| {
                *entry = value;
                entry.is_new()
            })
        })
    }

    pub fn take_snapshot(&mut self) -> KeyedSnapshot {
        self.freeze.take();
        self.image.take()
    }
}

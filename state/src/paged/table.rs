//! A hash table on pages, for one state of one subtask.

mod settle;

use super::bucket::{Form, Header, Lead, Place, Shape, Spot};
use super::directory::Directory;
use super::fault::PagedFault;
use super::memory::{LINE, Memory, PAGE};
use super::pages::Pages;
use crate::key_group::{Grouper, Grouping, KeyGroupRange};
use crate::keyed::{Entry, Visit};
use millstream_io::record::{Key, Record, Wire};
use millstream_io::scratch::Supply;
use std::marker::PhantomData;
use std::ops::Range;

/// See the module page.
#[derive(Debug)]
pub(super) struct Table<K, V, F> {
    pub pages: Pages,
    pub directory: Directory,
    range: KeyGroupRange,
    grouper: Grouper,
    /// Keys by group.
    pub counts: Vec<u64>,
    len: usize,
    /// Whether the pages of a bucket were given back since places were last forgotten, so that one may lead there; or none were
    /// ever asked for.
    stale: bool,
    /// A bucket that is laid out anew, as it was.
    old: Bucket,
    /// The bucket that is being visited, as it was when the visit came there.
    visited: Bucket,
    /// What could not be done.
    fault: Option<PagedFault>,
    /// What pages do not take: the state has to be kept in another way.
    overflow: Option<Overflow<V>>,
    of: PhantomData<fn() -> (K, V, F)>,
}

/// A copy of a bucket, and its entries: hash and bytes.
#[derive(Debug, Default)]
struct Bucket {
    bytes: Vec<u8>,
    entries: Vec<(u64, Range<usize>)>,
}

impl Bucket {
    fn copy<K: Key, V: Record, F: Form<K, V>>(&mut self, pages: &Pages, lead: Lead) {
        let header = Header::read(pages, lead.line);
        let bucket = pages.bytes(lead.at(), header.bytes());
        self.bytes.clear();
        self.entries.clear();
        F::each(bucket, |_, hash, entry| {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(entry);
            self.entries.push((hash, start..self.bytes.len()));
        });
    }
}

impl<K: Key, V: Record + Default, F: Form<K, V>> Table<K, V, F> {
    /// # Errors
    /// The system gives no memory.
    pub fn new(
        range: KeyGroupRange,
        grouping: Grouping,
        supply: &Supply,
        used: bool,
    ) -> Result<Self, PagedFault> {
        let memory = if used { Memory::new(supply) } else { Memory::least() }?;
        let pages = Pages::new(range.len(), memory)?;
        Ok(Self {
            directory: Directory::new(range.len()),
            pages,
            range,
            grouper: Grouper::new(grouping),
            counts: vec![0; range.len()],
            len: 0,
            stale: true,
            old: Bucket::default(),
            visited: Bucket::default(),
            fault: None,
            overflow: None,
            of: PhantomData,
        })
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn pages_mut(&mut self) -> &mut Pages {
        &mut self.pages
    }

    #[inline(always)]
    pub fn grouping(&self) -> Grouping {
        self.grouper.grouping()
    }

    /// Whether pages have not taken something.
    #[inline(always)]
    pub fn has_overflow(&self) -> bool {
        self.overflow.is_some()
    }

    /// What pages have not taken.
    pub fn take_overflow(&mut self) -> Option<Overflow<V>> {
        self.overflow.take()
    }

    /// Notes that something could not be done.
    pub fn fail(&mut self, fault: PagedFault) {
        self.fault.get_or_insert(fault);
    }

    /// What could not be done since this was last asked.
    pub fn take_fault(&mut self) -> Option<PagedFault> {
        self.fault.take()
    }

    /// The group of a hash, counted within the range.
    #[inline(always)]
    fn group(&self, hash: u64) -> usize {
        usize::from(self.grouping().group(hash).0).wrapping_sub(usize::from(self.range.start().0))
    }

    /// The groups of hashes, of which the upper halves are given.
    pub fn groups(&self, halves: &[u32], groups: &mut [u32]) {
        self.grouper.groups(halves, groups);
    }

    /// Where a hash's home is.
    #[inline(always)]
    fn place(&self, group: usize, hash: u64) -> Place {
        F::place(self.directory.lead(group, hash), hash)
    }

    /// Asks the memory for a hash's home, and says where that is.
    #[inline(always)]
    pub fn prefetch(&self, group: u32, hash: u64) -> Place {
        let place = self.place((group as usize).wrapping_sub(usize::from(self.range.start().0)), hash);
        self.pages.prefetch(F::home_line(place));
        if F::IN_HOME {
            self.pages.prefetch_mask(F::home_line(place));
        }
        place
    }

    /// What [`Table::prefetch`] said is not used any more.
    pub fn forget_places(&mut self) {
        self.stale = false;
    }

    /// Asks the memory for what is behind the home, which was asked for before.
    #[inline(always)]
    pub fn approach(&self, place: Place, hash: u64) {
        if !self.stale {
            F::approach(&self.pages, place, hash);
        }
    }

    /// The key, where it is in its home, which was asked for.
    #[inline(always)]
    pub fn find_near(&self, place: Place, hash: u64, key: K::Ref<'_>) -> Option<Spot> {
        if self.stale {
            return None;
        }
        F::with_probe(hash, key, |probe| F::find_near(&self.pages, place, probe))
    }

    /// Calls `f` with the value at the spot of a key, and stores what it has become.
    #[inline(always)]
    pub fn operate<R>(&mut self, spot: Spot, key: K::Ref<'_>, f: impl FnOnce(Entry<'_, V>) -> R) -> R {
        let mut value = F::read(&self.pages, spot);
        let mut cleared = false;
        let result = f(Entry::new(&mut value, false, &mut cleared));
        if cleared {
            self.remove(key);
        } else if !F::update(&mut self.pages, spot, &value) {
            self.store(key, &value);
        }
        result
    }

    /// Calls `f` with the value of a key, which may be new.
    #[inline(always)]
    pub fn with<R>(&mut self, key: K::Ref<'_>, f: impl FnOnce(Entry<'_, V>) -> R) -> R {
        if let Some(spot) = self.find(key) {
            return self.operate(spot, key, f);
        }
        let mut value = V::default();
        let mut cleared = false;
        let result = f(Entry::new(&mut value, true, &mut cleared));
        if !cleared {
            self.insert(key, &value);
        }
        result
    }

    #[cold]
    #[inline(never)]
    fn find(&self, key: K::Ref<'_>) -> Option<Spot> {
        let hash = K::hash(key);
        let lead = self.directory.lead(self.group(hash), hash);
        F::with_probe(hash, key, |probe| F::find(&self.pages, lead, hash, probe))
    }

    /// Puts in a key that is not there.
    #[cold]
    #[inline(never)]
    pub fn insert(&mut self, key: K::Ref<'_>, value: &V) {
        let hash = K::hash(key);
        let group = self.group(hash);
        assert!(group < self.counts.len(), "records are routed to the subtask that owns their key group");
        let done = self.with_room(hash, key, value, |table, lead| {
            F::with_probe(hash, key, |probe| F::insert(&mut table.pages, lead, hash, probe, value))
        });
        if done {
            self.counts[group] += 1;
            self.len += 1;
        }
    }

    /// Changes the value of a key that is there.
    #[cold]
    #[inline(never)]
    fn store(&mut self, key: K::Ref<'_>, value: &V) {
        let hash = K::hash(key);
        self.with_room(hash, key, value, |table, lead| {
            let spot = F::with_probe(hash, key, |probe| F::find(&table.pages, lead, hash, probe));
            spot.is_none_or(|spot| {
                F::update(&mut table.pages, spot, value) || F::replace(&mut table.pages, lead, spot, value)
            })
        });
    }

    /// Tries to change a bucket, with as much room as key and value need. Returns whether it was done.
    fn with_room(
        &mut self,
        hash: u64,
        key: K::Ref<'_>,
        value: &V,
        mut attempt: impl FnMut(&mut Self, Lead) -> bool,
    ) -> bool {
        let size = K::Wire::size(K::to_wire(key)) + V::Wire::size(V::to_wire(value.view()));
        if size > F::MOST {
            self.refuse(key, value, PagedFault::TooLarge { size, most: F::MOST });
            return false;
        }
        loop {
            let lead = self.directory.lead(self.group(hash), hash);
            if !lead.is_nothing() && attempt(self, lead) {
                return true;
            }
            match self.make_room(hash, size) {
                Ok(()) => {}
                Err(fault @ PagedFault::Memory(_)) => {
                    self.fail(fault);
                    return false;
                }
                Err(cause) => {
                    self.refuse(key, value, cause);
                    return false;
                }
            }
        }
    }

    /// Leaves an entry that pages do not take.
    fn refuse(&mut self, key: K::Ref<'_>, value: &V, cause: PagedFault) {
        self.overflow = Some(Overflow { key: K::encode(key), value: V::own(value.view()), cause });
    }

    #[cold]
    #[inline(never)]
    fn remove(&mut self, key: K::Ref<'_>) {
        let hash = K::hash(key);
        let group = self.group(hash);
        let lead = self.directory.lead(group, hash);
        if let Some(spot) = F::with_probe(hash, key, |probe| F::find(&self.pages, lead, hash, probe)) {
            F::remove(&mut self.pages, lead, spot);
            self.counts[group] -= 1;
            self.len -= 1;
        }
    }

    /// Lays a hash's bucket out anew, so that an entry of so many bytes more has room: tidied up, larger, or divided.
    fn make_room(&mut self, hash: u64, more: usize) -> Result<(), PagedFault> {
        let group = self.group(hash);
        let lead = self.directory.lead(group, hash);
        let mut old = std::mem::take(&mut self.old);
        old.bytes.clear();
        old.entries.clear();
        let mut prefix = 0;
        if !lead.is_nothing() {
            old.copy::<K, V, F>(&self.pages, lead);
            prefix = Header::read(&self.pages, lead.line).prefix;
        }
        let target = Target { group, prefix, depth: lead.depth() };
        let done = self.lay_out(target, &old.bytes, &mut old.entries, Some((hash, more)));
        self.old = old;
        done?;
        if !lead.is_nothing() {
            let log2 = self.pages.line(lead.line as usize)[1];
            self.pages.release(lead.line as usize * LINE / PAGE, log2.into());
            self.stale = true;
        }
        Ok(())
    }

    /// Makes one bucket of the entries, or several where they are too many, with room for one more.
    fn lay_out(
        &mut self,
        target: Target,
        bytes: &[u8],
        entries: &mut [(u64, Range<usize>)],
        more: Option<(u64, usize)>,
    ) -> Result<(), PagedFault> {
        let extra = more.map_or(0, |(_, size)| size.next_multiple_of(8));
        let size = entries.iter().map(|(_, entry)| entry.len().next_multiple_of(8)).sum::<usize>();
        let shape = F::shape(entries.len() + usize::from(more.is_some()), size + extra);
        if let Some(shape) = shape {
            let lead = self.new_bucket(target, shape)?;
            for (hash, entry) in entries {
                let added = F::add(&mut self.pages, lead, *hash, &bytes[entry.clone()]);
                debug_assert!(added, "a bucket has room for what it was made for");
            }
            self.directory.set(target.group, target.prefix, lead);
            return Ok(());
        }
        if target.depth >= self.directory.most_depth() {
            return Err(PagedFault::Crowded { group: self.range.start().0 + target.group as u16 });
        }
        let bit = 1 << (63 - target.depth);
        entries.sort_unstable_by_key(|(hash, _)| hash & bit != 0);
        let (zeros, ones) = entries.split_at_mut(entries.partition_point(|(hash, _)| hash & bit == 0));
        let depth = target.depth + 1;
        let of = |one: bool| more.filter(|(hash, _)| (hash & bit != 0) == one);
        self.lay_out(Target { depth, ..target }, bytes, zeros, of(false))?;
        self.lay_out(Target { depth, prefix: target.prefix | bit, ..target }, bytes, ones, of(true))
    }

    fn new_bucket(&mut self, target: Target, shape: Shape) -> Result<Lead, PagedFault> {
        let page = self.pages.allocate(target.group, shape.log2)?;
        let header = Header {
            kind: F::KIND,
            log2: shape.log2 as u8,
            depth: target.depth as u8,
            prefix: target.prefix,
            homes: shape.homes as u16,
            top: shape.top,
            ..Header::default()
        };
        debug_assert!(header.top as usize <= shape.bytes());
        header.write(&mut self.pages, (page * PAGE / LINE) as u32);
        Ok(Lead::new(page, header))
    }

    pub fn visit(
        &mut self,
        at: &mut Visit,
        mut places: usize,
        mut f: impl FnMut(K::Ref<'_>, &mut V) -> bool,
    ) -> bool {
        while at.shard < self.counts.len() {
            let lead = self.directory.lead(at.shard, at.prefix);
            if at.slot == 0 {
                self.visited.entries.clear();
                at.depth = lead.depth();
                if !lead.is_nothing() {
                    self.visited.copy::<K, V, F>(&self.pages, lead);
                }
            }
            // Taken out, since the function's changes are put in.
            let visited = std::mem::take(&mut self.visited);
            let mut go_on = true;
            while go_on && places > 0 && at.slot < visited.entries.len() {
                let entry = &visited.bytes[visited.entries[at.slot].1.clone()];
                at.slot += 1;
                places -= 1;
                F::with_entry(entry, |key, mut value| {
                    go_on = f(key, &mut value);
                    self.store(key, &value);
                });
            }
            let done = at.slot == visited.entries.len();
            self.visited = visited;
            if !done || !go_on {
                // Behind the last entry, so that it is not taken for the first.
                return false;
            }
            at.slot = 0;
            let width = 1u64.checked_shl(u64::BITS - at.depth).unwrap_or(0);
            at.prefix = at.prefix.wrapping_add(width);
            if at.prefix == 0 {
                at.shard += 1;
            }
            if places == 0 {
                return at.shard == self.counts.len();
            }
        }
        true
    }
}

/// An entry that pages do not take.
#[derive(Debug)]
pub(super) struct Overflow<V> {
    /// The encoded key.
    pub key: Vec<u8>,
    pub value: V,
    pub cause: PagedFault,
}

/// What a bucket is for.
#[derive(Clone, Copy)]
struct Target {
    group: usize,
    prefix: u64,
    depth: u32,
}

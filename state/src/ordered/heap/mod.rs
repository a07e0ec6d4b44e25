//! Ordered state on the heap: a sorted map for each key group, all of which is in every snapshot.

mod freeze;

#[cfg(test)]
mod tests;

use super::{OrderedBackend, OrderedEntry};
use crate::key_group::{KeyGroup, KeyGroupRange};
use crate::keyed::restore::read_rows;
use crate::keyed::{KeyedSnapshot, RestoreError, Snapshots};
use crate::paged::PagedFault;
use freeze::Freeze;
pub(super) use freeze::Phase;
use std::collections::BTreeMap;
use std::collections::btree_map;
use std::ops::Bound;

/// The most bytes of a key and its value.
const MOST: usize = 1 << 30;

/// What an entry takes beyond its bytes.
const EACH: usize = 64;

/// What bytes are as a record.
pub(super) type Bytes = Vec<u8>;

/// Ordered state on the heap.
///
/// ```
/// use millstream_state::{HeapOrdered, KeyGroup, OrderedBackend, Parallelism, Snapshots};
///
/// let whole = Parallelism::new(1, None)?;
/// let mut state = HeapOrdered::new(whole.range_of(0));
/// let group = KeyGroup(94);
/// state.put(group, b"b", b"2")?;
/// state.put(group, b"a", b"1")?;
/// assert_eq!(state.first_from(group, b""), Some((&b"a"[..], &b"1"[..])));
///
/// state.freeze();
/// assert!(state.remove(group, b"a"));
/// while !state.drain(256) {}
/// let snapshot = state.take_snapshot();
/// assert_eq!((state.len(), snapshot.entries()), (1, 2));
///
/// let mut again = HeapOrdered::new(whole.range_of(0));
/// for chunk in &snapshot.groups {
///     again.restore(chunk.group, chunk.entries, &chunk.bytes)?;
/// }
/// assert_eq!(again.get(group, b"a"), Some(&b"1"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Limits
/// A key and its value together take at most 1 GiB.
#[derive(Debug)]
pub struct HeapOrdered {
    range: KeyGroupRange,
    groups: Vec<Map>,
    len: usize,
    bytes: usize,
    freeze: Freeze,
}

type Map = BTreeMap<Box<[u8]>, Held>;

/// The value of a key.
#[derive(Debug)]
struct Held {
    value: Vec<u8>,
    /// The last freeze whose snapshot need not be given what this holds: see [`freeze`].
    kept: u64,
}

impl HeapOrdered {
    /// Nothing yet; `range` are the key groups that the subtask owns.
    pub fn new(range: KeyGroupRange) -> Self {
        let groups = std::iter::repeat_with(Map::new).take(range.len()).collect();
        Self { range, groups, len: 0, bytes: 0, freeze: Freeze::new(range.len()) }
    }

    /// About the memory that the entries take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Calls `f` with the index of each group, and its entries in their order, as long as there is no error.
    pub(super) fn try_each<E>(
        &self,
        mut f: impl FnMut(usize, &[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for (index, map) in self.groups.iter().enumerate() {
            map.iter().try_for_each(|(key, held)| f(index, key, &held.value))?;
        }
        Ok(())
    }

    fn index(&self, group: KeyGroup) -> usize {
        assert!(self.range.contains(group), "key group {group} is not among {}", self.range);
        usize::from(group.0 - self.range.start().0)
    }

    fn map(&self, group: KeyGroup) -> &Map {
        &self.groups[self.index(group)]
    }
}

/// The entries from a key on.
fn from<'a>(map: &'a Map, key: &[u8]) -> btree_map::Range<'a, Box<[u8]>, Held> {
    map.range::<[u8], _>((Bound::Included(key), Bound::Unbounded))
}

impl OrderedBackend for HeapOrdered {
    fn len(&self) -> usize {
        self.len
    }

    fn get(&self, group: KeyGroup, key: &[u8]) -> Option<&[u8]> {
        Some(&self.map(group).get(key)?.value)
    }

    fn put(&mut self, group: KeyGroup, key: &[u8], value: &[u8]) -> Result<(), PagedFault> {
        let index = self.index(group);
        let size = key.len().saturating_add(value.len());
        if size > MOST {
            return Err(PagedFault::TooLarge { size, most: MOST });
        }
        if let Some(held) = self.groups[index].get_mut(key) {
            self.freeze.keep(index, key, held);
            self.bytes = self.bytes - held.value.len() + value.len();
            held.value.clear();
            held.value.extend_from_slice(value);
        } else {
            let held = Held { value: value.to_vec(), kept: self.freeze.current() };
            self.groups[index].insert(key.into(), held);
            self.len += 1;
            self.bytes += EACH + size;
        }
        Ok(())
    }

    fn remove(&mut self, group: KeyGroup, key: &[u8]) -> bool {
        let index = self.index(group);
        let Some(mut held) = self.groups[index].remove(key) else { return false };
        self.freeze.keep(index, key, &mut held);
        self.len -= 1;
        self.bytes -= EACH + key.len() + held.value.len();
        true
    }

    fn first_from(&self, group: KeyGroup, key: &[u8]) -> Option<OrderedEntry<'_>> {
        from(self.map(group), key).next().map(|(key, held)| (&key[..], &held.value[..]))
    }

    fn last_before(&self, group: KeyGroup, key: &[u8]) -> Option<OrderedEntry<'_>> {
        let before = (Bound::Unbounded, Bound::Excluded(key));
        self.map(group).range::<[u8], _>(before).next_back().map(|(key, held)| (&key[..], &held.value[..]))
    }

    fn leave_out_up_to(&mut self, time: Option<u64>) {
        self.freeze.leave_out_up_to(time);
    }

    fn scan(&self, group: KeyGroup, key: &[u8], f: &mut dyn FnMut(&[u8], &[u8]) -> bool) {
        for (key, held) in from(self.map(group), key) {
            if !f(key, &held.value) {
                return;
            }
        }
    }
}

impl Snapshots for HeapOrdered {
    fn freeze(&mut self) {
        self.freeze.begin();
    }

    fn is_frozen(&self) -> bool {
        self.freeze.is_under_way()
    }

    fn drain(&mut self, budget: usize) -> bool {
        self.freeze.drain(&mut self.groups, budget)
    }

    fn take_snapshot(&mut self) -> KeyedSnapshot {
        self.freeze.take(self.range)
    }

    fn abandon(&mut self) -> bool {
        self.freeze.abandon();
        true
    }

    fn restore(&mut self, group: KeyGroup, entries: u64, bytes: &[u8]) -> Result<(), RestoreError> {
        if !self.range.contains(group) {
            return Ok(());
        }
        let index = self.index(group);
        let Self { groups, len, bytes: taken, freeze, .. } = self;
        read_rows::<Bytes, Bytes>(group, entries, bytes, |entry, at, key, value| {
            let held = Held { value: value.to_vec(), kept: freeze.current() };
            if groups[index].insert(key.into(), held).is_some() {
                return Err(RestoreError::Duplicate { group, entry, at });
            }
            *len += 1;
            *taken += EACH + key.len() + value.len();
            Ok(())
        })
    }

    fn restore_entries(&mut self, group: KeyGroup, entries: u64, bytes: &[u8]) -> Result<(), RestoreError> {
        self.restore(group, entries, bytes)
    }
}

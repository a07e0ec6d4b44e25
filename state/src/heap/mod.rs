//! The `hashmap` backend: keyed state in hash tables on the heap.
//!
//! One table holds one state of one subtask, in one of two layouts, chosen by the key's type at compile time: `word` for
//! keys of a fixed size of at most eight bytes, `bytes` for all others. Key and value of a slot lie side by side, so
//! that one cache line answers a lookup; slots are probed linearly. Unsafe code is in the memory of the slots alone: leaving
//! out the bounds checks was measured, and gained nothing that could be told from noise. What the files have to say:
//!
//! - `head`: the key's part of a slot, in two layouts; `arena`: the keys that do not fit one;
//! - `slots`: their memory;
//! - `shard`: an array of slots, its probing, its removal;
//! - `shards`: one of them, or many by hash, and their growth;
//! - `table`: the hot path, and what happens when something must be inserted or removed;
//! - `freeze`: which slots a snapshot under way has; `image`: what it has of them.

mod arena;
mod freeze;
mod head;
mod image;
mod shard;
mod shards;
mod slots;
mod table;

#[cfg(test)]
mod tests;

use crate::key_group::{KeyGroup, KeyGroupRange};
use crate::keyed::{Entry, KeyedBackend, KeyedSnapshot, RestoreError, Snapshots, Visit};
use head::{BytesHead, WordHead};
use millstream_io::record::{Key, KeyWire, Record};
pub use shards::Place;
use table::Table;

/// Keyed state in a hash table on the heap.
///
/// ```
/// use millstream_io::record::Key;
/// use millstream_state::{HeapState, KeyedBackend, Parallelism, Snapshots};
///
/// let whole = Parallelism::new(1, None)?;
/// let mut counts = HeapState::<String, u64>::new(whole.range_of(0), whole.max());
/// for word in ["to", "be", "or", "not", "to", "be"] {
///     counts.with(String::hash(word), word, |mut count| *count += 1);
/// }
/// assert_eq!(counts.len(), 4);
///
/// counts.freeze();
/// counts.with(String::hash("to"), "to", |count| count.clear());
/// while !counts.drain(256) {}
/// let snapshot = counts.take_snapshot();
/// assert_eq!((counts.len(), snapshot.entries()), (3, 4));
///
/// let mut again = HeapState::<String, u64>::new(whole.range_of(0), whole.max());
/// for chunk in &snapshot.groups {
///     again.restore(chunk.group, chunk.entries, &chunk.bytes)?;
/// }
/// assert_eq!(again.with(String::hash("to"), "to", |count| *count), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A slot without a key holds `V::default()`, so a default that allocates costs memory for keys that are not there.
/// The hash is fixed and public: keys chosen by an adversary can be made to collide.
///
/// **Growth.** Up to 2 MiB a table is one array that doubles. A larger one consists of shards of 2 MiB (more where slots
/// are large), each of which is divided in two when it is three quarters full: so an insertion waits for the move of one
/// shard's keys, however large the table (of more only where one half got all of them). It does not shrink.
#[derive(Debug)]
pub struct HeapState<K: Key, V: Record + Default> {
    // Exactly one of the two is used. Both stand here because the choice, a constant of the key's type, cannot choose
    // a type; so it costs nothing per record.
    word: Table<K, WordHead, V>,
    bytes: Table<K, BytesHead, V>,
}

impl<K: Key, V: Record + Default> HeapState<K, V> {
    /// No keys yet; `range` are the key groups, of `max_parallelism`, that the subtask owns.
    ///
    /// # Panics
    /// When `max_parallelism` is out of bounds, or `range` is not within it.
    pub fn new(range: KeyGroupRange, max_parallelism: u32) -> Self {
        Self { word: Table::new(range, max_parallelism), bytes: Table::new(range, max_parallelism) }
    }

    const WORD: bool = <K::Wire as KeyWire>::WORD;
}

/// Calls a method of the one table that is used.
macro_rules! either {
    ($self:ident . $method:ident ( $($argument:expr),* )) => {
        if Self::WORD { $self.word.$method($($argument),*) } else { $self.bytes.$method($($argument),*) }
    };
}

impl<K: Key, V: Record + Default> KeyedBackend<K, V> for HeapState<K, V> {
    type Place = Place;

    fn len(&self) -> usize {
        either!(self.len())
    }

    #[inline(always)]
    fn big(&self) -> bool {
        either!(self.big())
    }

    #[inline(always)]
    fn prefetch(&self, _: u32, hash: u64) -> Place {
        either!(self.prefetch(hash))
    }

    #[inline(always)]
    fn with<R>(&mut self, hash: u64, key: K::Ref<'_>, f: impl FnOnce(Entry<'_, V>) -> R) -> R {
        either!(self.with(hash, key, f))
    }

    fn visit(&mut self, at: &mut Visit, places: usize, f: impl FnMut(K::Ref<'_>, &mut V) -> bool) -> bool {
        either!(self.visit(at, places, f))
    }

    #[inline(always)]
    fn with_small<R>(&mut self, hash: u64, key: K::Ref<'_>, f: impl FnOnce(Entry<'_, V>) -> R) -> R {
        either!(self.with_near(hash, key, f))
    }

    #[inline(always)]
    fn with_big<R>(
        &mut self,
        place: Place,
        hash: u64,
        key: K::Ref<'_>,
        f: impl FnOnce(Entry<'_, V>) -> R,
    ) -> R {
        either!(self.with_far(place, hash, key, f))
    }
}

impl<K: Key, V: Record + Default> Snapshots for HeapState<K, V> {
    fn freeze(&mut self) {
        either!(self.freeze())
    }

    fn is_frozen(&self) -> bool {
        either!(self.is_frozen())
    }

    fn drain(&mut self, budget: usize) -> bool {
        either!(self.drain(budget))
    }

    fn take_snapshot(&mut self) -> KeyedSnapshot {
        either!(self.take_snapshot())
    }

    fn abandon(&mut self) -> bool {
        either!(self.abandon());
        true
    }

    fn restore(&mut self, group: KeyGroup, entries: u64, bytes: &[u8]) -> Result<(), RestoreError> {
        either!(self.restore(group, entries, bytes))
    }

    fn restore_entries(&mut self, group: KeyGroup, entries: u64, bytes: &[u8]) -> Result<(), RestoreError> {
        self.restore(group, entries, bytes)
    }
}

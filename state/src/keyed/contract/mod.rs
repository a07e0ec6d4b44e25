//! What holds of every backend, against a model: a sorted map of encoded keys to encoded values.

mod histories;

use super::{KeyedBackend, KeyedSnapshot};
use crate::key_group::{KeyGroupRange, Parallelism};
use crate::testing::Sample;
use crate::{HeapState, PagedState};
use millstream_io::record::{Key, Record};
use std::collections::BTreeMap;
use std::marker::PhantomData;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// A backend that can be made.
trait Made<K: Key, V: Record>: KeyedBackend<K, V> + Sized {
    /// Without keys, for these groups.
    fn made(range: KeyGroupRange, max: u32) -> Self;

    /// Without keys, for all of two groups.
    fn whole() -> Self {
        let whole = Parallelism::new(1, Some(2)).unwrap();
        Self::made(whole.range_of(0), whole.max())
    }
}

impl<K: Key, V: Record + Default> Made<K, V> for HeapState<K, V> {
    fn made(range: KeyGroupRange, max: u32) -> Self {
        Self::new(range, max)
    }
}

impl<K: Key, V: Record + Default> Made<K, V> for PagedState<K, V> {
    fn made(range: KeyGroupRange, max: u32) -> Self {
        // So that models of some hundred keys meet both forms, and the way from one to the other.
        Self::new(range, max).unwrap().small_up_to(640).chunks_of(500)
    }
}

/// What a state holds.
fn content<K: Key, V: Record, B: Made<K, V>>(state: &mut B) -> Model {
    let mut all = Model::new();
    state.for_each(|key, value| {
        assert_eq!(all.insert(K::encode(key), V::encode(value.view())), None, "each key once");
    });
    assert_eq!(all.len(), state.len());
    all
}

/// A state from a chain of snapshots.
fn restored<K: Key, V: Record, B: Made<K, V>>(chain: &[KeyedSnapshot]) -> B {
    let mut state = B::whole();
    for chunk in chain.iter().flat_map(|snapshot| &snapshot.groups) {
        state.restore(chunk.group, chunk.entries, &chunk.bytes).unwrap();
    }
    state.restored().unwrap();
    state
}

//! The table against a model: a sorted map of encoded keys to encoded values.

use super::*;
use crate::key_group::{Grouping, Parallelism};
use crate::testing::Sample;
use std::collections::BTreeMap;

mod damage;
mod growth;
mod model;
mod rescale;

/// Everything of one subtask, for all 100 groups (no power of two).
fn whole<K: Key, V: Record + Default>() -> HeapState<K, V> {
    part(1, 0)
}

/// The state of one of several subtasks.
fn part<K: Key, V: Record + Default>(parallelism: i64, subtask: usize) -> HeapState<K, V> {
    let parallelism = Parallelism::new(parallelism, Some(100)).unwrap();
    HeapState::new(parallelism.range_of(subtask), parallelism.max())
}

fn put<K: Key, V: Record + Default>(state: &mut HeapState<K, V>, key: &K, value: V) -> bool {
    state.with(K::hash(key.view()), key.view(), |mut entry| {
        *entry = value;
        entry.is_new()
    })
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// The entries of a snapshot, checked for what must hold of any.
fn entries<K: Key, V: Record>(snapshot: &KeyedSnapshot) -> Model {
    let mut all = Model::new();
    let mut last = None;
    for chunk in &snapshot.groups {
        assert!(last < Some(chunk.group), "groups in ascending order, each once");
        last = Some(chunk.group);
        assert!(chunk.entries > 0);
        let mut at = 0;
        for _ in 0..chunk.entries {
            let (key, key_size) = K::parse(&chunk.bytes[at..]).unwrap();
            let value_at = at + key_size;
            let (_, value_size) = V::parse(&chunk.bytes[value_at..]).unwrap();
            assert_eq!(Grouping::new(100).group(K::hash(key)), chunk.group);
            let value = chunk.bytes[value_at..value_at + value_size].to_vec();
            assert_eq!(all.insert(chunk.bytes[at..value_at].to_vec(), value), None, "each key once");
            at = value_at + value_size;
        }
        assert_eq!(at, chunk.bytes.len());
    }
    all
}

fn snapshot<K: Key, V: Record + Default>(state: &mut HeapState<K, V>) -> KeyedSnapshot {
    state.freeze();
    assert!(state.drain(usize::MAX));
    state.take_snapshot()
}

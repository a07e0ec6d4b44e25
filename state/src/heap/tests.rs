//! The table against a model: a sorted map of encoded keys to encoded values.

use super::*;
use crate::key_group::{Grouping, Parallelism};
use proptest::prelude::*;
use std::collections::BTreeMap;

mod damage;
mod growth;
mod model;
mod rescale;

/// Values and keys of a type, by number: different numbers give different keys.
trait Sample: Record {
    fn sample(n: u64) -> Self;
}

/// A word that looks like an empty slot.
const EMPTY_WORD: u64 = 0xe6d1_57a3_90bc_482f;

impl Sample for u64 {
    fn sample(n: u64) -> u64 {
        match n {
            0 => EMPTY_WORD,
            1 => u64::MAX,
            n => n - 2,
        }
    }
}

impl Sample for i64 {
    fn sample(n: u64) -> i64 {
        -(n as i64)
    }
}

impl Sample for i32 {
    fn sample(n: u64) -> i32 {
        n as i32 * 7919
    }
}

impl Sample for (u32, u32) {
    fn sample(n: u64) -> (u32, u32) {
        (n as u32 % 5, n as u32 / 5)
    }
}

impl Sample for (u64, u64) {
    fn sample(n: u64) -> (u64, u64) {
        (n, !n)
    }
}

/// Texts of 0 to 50 bytes: in the slot, in the arena, and of just sixteen.
impl Sample for String {
    fn sample(n: u64) -> String {
        match n {
            0 => String::new(),
            n if n % 3 == 0 => format!("{n:016}"),
            n if n % 3 == 1 => n.to_string(),
            n => format!("{n}{}", "é".repeat(n as usize % 23)),
        }
    }
}

impl Sample for (u64, String) {
    fn sample(n: u64) -> (u64, String) {
        (n % 3, String::sample(n / 3))
    }
}

impl Sample for () {
    fn sample(_: u64) {}
}

impl Sample for Option<String> {
    fn sample(n: u64) -> Option<String> {
        (n % 2 == 1).then(|| String::sample(n))
    }
}

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

fn restored<K: Key, V: Record + Default>(snapshot: &KeyedSnapshot) -> HeapState<K, V> {
    let mut state = whole();
    for chunk in &snapshot.groups {
        state.restore(chunk.group, chunk.entries, &chunk.bytes).unwrap();
    }
    state
}

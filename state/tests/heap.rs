//! The heap tables at their real sizes: through growth, the change from one shard to many, and a snapshot during it.

use millstream_io::record::Key;
use millstream_state::{HeapState, KeyedBackend, KeyedSnapshot, Parallelism, Snapshots};
use std::collections::HashMap;

const BEFORE: u64 = 30_000;
const AFTER: u64 = 150_000;

fn empty<K: Key>() -> HeapState<K, u64> {
    let whole = Parallelism::new(1, None).unwrap();
    HeapState::new(whole.range_of(0), whole.max())
}

fn add<K: Key>(state: &mut HeapState<K, u64>, key: &K, amount: u64) {
    state.with(K::hash(key.view()), key.view(), |mut sum| *sum += amount);
}

fn read<K: Key>(snapshot: &KeyedSnapshot) -> HashMap<Vec<u8>, u64> {
    let mut again = empty::<K>();
    for chunk in &snapshot.groups {
        again.restore(chunk.group, chunk.entries, &chunk.bytes).unwrap();
    }
    let mut all = HashMap::new();
    again.for_each(|key, value| assert_eq!(all.insert(K::encode(key), *value), None));
    assert_eq!(all.len() as u64, snapshot.entries());
    all
}

/// Freezes a table that is about to be spread over many shards, and lets it grow fivefold during the drain.
fn grow_while_frozen<K: Key>(key: impl Fn(u64) -> K) {
    let expected = |keys, amount: fn(u64) -> u64| -> HashMap<_, _> {
        (0..keys).map(|n| (K::encode(key(n).view()), amount(n))).collect()
    };
    let mut state = empty::<K>();
    (0..BEFORE).for_each(|n| add(&mut state, &key(n), n));
    assert!(!state.big());
    state.freeze();
    let mut complete = false;
    for n in 0..AFTER {
        add(&mut state, &key(n), 1);
        if n % 100 == 99 {
            complete = state.drain(500);
        }
    }
    assert!(complete && state.big());
    assert_eq!(read::<K>(&state.take_snapshot()), expected(BEFORE, |n| n));
    state.freeze();
    while !state.drain(1 << 16) {}
    assert_eq!(read::<K>(&state.take_snapshot()), expected(AFTER, |n| if n < BEFORE { n + 1 } else { 1 }));
}

#[test]
fn cp_24_words_grow_while_frozen() {
    grow_while_frozen(|n| n);
}

#[test]
fn cp_24_short_and_long_texts_grow_while_frozen() {
    grow_while_frozen(|n| "key".repeat(n as usize % 8) + &n.to_string());
}

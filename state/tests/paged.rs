//! The paged backend at its real sizes: through growth and division of buckets, with removals, and a snapshot now and then.

use millstream_io::record::{Key, Record};
use millstream_state::keyed::Extent;
use millstream_state::{KeyedBackend, KeyedSnapshot, PagedState, Parallelism, Snapshots};
use std::collections::HashMap;

/// Enough for buckets of sixteen pages, and their division, in each of four groups.
const KEYS: u64 = 60_000;

fn empty<K: Key, V: Record + Default>() -> PagedState<K, V> {
    let whole = Parallelism::new(1, Some(4)).unwrap();
    PagedState::new(whole.range_of(0), whole.max()).unwrap()
}

fn content<K: Key, V: Record + Default>(chain: &[KeyedSnapshot]) -> HashMap<Vec<u8>, Vec<u8>> {
    let mut state = restored::<K, V>(chain);
    let mut all = HashMap::new();
    state.for_each(|key, value| assert_eq!(all.insert(K::encode(key), V::encode(value.view())), None));
    all
}

fn restored<K: Key, V: Record + Default>(chain: &[KeyedSnapshot]) -> PagedState<K, V> {
    let mut state = empty::<K, V>();
    for chunk in chain.iter().flat_map(|snapshot| &snapshot.groups) {
        state.restore(chunk.group, chunk.entries, &chunk.bytes).unwrap();
    }
    state.restored().unwrap();
    state
}

/// Sets, changes and removes keys in an order without a pattern; freezes now and then, and goes on while the snapshot is
/// drained. Now and then it goes on from what was restored, or with a new base. The first keys are few: many lines of their
/// buckets are written only later.
fn live<K: Key, V: Record + Default>(key: impl Fn(u64) -> K, value: impl Fn(u64) -> V) {
    let mut state = empty::<K, V>();
    let (mut model, mut frozen) = (HashMap::new(), None);
    let mut chain: Vec<KeyedSnapshot> = Vec::new();
    let mut seed = 1u64;
    let mut changes = 0;
    for step in 0..KEYS * 5 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (n, what) = ((seed >> 20) % KEYS.min(20_000 + step), seed >> 60);
        let key = key(n);
        let new = (what > 2).then(|| value(step));
        let bytes = K::encode(key.view());
        match &new {
            Some(value) => drop(model.insert(bytes, V::encode(value.view()))),
            None => drop(model.remove(&bytes)),
        }
        state.with(K::hash(key.view()), key.view(), |mut entry| match new {
            Some(value) => *entry = value,
            None => entry.clear(),
        });
        if step % 30_000 == 29_999 {
            state.freeze();
            frozen = Some(model.clone());
        }
        if frozen.is_some() && step % 100 == 0 && state.drain(200_000) {
            let snapshot = state.take_snapshot();
            changes += u32::from(snapshot.extent == Extent::Changes);
            if snapshot.extent != Extent::Changes {
                chain.clear();
            }
            chain.push(snapshot);
            let now = frozen.take().unwrap();
            assert!(content::<K, V>(&chain) == now, "step {step}");
            match step / 30_000 % 4 {
                1 => {
                    state = restored(&chain);
                    model = now;
                    if step / 30_000 % 8 == 1 || !state.build_on_restored() {
                        chain.clear();
                    }
                }
                2 => state.forget_base(),
                _ => {}
            }
        }
    }
    assert_eq!(state.len(), model.len());
    assert!(changes >= 4, "{changes} snapshots of changes");
}

#[test]
fn cp_24_words_live_on_pages() {
    live::<u64, u64>(|n| n, |step| step);
}

#[test]
fn cp_24_wide_values_of_a_fixed_size_live_on_pages() {
    live::<u64, [u8; 24]>(|n| n, |step| [step as u8; 24]);
    live::<(u64, u32), ((u64, u64), [u8; 32])>(|n| (n, 7), |step| ((step, !step), [step as u8; 32]));
}

#[test]
fn cp_24_texts_of_many_lengths_live_on_pages() {
    live::<String, String>(
        |n| format!("{n}-{}", "k".repeat(n as usize % 30)),
        |step| "v".repeat(step as usize % 200),
    );
}

fn snapshot<K: Key, V: Record + Default>(state: &mut PagedState<K, V>) -> KeyedSnapshot {
    state.freeze();
    while !state.drain(1 << 20) {}
    state.take_snapshot()
}

/// Pages of a bucket that no line of was in the snapshot that was restored are no less its pages: what is written there
/// later is in every base from then on.
#[test]
fn cp_24_a_base_has_what_was_written_behind_the_end_of_what_was_restored() {
    let put = |state: &mut PagedState<String, u64>, keys: std::ops::Range<u64>| {
        for n in keys {
            let key = format!("a key of some length, number {n}");
            state.with(String::hash(&key), &key, |mut value| *value = n);
        }
    };
    for more in [11_000, 12_000, 14_000, 18_000] {
        let mut state = empty::<String, u64>();
        put(&mut state, 0..10_000);
        let mut state = restored::<String, u64>(&[snapshot(&mut state)]);
        put(&mut state, 10_000..more);
        snapshot(&mut state);
        state.forget_base();
        let base = snapshot(&mut state);
        assert_eq!(base.extent, Extent::Base);
        assert_eq!(content::<String, u64>(&[base]).len() as u64, more);
    }
}

//! The entries of a group are those that the backends hold, whatever form their snapshots have.

use super::*;
use crate::descriptor::StateKind;
use crate::keyed::{Extent, KeyedSnapshot};
use crate::testing::{Sample, value_state};
use crate::{
    HeapOrdered, HeapState, KeyedBackend, OrderedBackend, PagedOrdered, PagedState, Parallelism, Snapshots,
};
use millstream_io::record::Key;
use std::collections::BTreeMap;

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

fn taken(state: &mut impl Snapshots) -> KeyedSnapshot {
    state.freeze();
    while !state.drain(usize::MAX) {}
    let mut chunks = Vec::new();
    while let Some(chunk) = state.take_chunk() {
        chunks.push(chunk);
    }
    crate::testing::joined(&chunks, state.take_snapshot())
}

/// What the rows of all groups of some snapshots are together.
fn rows(split: &Split, backend: Backend, snapshots: &[KeyedSnapshot]) -> Content {
    let mut groups = BTreeMap::<_, Source>::new();
    for chunk in snapshots.iter().flat_map(|snapshot| &snapshot.groups) {
        let empty = Source { group: chunk.group, backend, entries: 0, parts: Vec::new() };
        let source = groups.entry(chunk.group).or_insert(empty);
        source.entries = chunk.entries;
        source.parts.push(chunk.bytes.clone());
    }
    let mut all = Content::new();
    for source in groups.into_values() {
        let rows = Rows::sorted(split, source).unwrap();
        assert!(rows.iter().is_sorted_by(|a, b| a[0] < b[0]));
        for [key, value] in rows.iter() {
            assert_eq!(all.insert(key.to_vec(), value.to_vec()), None);
        }
    }
    all
}

fn of_both_backends<K: Sample + Key, V: Sample + Default>() {
    let whole = Parallelism::new(1, Some(4)).unwrap();
    let descriptor =
        StateDescriptor { key: K::schema(), value: V::schema(), ..value_state("a", "u64", "u64") };
    let split = Split::of(&descriptor).unwrap();
    let mut heap = HeapState::<K, V>::new(whole.range_of(0), whole.max());
    let mut paged = PagedState::<K, V>::new(whole.range_of(0), whole.max()).unwrap().small_up_to(0);
    let mut few = PagedState::<K, V>::new(whole.range_of(0), whole.max()).unwrap();
    let (mut model, mut chain) = (Content::new(), Vec::new());
    for round in 0..3u64 {
        for n in 0..2000 {
            let key = K::sample(n * (round + 1) % 1500);
            let (hash, gone) = (K::hash(key.view()), n % 7 == round);
            heap.with(hash, key.view(), |mut e| if gone { e.clear() } else { *e = V::sample(n + round) });
            paged.with(hash, key.view(), |mut e| if gone { e.clear() } else { *e = V::sample(n + round) });
            few.with(hash, key.view(), |mut e| if gone { e.clear() } else { *e = V::sample(n + round) });
            match gone {
                true => drop(model.remove(&K::encode(key.view()))),
                false => drop(model.insert(K::encode(key.view()), V::encode(V::sample(n + round).view()))),
            }
        }
        let snapshot = taken(&mut paged);
        if snapshot.extent == Extent::Whole {
            // What pages do not take is kept as a whole, and so is each snapshot of it.
            chain.clear();
        }
        chain.push(snapshot);
        assert!(rows(&split, Backend::Paged, &chain) == model, "paged, round {round}");
        assert!(rows(&split, Backend::Hashmap, &[taken(&mut heap)]) == model, "hashmap, round {round}");
    }
    assert!(rows(&split, Backend::Paged, &[taken(&mut few)]) == model, "entries");
}

#[test]
fn pa_04_words_of_either_backend_are_the_same() {
    of_both_backends::<u64, u64>();
    of_both_backends::<i32, ()>();
}

#[test]
fn pa_04_slots_of_either_backend_are_the_same() {
    of_both_backends::<(u64, u64), u64>();
    of_both_backends::<u64, ((u64, u64), (u64, u64), (u64, u64))>();
}

#[test]
fn pa_04_records_of_either_backend_are_the_same() {
    of_both_backends::<String, Vec<u8>>();
    of_both_backends::<(u64, String), Option<String>>();
}

#[test]
fn pa_04_ordered_state_of_either_backend_is_the_same() {
    let whole = Parallelism::new(1, Some(4)).unwrap().range_of(0);
    let descriptor = StateDescriptor {
        kind: StateKind::Map,
        layout: Layout::Ordered,
        ..value_state("a", "of no known type", "u64")
    };
    let split = Split::of(&descriptor).unwrap();
    let (mut heap, mut paged) = (HeapOrdered::new(whole), PagedOrdered::new(whole).small_up_to(0));
    let (mut model, mut chain) = (Content::new(), Vec::new());
    for round in 0..3usize {
        for n in 0..1500usize {
            let key = format!("{}", n * (round + 1) % 1100).into_bytes();
            let group = KeyGroup((key[0] % 4).into());
            if n % 5 == round {
                heap.remove(group, &key);
                paged.remove(group, &key);
                model.remove(&key);
            } else {
                // Some in runs.
                let value = vec![n as u8; if n % 50 == 7 { 3000 + round } else { n % 30 }];
                heap.put(group, &key, &value).unwrap();
                paged.put(group, &key, &value).unwrap();
                model.insert(key, value);
            }
        }
        chain.push(taken(&mut paged));
        assert!(rows(&split, Backend::Paged, &chain) == model, "paged, round {round}");
        assert!(rows(&split, Backend::Hashmap, &[taken(&mut heap)]) == model, "hashmap, round {round}");
    }
}

/// MS-073: whatever is in the bytes, the answer is rows or an error.
#[test]
fn ms_073_changed_bytes_are_rows_or_an_error() {
    fn every_change<K: Sample + Key, V: Sample + Default>() {
        let whole = Parallelism::new(1, Some(1)).unwrap();
        let descriptor =
            StateDescriptor { key: K::schema(), value: V::schema(), ..value_state("a", "u64", "u64") };
        let split = Split::of(&descriptor).unwrap();
        let mut paged = PagedState::<K, V>::new(whole.range_of(0), whole.max()).unwrap().small_up_to(0);
        for n in 0..20 {
            let (key, value) = (K::sample(n), V::sample(n));
            paged.with(K::hash(key.view()), key.view(), |mut entry| *entry = value);
        }
        let snapshot = taken(&mut paged);
        let chunk = &snapshot.groups[0];
        for at in 0..chunk.bytes.len() {
            for byte in [0, 1, 2, 3, 5, 6, 0x7f, 0xff] {
                let mut bytes = chunk.bytes.clone();
                bytes[at] = byte;
                let source =
                    Source { group: KeyGroup(0), backend: Backend::Paged, entries: 20, parts: vec![bytes] };
                let _ = Rows::sorted(&split, source);
            }
        }
    }
    every_change::<u64, u64>();
    every_change::<(u64, u64), u64>();
    every_change::<String, Vec<u8>>();
}

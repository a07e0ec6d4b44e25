//! Bytes that are not what the backend writes (MS-073): no panic, and no state that makes no sense.

use super::*;
use crate::key_group::Parallelism;
use crate::paged::image::{entries, put_head};
use crate::paged::memory::{LINE, PAGE};
use crate::paged::{ENTRIES, PAGES};
use crate::snapshot::merge;
use proptest::prelude::*;

const GROUP: KeyGroup = KeyGroup(1);

const KEYS: u64 = 400;

type Part = (u64, Vec<u8>);

fn empty() -> PagedOrdered {
    PagedOrdered::new(Parallelism::new(1, Some(2)).unwrap().range_of(0)).small_up_to(0)
}

fn key(n: u64) -> Vec<u8> {
    [&n.to_be_bytes()[6..], &b"k".repeat(n as usize % 40)].concat()
}

fn value(n: u64) -> Vec<u8> {
    let len = if n.is_multiple_of(50) { 100 + 3 * n } else { n % 20 };
    vec![n as u8; len as usize]
}

/// A base and two sets of changes: the group's bytes of each, and its entries.
fn parts() -> Vec<Part> {
    let mut state = empty();
    let mut parts = Vec::new();
    for round in 0..3 {
        for n in (round * 50..KEYS).step_by(1 + 20 * round as usize) {
            if n % 11 == round {
                state.remove(GROUP, &key(n));
            } else {
                state.put(GROUP, &key(n), &value(n + round)).unwrap();
            }
        }
        state.freeze();
        assert!(state.drain(usize::MAX));
        let snapshot = state.take_snapshot();
        assert_eq!(snapshot.extent, if round == 0 { Extent::Base } else { Extent::Changes });
        let [chunk] = <[_; 1]>::try_from(snapshot.groups).unwrap();
        parts.push((chunk.entries, chunk.bytes));
    }
    parts
}

/// Restores, and uses what was restored.
fn restore(parts: &[Part]) -> Result<usize, RestoreError> {
    let mut state = empty();
    for (entries, bytes) in parts {
        state.restore(GROUP, *entries, bytes)?;
    }
    state.restored()?;
    let restored = state.len();
    let mut seen = Vec::new();
    state.scan(GROUP, b"", &mut |key, value| {
        seen.push((key.to_vec(), value.len()));
        true
    });
    assert_eq!(seen.len(), restored);
    assert!(seen.is_sorted(), "in order");
    for n in 0..KEYS * 2 {
        let new = state.get(GROUP, &key(n)).is_none();
        assert_eq!(new, seen.binary_search_by(|(other, _)| other.cmp(&key(n))).is_err());
        if n % 3 == 0 {
            assert_eq!(state.remove(GROUP, &key(n)), !new);
        } else {
            state.put(GROUP, &key(n), &value(n)).unwrap();
        }
    }
    while let Some((key, _)) = state.last_before(GROUP, &[0xff; 120]) {
        let key = key.to_vec();
        assert!(state.remove(GROUP, &key));
    }
    state.freeze();
    assert!(state.drain(usize::MAX));
    state.take_snapshot();
    Ok(restored)
}

/// The pages that parts add up to.
fn pages(parts: &[Part]) -> Vec<[u8; PAGE]> {
    let mut pages = Vec::new();
    for entry in parts.iter().flat_map(|(_, bytes)| entries(&bytes[1..])) {
        let (page, lines, content) = entry.unwrap();
        pages.resize(pages.len().max(page as usize + 1), [0; PAGE]);
        let lines = (0..64).filter(|line| lines >> line & 1 == 1);
        for (line, content) in lines.zip(content.chunks_exact(LINE)) {
            pages[page as usize][line * LINE..][..LINE].copy_from_slice(content);
        }
    }
    pages
}

/// One part with all of these pages.
fn part(entries: u64, pages: &[[u8; PAGE]]) -> Part {
    let (mut bytes, mut last) = (vec![PAGES], 0);
    for (page, content) in pages.iter().enumerate() {
        put_head(page as u32, u64::MAX, &mut last, &mut bytes);
        bytes.extend_from_slice(content);
    }
    (entries, bytes)
}

fn half(page: &[u8; PAGE], at: usize) -> usize {
    usize::from(u16::from_le_bytes([page[at], page[at + 1]]))
}

fn set_half(page: &mut [u8; PAGE], at: usize, value: usize) {
    page[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
}

/// Where a slot is; header and slots by hand, after the format.
fn slot(page: &[u8; PAGE], index: usize) -> usize {
    16 + 2 * (half(page, 2) + index)
}

/// Where the value of an entry is.
fn value_at(page: &[u8; PAGE], index: usize) -> usize {
    let at = half(page, slot(page, index));
    at + 4 + (half(page, at) & 0x7fff)
}

fn first_of_kind(pages: &[[u8; PAGE]], kind: u8) -> usize {
    pages.iter().position(|page| page[0] == kind).unwrap()
}

#[test]
fn what_is_whole_is_restored() {
    let parts = parts();
    let all = parts[2].0;
    assert_eq!(restore(&parts), Ok(all as usize));
    assert_eq!(restore(&[part(all, &pages(&parts))]), Ok(all as usize));
}

#[test]
fn a_part_that_is_missing_short_or_twice_is_refused() {
    let all = parts();
    assert!(restore(&all[1..]).is_err(), "no base");
    for cut in 0..all[2].1.len() {
        let mut cut_off = all.clone();
        cut_off[2].1.truncate(cut);
        // Between two entries it is the lengths and checksums around it that tell.
        let whole_entries = cut > 0 && entries(&cut_off[2].1[1..]).all(|entry| entry.is_ok());
        assert!(restore(&cut_off).is_err() || whole_entries, "cut to {cut}");
    }
    let none = vec![ENTRIES];
    assert!(restore(&[all[0].clone(), (0, none.clone())]).is_err(), "entries behind pages");
    assert!(restore(&[(0, none), all[0].clone()]).is_err(), "pages behind entries");
    assert!(restore(&[(0, vec![2])]).is_err(), "a form that is not known");
    assert!(restore(&[(0, vec![])]).is_err(), "no form");
}

/// Merging looks at lines alone: what they hold does not matter to it.
#[test]
fn be_05_parts_that_were_merged_are_worth_the_same() {
    let all = parts();
    let merged = |older: &Part, newer: &Part| (newer.0, merge(&older.1, &newer.1).unwrap());
    let (early, late) = (merged(&all[0], &all[1]), merged(&all[1], &all[2]));
    for chain in
        [vec![early.clone(), all[2].clone()], vec![all[0].clone(), late], vec![merged(&early, &all[2])]]
    {
        assert_eq!(restore(&chain), Ok(all[2].0 as usize));
        assert_eq!(pages(&chain), pages(&all));
    }
}

#[test]
fn ms_073_an_absurd_page_is_refused() {
    let mut bytes = vec![PAGES, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0];
    bytes.extend([1; 64]);
    let refused = restore(&[(1, bytes)]).unwrap_err();
    assert!(refused.to_string().contains("larger than there can be"), "{refused}");
}

/// Each thing that the check looks at, wrong by itself.
#[test]
fn ms_073_pages_that_are_no_tree_are_refused() {
    type Edit = fn(&mut Vec<[u8; PAGE]>);
    let edits: [(&str, Edit); 19] = [
        ("first page of a group is not the root", |pages| pages[0][0] = 0),
        ("kind that is not known", |pages| pages[0][0] = 1),
        ("level of its place", |pages| pages[0][1] += 1),
        ("level of its place", |pages| pages[0][0] = 3),
        ("level of its place", |pages| {
            let leaf = first_of_kind(pages, 3);
            pages[leaf][1] = 1;
        }),
        ("two entries lead to one page", |pages| {
            let at = value_at(&pages[0], 1);
            pages[0][at..at + 4].fill(0);
        }),
        ("where nothing begins", |pages| {
            let at = value_at(&pages[0], 1);
            pages[0][at..at + 4].fill(0xff);
        }),
        ("something else than a node", |pages| {
            let (run, at) = (first_of_kind(pages, 6), value_at(&pages[0], 1));
            pages[0][at..at + 4].copy_from_slice(&(run as u32).to_le_bytes());
        }),
        ("nothing leads to a page", |pages| {
            let leaf = pages[first_of_kind(pages, 3)];
            pages.extend([leaf, [0; PAGE]]);
        }),
        ("a node has no entries", |pages| {
            let leaf = first_of_kind(pages, 3);
            set_half(&mut pages[leaf], 4, 0);
        }),
        ("slots of a node go beyond", |pages| set_half(&mut pages[0], 4, 5000)),
        ("slots of a node go beyond", |pages| set_half(&mut pages[0], 6, 600)),
        ("slot leads to no entry", |pages| {
            let at = slot(&pages[0], 1);
            set_half(&mut pages[0], at, 510);
        }),
        ("longer than it may be", |pages| {
            let at = half(&pages[0], slot(&pages[0], 1));
            set_half(&mut pages[0], at, 101);
        }),
        ("not as long as a number", |pages| {
            let at = half(&pages[0], slot(&pages[0], 1));
            set_half(&mut pages[0], at + 2, 3);
        }),
        ("entries of a node overlap", |pages| {
            let leaf = first_of_kind(pages, 3);
            let (from, to) = (slot(&pages[leaf], 1), slot(&pages[leaf], 2));
            let at = half(&pages[leaf], from);
            set_half(&mut pages[leaf], to, at);
        }),
        ("not as long as it says", |pages| {
            let live = half(&pages[0], 8);
            set_half(&mut pages[0], 8, live + 1);
        }),
        ("not in their order", |pages| {
            let leaf = first_of_kind(pages, 3);
            let (a, b) = (slot(&pages[leaf], 1), slot(&pages[leaf], 2));
            let (first, second) = (half(&pages[leaf], a), half(&pages[leaf], b));
            set_half(&mut pages[leaf], a, second);
            set_half(&mut pages[leaf], b, first);
        }),
        ("not in a run of its size", |pages| {
            let run = first_of_kind(pages, 6);
            pages[run][1] = 1 - pages[run][1];
        }),
    ];
    let parts = parts();
    for (problem, edit) in edits {
        let mut pages = pages(&parts);
        edit(&mut pages);
        let refused = restore(&[part(parts[2].0, &pages)]).unwrap_err();
        assert!(refused.to_string().contains(problem), "{problem}: {refused}");
    }
    let refused = restore(&[part(parts[2].0 + 1, &pages(&parts))]).unwrap_err();
    assert!(refused.to_string().contains("as many entries"), "{refused}");
}

#[test]
fn a_small_state_takes_no_pages_and_a_large_one_moves_there() {
    let whole = Parallelism::new(1, None).unwrap();
    let mut state = PagedOrdered::new(whole.range_of(0));
    for n in 0..1000u16 {
        state.put(KeyGroup(n % 128), &n.to_be_bytes(), b"value").unwrap();
    }
    assert!(state.tree.is_none());
    let mut n = 1000;
    while state.tree.is_none() {
        state.put(KeyGroup(n % 128), &n.to_be_bytes(), b"value").unwrap();
        n += 1;
    }
    // A key is 2 bytes, a value 5, and 64 are taken for each.
    assert_eq!((usize::from(n), state.len()), (SMALL / 71 + 1, n.into()));
    assert_eq!(state.first_from(KeyGroup(5), b""), Some((&[0, 5][..], &b"value"[..])));
}

/// A snapshot of the small state that is under way when the state moves is that of the freeze.
#[test]
fn cp_24_a_snapshot_under_way_outlives_the_move() {
    let whole = Parallelism::new(1, Some(2)).unwrap();
    let mut state = PagedOrdered::new(whole.range_of(0)).small_up_to(1000);
    state.put(GROUP, b"a", b"1").unwrap();
    state.freeze();
    state.put(GROUP, b"a", &[2; 1000]).unwrap();
    assert!(state.tree.is_some());
    assert!(state.drain(1));
    let snapshot = state.take_snapshot();
    assert_eq!(snapshot.extent, Extent::Whole);
    let mut again = PagedOrdered::new(whole.range_of(0));
    again.restore(GROUP, 1, &snapshot.groups[0].bytes).unwrap();
    again.restored().unwrap();
    assert_eq!(again.get(GROUP, b"a"), Some(&b"1"[..]));
}

fn flips(parts: &mut [Part], at: &[prop::sample::Index], value: u8) {
    for (n, at) in at.iter().enumerate() {
        let bytes = &mut parts[n % 3].1;
        let at = at.index(bytes.len());
        bytes[at] = value.wrapping_add(n as u8);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn ms_073_changed_bytes_never_panic(
        at in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        value in prop_oneof![Just(0), Just(0xff), any::<u8>()],
    ) {
        let mut parts = parts();
        flips(&mut parts, &at, value);
        let _ = restore(&parts);
    }

    /// Headers, slots and what is in front of keys are where changes hurt.
    #[test]
    fn ms_073_changed_heads_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..64usize, any::<u8>()), 1..4),
    ) {
        let parts = parts();
        let mut pages = pages(&parts);
        for (page, at, value) in edits {
            let page = page.index(pages.len());
            pages[page][at] = value;
        }
        let _ = restore(&[part(parts[2].0, &pages)]);
    }

    #[test]
    fn ms_073_any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), entries in 0..5u64) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first %= 3;
        }
        let _ = restore(&[(entries, bytes)]);
    }
}

//! Bytes that are not what the backend writes (MS-073): no panic, and no state that makes no sense.

use super::*;
use crate::key_group::Parallelism;
use crate::testing::Sample;
use proptest::prelude::*;

const KEYS: u64 = 400;

/// What has slots, as a value.
type Six = ((u64, u64), (u64, u64), (u64, u64));

fn empty<K: Key, V: Record + Default>() -> PagedState<K, V> {
    let whole = Parallelism::new(1, Some(2)).unwrap();
    PagedState::new(whole.range_of(0), whole.max()).unwrap().small_up_to(0)
}

/// A base and two sets of changes: one key group's bytes of each, and its entries.
fn parts<K: Sample + Key, V: Sample + Default>() -> Vec<(u64, Vec<u8>)> {
    let mut state = empty::<K, V>();
    let mut parts = Vec::new();
    for round in 0..3 {
        for n in (round * 50..KEYS).step_by(1 + 20 * round as usize) {
            let key = K::sample(n);
            state.with(K::hash(key.view()), key.view(), |mut entry| {
                if n % 11 == round { entry.clear() } else { *entry = V::sample(n + round) }
            });
        }
        state.freeze();
        assert!(state.drain(usize::MAX));
        let snapshot = state.take_snapshot();
        assert_eq!(snapshot.extent, if round == 0 { Extent::Base } else { Extent::Changes });
        let group = snapshot.groups.into_iter().find(|chunk| chunk.group == KeyGroup(1)).unwrap();
        parts.push((group.entries, group.bytes));
    }
    parts
}

/// Restores, and uses what was restored.
fn restore<K: Sample + Key, V: Sample + Default>(parts: &[(u64, Vec<u8>)]) -> Result<usize, RestoreError> {
    let mut state = empty::<K, V>();
    for (entries, bytes) in parts {
        state.restore(KeyGroup(1), *entries, bytes)?;
    }
    state.restored()?;
    let restored = state.len();
    let mut all = 0;
    state.for_each(|_, value| {
        *value = V::sample(all);
        all += 1;
    });
    assert_eq!(all as usize, restored);
    for n in 0..KEYS * 2 {
        let key = K::sample(n);
        if state.index(state_group(&key)) == 1 {
            state.with(K::hash(key.view()), key.view(), |mut entry| {
                if n % 3 == 0 { entry.clear() } else { *entry = V::sample(n) }
            });
        }
    }
    state.freeze();
    assert!(state.drain(usize::MAX));
    state.take_snapshot();
    Ok(restored)
}

fn state_group<K: Key>(key: &K) -> KeyGroup {
    Grouping::new(2).group(K::hash(key.view()))
}

fn flips<K: Sample + Key, V: Sample + Default>(at: &[prop::sample::Index], value: u8) {
    let mut parts = parts::<K, V>();
    for (n, at) in at.iter().enumerate() {
        let bytes = &mut parts[n % 3].1;
        let at = at.index(bytes.len());
        bytes[at] = value.wrapping_add(n as u8);
    }
    let _ = restore::<K, V>(&parts);
}

#[test]
fn what_is_whole_is_restored() {
    for (parts, restored) in [
        (parts::<u64, u64>(), restore::<u64, u64> as fn(&[_]) -> _),
        (parts::<String, String>(), restore::<String, String>),
        (parts::<i32, (u64, u64)>(), restore::<i32, (u64, u64)>),
        (parts::<u64, Six>(), restore::<u64, Six>),
    ] {
        assert_eq!(restored(&parts), Ok(parts[2].0 as usize));
    }
}

#[test]
fn a_part_that_is_missing_short_or_twice_is_refused() {
    let all = parts::<String, String>();
    let restore = restore::<String, String>;
    assert!(restore(&all[1..]).is_err(), "no base");
    for cut in 0..all[2].1.len() {
        let mut cut_off = all.clone();
        cut_off[2].1.truncate(cut);
        // Between two entries it is the lengths and checksums around it that tell.
        let whole_entries = cut > 0 && image::entries(&cut_off[2].1[1..]).all(|entry| entry.is_ok());
        assert!(restore(&cut_off).is_err() || whole_entries, "cut to {cut}");
    }
    let mut fewer = all.clone();
    fewer[2].0 -= 1;
    assert!(restore(&fewer).is_err(), "another number of entries");
    let entries = vec![ENTRIES];
    assert!(restore(&[all[0].clone(), (0, entries.clone())]).is_err(), "entries behind pages");
    assert!(restore(&[(0, entries), all[0].clone()]).is_err(), "pages behind entries");
    assert!(restore(&[(0, vec![2])]).is_err(), "a form that is not known");
}

/// MS-073: a key that is in a bucket twice, or where no lookup comes to it, is refused though all else is right.
#[test]
fn ms_073_a_key_that_is_twice_or_out_of_place_is_refused() {
    const SLOT: usize = 16;
    let (entries, bytes) = parts::<u64, u64>().swap_remove(0);
    // Where lines of slots are.
    let mut lines = Vec::new();
    for (_, mask, content) in image::entries(&bytes[1..]).map(Result::unwrap) {
        let begin = content.as_ptr().addr() - bytes.as_ptr().addr();
        let numbers = (0..64).filter(|line| mask >> line & 1 != 0);
        lines.extend(numbers.zip((begin..).step_by(64)).filter(|(line, _)| *line > 0).map(|(_, at)| at));
    }
    let used = |at: usize| bytes[at..at + SLOT].iter().any(|byte| *byte != 0);
    let refused = |to: usize, from: usize, cleared: bool| {
        let mut bytes = bytes.clone();
        bytes.copy_within(from..from + SLOT, to);
        if cleared {
            bytes[from..from + SLOT].fill(0);
        }
        let error = restore::<u64, u64>(&[(entries, bytes)]).unwrap_err();
        assert!(error.to_string().contains("not where it should be, or twice"), "{error}");
    };
    assert_eq!(restore::<u64, u64>(&[(entries, bytes.clone())]), Ok(entries as usize));
    let twice: Vec<_> = lines.iter().filter(|at| used(**at) && used(**at + SLOT)).collect();
    twice.iter().for_each(|at| refused(**at + SLOT, **at, false));
    let mut slots = lines.iter().flat_map(|at| (0..4).map(move |slot| at + slot * SLOT));
    let empty = slots.find(|at| !used(*at)).unwrap();
    let alone: Vec<_> = lines.iter().filter(|at| used(**at)).collect();
    alone.iter().for_each(|at| refused(empty, **at, true));
    assert!(twice.len() > 5 && alone.len() > 5, "{} {}", twice.len(), alone.len());
}

/// A page with a number beyond reason asks for no memory.
#[test]
fn ms_073_an_absurd_page_is_refused() {
    let mut bytes = vec![PAGES, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0];
    bytes.extend([1; 64]);
    let refused = restore::<u64, u64>(&[(1, bytes)]).unwrap_err();
    assert!(refused.to_string().contains("larger than there can be"), "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn ms_073_changed_bytes_never_panic(
        at in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        value in prop_oneof![Just(0), Just(0xff), any::<u8>()],
    ) {
        flips::<u64, u64>(&at, value);
        flips::<String, String>(&at, value);
        flips::<(u64, u64), Six>(&at, value);
        flips::<u64, Option<String>>(&at, value);
    }

    #[test]
    fn ms_073_any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), entries in 0..5u64) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first %= 3;
        }
        let _ = restore::<String, u64>(&[(entries, bytes)]);
    }
}

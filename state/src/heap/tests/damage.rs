//! Snapshots that were damaged on their way.

use super::*;
use crate::keyed::RestoreError;
use proptest::prelude::*;

fn sample() -> (KeyGroup, u64, Vec<u8>) {
    let mut state = whole::<String, String>();
    for n in 0..600 {
        put(&mut state, &String::sample(n), String::sample(n * 31));
    }
    let largest = snapshot(&mut state).groups.into_iter().max_by_key(|chunk| chunk.entries).unwrap();
    assert!(largest.entries > 3);
    (largest.group, largest.entries, largest.bytes)
}

#[test]
fn entries_that_end_too_early_are_refused() {
    let (group, entries, bytes) = sample();
    for len in 0..bytes.len() {
        let refused = whole::<String, String>().restore(group, entries, &bytes[..len]);
        assert!(matches!(refused, Err(RestoreError::Decode { .. })), "{len}: {refused:?}");
    }
    whole::<String, String>().restore(group, entries, &bytes).unwrap();
}

#[test]
fn a_wrong_number_of_entries_is_refused() {
    let (group, entries, bytes) = sample();
    let refused = |entries| whole::<String, String>().restore(group, entries, &bytes).unwrap_err();
    assert!(matches!(refused(entries - 1), RestoreError::Trailing { .. }));
    assert!(matches!(refused(entries + 1), RestoreError::Decode { .. }));
    assert!(matches!(refused(u64::MAX), RestoreError::Decode { .. }));
}

#[test]
fn more_empty_entries_than_there_can_be_are_refused_at_once() {
    let group = Grouping::new(100).group(<() as Key>::hash(()));
    let refused = whole::<(), ()>().restore(group, u64::MAX, &[]);
    assert_eq!(refused, Err(RestoreError::Duplicate { group, entry: 1, at: 0 }));
}

#[test]
fn a_key_of_another_group_is_refused() {
    let (group, entries, bytes) = sample();
    let other = KeyGroup((group.0 + 1) % 100);
    let refused = whole::<String, String>().restore(other, entries, &bytes);
    assert_eq!(refused, Err(RestoreError::Misplaced { group: other, entry: 0, at: 0, belongs: group }));
}

#[test]
fn the_same_key_twice_is_refused() {
    let (group, entries, bytes) = sample();
    let mut state = whole::<String, String>();
    state.restore(group, entries, &bytes).unwrap();
    assert_eq!(
        state.restore(group, entries, &bytes),
        Err(RestoreError::Duplicate { group, entry: 0, at: 0 })
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn damaged_bytes_never_panic(position in any::<prop::sample::Index>(), value: u8, claimed in 0..40u64) {
        let (group, _, mut bytes) = sample();
        let at = position.index(bytes.len());
        bytes[at] = value;
        let mut state = whole::<String, Option<String>>();
        let _ = state.restore(group, claimed, &bytes);
        let mut state = whole::<String, String>();
        let _ = state.restore(group, claimed, &bytes);
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), entries: u64, group in 0..100u16) {
        let _ = whole::<String, u64>().restore(KeyGroup(group), entries, &bytes);
        let _ = whole::<(u64, String), Option<String>>().restore(KeyGroup(group), entries, &bytes);
        let _ = whole::<u64, ()>().restore(KeyGroup(group), entries, &bytes);
        let _ = whole::<(), ()>().restore(KeyGroup(group), entries, &bytes);
    }
}

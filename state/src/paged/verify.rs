//! For every kind of page: base and diffs are what was there, byte for byte, and no line changes that is not dirty. The
//! comparing is done by the [shadow](super::shadow), here and in all other unit tests; these ask whether it had something to compare.

use super::*;
use crate::key_group::Parallelism;
use crate::testing::Sample;

/// Changes and removes keys, freezes, and goes on while the snapshot is drained; abandons some of them on the way. Returns how
/// many pages were compared, by their first bytes.
fn compared<K: Sample + Key, V: Sample + Default>() -> [usize; 7] {
    let whole = Parallelism::new(1, Some(2)).unwrap();
    let mut state = PagedState::<K, V>::new(whole.range_of(0), whole.max()).unwrap().small_up_to(0);
    for round in 0..6 {
        for n in 0..3000u64 {
            let key = K::sample(n * (round + 1) % 2500);
            state.with(K::hash(key.view()), key.view(), |mut entry| {
                if n % 7 == round { entry.clear() } else { *entry = V::sample(n + round) }
            });
            if n == 1000 {
                state.freeze();
            } else if n == 1200 && round % 2 == 1 {
                assert!(!state.abandon());
                assert_eq!(state.kept_early(), 0);
            } else if n > 1000 && n % 50 == 0 && state.is_frozen() && state.drain(4000) {
                state.take_snapshot();
            }
        }
        while !state.drain(4000) {}
        if state.is_frozen() {
            state.take_snapshot();
        }
        if round == 3 {
            state.forget_base();
        }
    }
    state.compared()
}

/// A drain costs as much as there are changes, however large the state is.
#[test]
fn cp_24_a_drain_looks_at_no_segment_without_changes() {
    let whole = Parallelism::new(1, Some(2)).unwrap();
    let mut state = PagedState::<u64, u64>::new(whole.range_of(0), whole.max()).unwrap().small_up_to(0);
    let count = |state: &mut PagedState<u64, u64>, key| state.with(u64::hash(key), key, |mut n| *n += 1);
    (0..50_000).for_each(|key| count(&mut state, key));
    state.freeze();
    let (passed, all) = state.drained();
    assert!(passed == 0 && all > 50_000 * 16, "{passed} of {all}");
    assert!(!state.drain(1) && state.drained() == (memory::SEGMENT as u64, all), "one segment");
    while !state.drain(usize::MAX) {}
    state.take_snapshot();
    count(&mut state, 7);
    state.freeze();
    assert_eq!(state.drained(), (0, memory::SEGMENT as u64));
    assert!(state.drain(1), "the only one that has changed");
    assert_eq!(state.take_snapshot().groups.len(), 1);
    state.freeze();
    assert!(state.drain(0), "nothing has changed");
    assert_eq!(state.take_snapshot().groups.len(), 0);
}

#[test]
fn verify_words() {
    assert!(compared::<u64, u64>()[1] > 10);
}

#[test]
fn verify_records() {
    assert!(compared::<String, String>()[2] > 10);
}

#[test]
fn verify_slots() {
    assert!(compared::<u64, ((u64, u64), (u64, u64), (u64, u64))>()[5] > 10);
}

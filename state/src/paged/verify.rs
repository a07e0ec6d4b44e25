//! For every kind of page: base and diffs are what was there, byte for byte, and no line changes that is not dirty. The
//! comparing is done by the [shadow](super::shadow), here and in all other unit tests; these ask whether it had something to compare.

use super::*;
use crate::key_group::Parallelism;
use crate::testing::Sample;

/// Changes and removes keys, freezes, and goes on while the snapshot is drained. Returns how many pages were compared, by their
/// first bytes.
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

//! Histories by hand; for random ones see the [contract](crate::keyed).

use super::*;

#[test]
fn cp_24_changes_after_the_freeze_are_not_in_the_snapshot() {
    let mut state = whole::<u64, String>();
    for key in 0..1000 {
        put(&mut state, &key, format!("before {key}"));
    }
    state.freeze();
    for key in 0..1000 {
        put(&mut state, &key, "after".to_owned());
        put(&mut state, &(key + 1000), "new".to_owned());
        state.with(<u64 as Key>::hash(key), key, |entry| entry.clear());
        state.drain(1);
    }
    while !state.drain(64) {}
    let expected = (0..1000u64).map(|key| (u64::encode(key), String::encode(&format!("before {key}"))));
    assert_eq!(entries::<u64, String>(&state.take_snapshot()), expected.collect());
    assert_eq!(state.len(), 1000);
}

#[test]
fn an_aborted_snapshot_leaves_nothing_in_the_next() {
    let mut state = whole::<u64, u64>();
    for key in 0..500 {
        put(&mut state, &key, 1);
    }
    for _ in 0..3 {
        state.freeze();
        state.drain(100);
        put(&mut state, &7, 2);
        state.abandon();
    }
    let all = entries::<u64, u64>(&snapshot(&mut state));
    assert_eq!(all.len(), 500);
    assert_eq!(all[&u64::encode(7)], u64::encode(2));
}

#[test]
fn a_drain_takes_no_more_than_its_budget() {
    let mut state = whole::<u64, u64>();
    for key in 0..10_000 {
        put(&mut state, &key, 1);
    }
    state.freeze();
    let steps = (1..).find(|_| state.drain(4096)).unwrap();
    let bytes = state.take_snapshot().bytes();
    assert_eq!(bytes, 160_000);
    // A step goes beyond its budget by 64 slots at most, and looks at an empty slot as if it had a byte.
    assert!((bytes / (4096 + 1088)..=(bytes + 4 * 10_000) / 4096 + 1).contains(&steps), "{steps}");
}

#[test]
fn the_arena_is_tidied_up_when_half_of_it_is_unused() {
    let mut state = whole::<String, u64>();
    let key = |n: u64| format!("a key that is too long for a slot, number {n:08}");
    for n in 0..200_000u64 {
        put(&mut state, &key(n), n);
        if n >= 100 {
            let old = key(n - 100);
            state.with(String::hash(&old), &old, |entry| entry.clear());
        }
    }
    assert_eq!(state.len(), 100);
    let arenas: usize = state.bytes.rest.iter().map(|rest| rest.arena.capacity()).sum();
    assert!(arenas < 64 << 10, "{arenas} bytes for 100 keys of 49");
    for n in 199_900..200_000 {
        assert_eq!(state.with(String::hash(&key(n)), &key(n), |value| *value), n);
    }
}

#[test]
#[should_panic(expected = "taken or abandoned")]
fn a_second_freeze_waits_for_the_first() {
    let mut state = whole::<u64, u64>();
    state.freeze();
    state.freeze();
}

#[test]
#[should_panic(expected = "once its drain is complete")]
fn a_snapshot_is_not_taken_before_it_is_complete() {
    let mut state = whole::<u64, u64>();
    put(&mut state, &1, 1);
    state.freeze();
    state.take_snapshot();
}

#[test]
fn keys_whose_hashes_are_equal_are_told_apart() {
    const HASH: u64 = 0x1234_5678_9abc_0000;
    // Three lengths, of which many keys have each: in the slot, of just sixteen bytes, in the arena.
    let keys: Vec<String> =
        (10..60).flat_map(|n| [format!("{n}"), format!("{n:016}"), format!("{n:040}")]).collect();
    let mut state = whole::<String, u64>();
    for round in 0..2 {
        for (n, key) in keys.iter().enumerate() {
            state.with(HASH, key, |mut value| {
                assert_eq!((value.is_new(), *value), (round == 0, n as u64 * round));
                *value = n as u64;
            });
        }
    }
    for key in keys.iter().step_by(2) {
        state.with(HASH, key, |entry| entry.clear());
    }
    for (n, key) in keys.iter().enumerate() {
        state.with(HASH, key, |value| assert_eq!(value.is_new(), n % 2 == 0));
    }
}

//! What a snapshot has of maps that change while it is drained, and what is refused.

use super::*;
use crate::key_group::Parallelism;
use crate::keyed::Extent;

const GROUP: KeyGroup = KeyGroup(1);

fn empty() -> HeapOrdered {
    HeapOrdered::new(Parallelism::new(1, Some(3)).unwrap().range_of(0))
}

fn filled(keys: &[&str]) -> HeapOrdered {
    let mut state = empty();
    for key in keys {
        state.put(GROUP, key.as_bytes(), key.to_uppercase().as_bytes()).unwrap();
    }
    state
}

fn content(state: &HeapOrdered, from: &str) -> Vec<String> {
    let mut all = Vec::new();
    state.scan(GROUP, from.as_bytes(), &mut |key, value| {
        all.push([key, value].map(String::from_utf8_lossy).join("="));
        true
    });
    all
}

fn restored(snapshot: &KeyedSnapshot) -> HeapOrdered {
    let mut state = empty();
    for chunk in &snapshot.groups {
        state.restore(chunk.group, chunk.entries, &chunk.bytes).unwrap();
    }
    state
}

#[test]
fn neighbours_are_found_by_bytes() {
    let state = filled(&["b", "", "ba", "c"]);
    let pair = |key: &'static str, value: &'static str| Some((key.as_bytes(), value.as_bytes()));
    assert_eq!(state.first_from(GROUP, b""), pair("", ""));
    assert_eq!(state.first_from(GROUP, b"b"), pair("b", "B"));
    assert_eq!(state.first_from(GROUP, b"b\0"), pair("ba", "BA"));
    assert_eq!(state.first_from(GROUP, b"d"), None);
    assert_eq!(state.last_before(GROUP, b"c"), pair("ba", "BA"));
    assert_eq!(state.last_before(GROUP, b"zz"), pair("c", "C"));
    assert_eq!(state.last_before(GROUP, b""), None);
    assert_eq!(state.first_from(KeyGroup(0), b""), None, "groups are apart");
    let mut seen = 0;
    state.scan(GROUP, b"b", &mut |_, _| {
        seen += 1;
        seen < 2
    });
    assert_eq!(seen, 2, "it ends when told to");
}

/// At each moment of a drain, whatever is changed before it or behind it.
#[test]
fn cp_24_a_snapshot_is_the_state_at_the_freeze() {
    let keys = ["a", "b", "c", "d", "e", "f", "g"];
    for steps in 0..9 {
        let mut state = filled(&keys);
        let frozen = content(&state, "");
        state.freeze();
        for _ in 0..steps {
            state.drain(1);
        }
        for key in ["b", "f", "f"] {
            state.put(GROUP, key.as_bytes(), b"new").unwrap();
        }
        for key in ["c", "g"] {
            assert!(state.remove(GROUP, key.as_bytes()));
        }
        for key in ["bb", "g", "h"] {
            state.put(GROUP, key.as_bytes(), b"").unwrap();
        }
        assert!(state.remove(GROUP, b"bb"));
        while !state.drain(1) {}
        state.put(GROUP, b"a", b"late").unwrap();
        let snapshot = state.take_snapshot();
        assert_eq!((snapshot.extent, snapshot.entries()), (Extent::Whole, 7));
        assert_eq!(content(&restored(&snapshot), ""), frozen, "{steps} steps");
        assert_eq!(content(&state, ""), ["a=late", "b=new", "d=D", "e=E", "f=new", "g=", "h="]);
    }
}

#[test]
fn cp_24_an_abandoned_snapshot_leaves_nothing_in_the_next_one() {
    let mut state = filled(&["a", "b", "c"]);
    state.freeze();
    state.drain(1);
    state.put(GROUP, b"c", b"new").unwrap();
    state.abandon();
    state.freeze();
    assert!(state.drain(usize::MAX));
    assert_eq!(content(&restored(&state.take_snapshot()), ""), ["a=A", "b=B", "c=new"]);
}

#[test]
fn a_drain_does_about_as_much_as_it_is_told() {
    let keys: Vec<String> = (0..100).map(|n| format!("{n:03}")).collect();
    let mut state = filled(&keys.iter().map(String::as_str).collect::<Vec<_>>());
    state.freeze();
    // An entry is 4 + 3 + 4 + 3 bytes, and 32 that visiting it costs.
    let steps = std::iter::repeat_with(|| state.drain(46 * 10)).take_while(|done| !done).count();
    assert!((9..12).contains(&steps), "{steps}");
}

#[test]
fn ms_073_bytes_that_are_no_snapshot_are_refused() {
    let mut state = filled(&["a", "bc"]);
    state.freeze();
    assert!(state.drain(usize::MAX));
    let bytes = state.take_snapshot().groups.remove(0).bytes;
    assert_eq!(bytes, b"\x01\0\0\0a\x01\0\0\0A\x02\0\0\0bc\x02\0\0\0BC");
    let refused = |entries, bytes: &[u8]| empty().restore(GROUP, entries, bytes).unwrap_err();
    for len in 0..bytes.len() {
        assert!(matches!(refused(2, &bytes[..len]), RestoreError::Decode { .. }), "{len}");
    }
    assert!(matches!(refused(1, &bytes), RestoreError::Trailing { left: 12, .. }));
    assert!(matches!(refused(u64::MAX, &bytes), RestoreError::Decode { .. }));
    let twice = [&bytes[..10], &bytes[..10]].concat();
    assert_eq!(refused(2, &twice), RestoreError::Duplicate { group: GROUP, entry: 1, at: 10 });
    let mut other = empty();
    other.restore(KeyGroup(3), 7, b"anything").unwrap();
    assert!(other.is_empty(), "a group of another subtask is not looked at");
}

#[test]
fn an_entry_beyond_the_limit_is_refused_and_changes_nothing() {
    let mut state = filled(&["a"]);
    // Zero pages that are never touched.
    let fault = state.put(GROUP, b"a", &vec![0; MOST]).unwrap_err();
    assert!(matches!(fault, PagedFault::TooLarge { size, most: MOST } if size == MOST + 1), "{fault}");
    assert_eq!(content(&state, ""), ["a=A"]);
}

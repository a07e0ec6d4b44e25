//! Any bytes for the parts of a key group in pages: refused, or a state that can be used and written again.
#![no_main]
#![expect(clippy::disallowed_methods, reason = "the fuzzer's macro writes files of its own")]

use libfuzzer_sys::fuzz_target;
use millstream_io::Record;
use millstream_io::record::Key;
use millstream_state::{KeyGroup, KeyedBackend, PagedState, Parallelism, Snapshots};

fn restore<K: Key, V: Record + Default>(entries: u64, parts: [&[u8]; 2]) {
    // One key group, so that every key is in the right one.
    let one = Parallelism::new(1, Some(1)).expect("one subtask may have one key group");
    let empty = || PagedState::<K, V>::new(one.range_of(0), one.max()).expect("there is memory");
    let mut state = empty();
    for part in parts {
        if state.restore(KeyGroup(0), entries, part).is_err() {
            return;
        }
    }
    if state.restored().is_err() {
        return;
    }
    let mut keys = 0;
    state.for_each(|_, value| {
        *value = V::default();
        keys += 1;
    });
    assert_eq!(keys, state.len());
    state.freeze();
    assert!(state.drain(usize::MAX));
    let snapshot = state.take_snapshot();
    let mut again = empty();
    for chunk in &snapshot.groups {
        again.restore(chunk.group, chunk.entries, &chunk.bytes).expect("what was written is restored");
    }
    again.restored().expect("what was written is restored");
    assert_eq!(again.len(), keys);
}

fuzz_target!(|input: &[u8]| {
    let Some((&[kind, entries, cut], bytes)) = input.split_first_chunk() else { return };
    let parts = bytes.split_at(usize::from(cut).min(bytes.len()));
    let (parts, entries) = ([parts.0, parts.1], u64::from(entries));
    match kind % 5 {
        0 => restore::<u64, u64>(entries, parts),
        1 => restore::<String, Option<String>>(entries, parts),
        2 => restore::<(u32, String), (u64, bool)>(entries, parts),
        3 => restore::<(u64, u64), (u64, [u8; 32])>(entries, parts),
        _ => restore::<bool, (u64, u64)>(entries, parts),
    }
});

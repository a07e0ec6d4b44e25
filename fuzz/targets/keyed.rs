//! Any bytes for the entries of a key group: refused, or the entries that the state then holds and no others.
#![no_main]
#![expect(clippy::disallowed_methods, reason = "the fuzzer's macro writes files of its own")]

use libfuzzer_sys::fuzz_target;
use millstream_io::Record;
use millstream_io::record::Key;
use millstream_state::{HeapState, KeyGroup, KeyedBackend, Parallelism, Snapshots};

fn restore<K: Key, V: Record + Default>(bytes: &[u8]) {
    // One key group, so that every key is in the right one.
    let one = Parallelism::new(1, Some(1)).expect("one subtask may have one key group");
    let mut state = HeapState::<K, V>::new(one.range_of(0), one.max());
    for entries in 0..20 {
        let mut state = HeapState::<K, V>::new(one.range_of(0), one.max());
        if state.restore(KeyGroup(0), entries, bytes).is_err() {
            continue;
        }
        assert_eq!(state.len() as u64, entries);
        state.freeze();
        assert!(state.drain(usize::MAX));
        let snapshot = state.take_snapshot();
        assert_eq!((snapshot.entries(), snapshot.bytes()), (entries, bytes.len() as u64));
    }
    let _ = state.restore(KeyGroup(0), u64::MAX, bytes);
}

fuzz_target!(|input: &[u8]| {
    let Some((&kind, bytes)) = input.split_first() else { return };
    match kind % 4 {
        0 => restore::<u64, u64>(bytes),
        1 => restore::<String, Option<String>>(bytes),
        2 => restore::<(u32, String), (u64, bool)>(bytes),
        _ => restore::<(), Vec<String>>(bytes),
    }
});

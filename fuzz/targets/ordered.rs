//! Any bytes for the parts of a key group of ordered state, and any changes to bytes that were written: refused, or a state that
//! can be used and written again.
#![no_main]
#![expect(clippy::disallowed_methods, reason = "the fuzzer's macro writes files of its own")]

use libfuzzer_sys::fuzz_target;
use millstream_state::{
    GroupChunk, KeyGroup, KeyedSnapshot, OrderedBackend, PagedOrdered, Parallelism, Snapshots,
};
use std::sync::LazyLock;

const GROUP: KeyGroup = KeyGroup(0);

/// Keys of the state that is written and changed.
const KEYS: u16 = 600;

/// A part with several levels and runs.
static WRITTEN: LazyLock<GroupChunk> = LazyLock::new(|| {
    let mut state = empty();
    for n in 0..KEYS {
        put(&mut state, n);
    }
    snapshot(&mut state).groups.remove(0)
});

fn empty() -> PagedOrdered {
    let one = Parallelism::new(1, Some(1)).expect("one subtask may have one key group");
    PagedOrdered::new(one.range_of(0)).small_up_to(0)
}

fn put(state: &mut PagedOrdered, n: u16) {
    let key = [&n.to_be_bytes(), &[7; 200][..usize::from(n) % 200]].concat();
    let len = if n.is_multiple_of(100) { 5000 } else { usize::from(n) % 50 };
    state.put(GROUP, &key, &vec![1; len]).expect("there is memory, and nothing is too large");
}

fn snapshot(state: &mut PagedOrdered) -> KeyedSnapshot {
    state.freeze();
    assert!(state.drain(usize::MAX));
    state.take_snapshot()
}

fn restored<'a>(parts: impl IntoIterator<Item = (u64, &'a [u8])>) -> Option<PagedOrdered> {
    let mut state = empty();
    for (entries, bytes) in parts {
        state.restore(GROUP, entries, bytes).ok()?;
    }
    state.restored().ok()?;
    Some(state)
}

/// Looks at everything, changes much, and writes and reads it back.
fn use_it(mut state: PagedOrdered) {
    let (mut count, mut last) = (0, None);
    state.scan(GROUP, b"", &mut |key, _| {
        assert!(last.as_deref().is_none_or(|last| last < key), "in order");
        last = Some(key.to_vec());
        count += 1;
        true
    });
    assert_eq!(count, state.len());
    (0..KEYS * 2).step_by(3).for_each(|n| put(&mut state, n));
    for _ in 0..100 {
        let Some((key, _)) = state.last_before(GROUP, &[0xff; 1000]) else { break };
        let key = key.to_vec();
        assert!(state.remove(GROUP, &key));
        let Some((key, _)) = state.first_from(GROUP, b"") else { break };
        let key = key.to_vec();
        assert!(state.remove(GROUP, &key));
    }
    let len = state.len();
    let snapshot = snapshot(&mut state);
    let parts = snapshot.groups.iter().map(|chunk| (chunk.entries, &chunk.bytes[..]));
    let again = restored(parts).expect("what was written is restored");
    assert_eq!(again.len(), len);
}

fuzz_target!(|input: &[u8]| {
    let Some((&[kind, entries, cut], bytes)) = input.split_first_chunk() else { return };
    let state = if kind.is_multiple_of(2) {
        let parts = bytes.split_at(usize::from(cut).min(bytes.len()));
        restored([(entries.into(), parts.0), (entries.into(), parts.1)])
    } else {
        let mut bytes_then = WRITTEN.bytes.clone();
        for &[a, b, c, value] in bytes.as_chunks().0 {
            let at = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
            let len = bytes_then.len();
            bytes_then[at % len] = value;
        }
        restored([(WRITTEN.entries, &bytes_then[..])])
    };
    if let Some(state) = state {
        use_it(state);
    }
});

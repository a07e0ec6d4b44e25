//! State in pages that has no room in memory.

use millstream_io::executor::{InlineExecutor, StepExecutor};
use millstream_io::record::{Key, Record};
use millstream_io::scratch::{Budget, DiskScratch, MemoryScratch, Scratch, Supply};
use millstream_state::paged::PagedFault;
use millstream_state::{KeyedBackend, KeyedSnapshot, PagedState, Parallelism, Snapshots};
use std::collections::BTreeMap;
use std::sync::Arc;

fn state<K: Key, V: Record + Default>(scratch: Arc<dyn Scratch>) -> PagedState<K, V> {
    let whole = Parallelism::new(1, None).unwrap();
    let supply = Supply::new(scratch, Arc::new(InlineExecutor));
    PagedState::new_in(whole.range_of(0), whole.max(), supply).unwrap().small_up_to(0)
}

fn snapshot<K: Key, V: Record + Default>(state: &mut PagedState<K, V>) -> KeyedSnapshot {
    state.freeze();
    while !state.drain(1 << 20) {}
    state.take_snapshot()
}

fn everything(state: &mut PagedState<u64, String>) -> BTreeMap<u64, String> {
    let mut all = BTreeMap::new();
    state.for_each(|key, value| assert_eq!(all.insert(key, value.clone()), None));
    all
}

/// BE-03: whether pages are in memory, in files or here and there makes no difference to what is read, nor to snapshots.
#[test]
fn be_03_state_in_files_is_the_same_as_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let wanted: BTreeMap<u64, String> =
        (0..40_000).map(|key| (key, "x".repeat(key as usize % 300))).collect();
    for memory in [0, 5 << 20, u64::MAX] {
        let budget = Budget::new(memory);
        let scratch = Arc::new(DiskScratch::new(dir.path().to_owned(), budget.clone()));
        let mut one = state::<u64, String>(scratch.clone());
        let mut chain = Vec::new();
        for half in [0..20_000, 20_000..40_000] {
            for key in half {
                one.with(u64::hash(key), key, |mut value| value.push_str(&wanted[&key]));
            }
            chain.push(snapshot(&mut one));
        }
        assert!(budget.used() <= memory && (memory == 0 || budget.used() > memory.min(8 << 20) / 2));
        assert_eq!(everything(&mut one), wanted);
        let mut again = state::<u64, String>(scratch);
        for chunk in chain.iter().flat_map(|snapshot| &snapshot.groups) {
            again.restore(chunk.group, chunk.entries, &chunk.bytes).unwrap();
        }
        again.restored().unwrap();
        assert_eq!(everything(&mut again), wanted);
        drop((one, again));
        assert_eq!(budget.used(), 0);
    }
}

/// MS-069 for scratch: what finds no room is a fault that names the file, and nothing else is lost.
#[test]
fn ms_069_a_state_that_finds_no_room_says_where() {
    let scratch = Arc::new(MemoryScratch::with_memory(0));
    let mut state = state::<u64, u64>(scratch.clone());
    // The first 2 MiB, and what is prepared behind them.
    (3..6).for_each(|file| scratch.full_at(file));
    let mut faults = Vec::new();
    let mut kept = 0;
    for key in 0..400_000 {
        state.with(u64::hash(key), key, |mut value| *value = key);
        match state.take_fault() {
            Some(fault) => faults.push(fault),
            None => kept += 1,
        }
    }
    assert_eq!((faults.len(), scratch.refused()), (2, 3), "one was only tried ahead");
    assert!(matches!(faults[0], PagedFault::Memory(_)));
    let said = "no more memory for state pages: allocate scratch/4: No space left on device (os error 28)";
    assert_eq!(faults[0].to_string(), said);
    let (mut count, mut right) = (0, 0);
    state.for_each(|key, value| {
        count += 1;
        right += u64::from(key == *value);
    });
    assert_eq!((count, right), (kept, kept));
}

/// MS-069: so it is when a state moves to pages; once there is room it does, and none of it is lost.
#[test]
fn ms_069_a_state_that_moves_to_pages_and_finds_no_room_says_so_and_moves_later() {
    let scratch = Arc::new(MemoryScratch::with_memory(0));
    let mut state = state::<u64, u64>(scratch.clone()).small_up_to(256 << 10);
    (1..=40).for_each(|file| scratch.full_at(file));
    let mut faults = 0;
    for key in 0..40_000 {
        state.with(u64::hash(key), key, |mut value| *value = key);
        if let Some(fault) = state.take_fault() {
            assert!(fault.to_string().contains("No space left on device"), "{fault}");
            faults += 1;
        }
    }
    assert!(faults > 0 && scratch.refused() == 40, "{faults} of {}", scratch.refused());
    assert!(state.big(), "in pages as soon as there was room");
    let mut right = 0;
    state.for_each(|key, value| right += u64::from(key == *value));
    assert_eq!(right, 40_000);
}

/// MS-069: so it is when a snapshot is read back, and what prepares pieces takes its time.
#[test]
fn ms_069_a_restore_that_finds_no_room_says_where() {
    let mut one = state::<u64, u64>(Arc::new(MemoryScratch::new()));
    for key in 0..400_000 {
        one.with(u64::hash(key), key, |mut value| *value = key);
    }
    let all = snapshot(&mut one);
    let scratch = Arc::new(MemoryScratch::with_memory(0));
    scratch.full_at(3);
    let whole = Parallelism::new(1, None).unwrap();
    let supply = Supply::new(scratch, Arc::new(StepExecutor::new()));
    let mut again = PagedState::<u64, u64>::new_in(whole.range_of(0), whole.max(), supply).unwrap();
    let read =
        all.groups.iter().try_for_each(|chunk| again.restore(chunk.group, chunk.entries, &chunk.bytes));
    assert!(read.unwrap_err().to_string().contains("no more memory"));
    let fault = again.take_fault().map(|fault| fault.to_string()).unwrap_or_default();
    assert!(fault.contains("allocate scratch/3"), "{fault}");
}

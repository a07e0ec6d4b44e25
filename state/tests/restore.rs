//! State out of the files of a chain: several key groups at once, and only what is needed.

use millstream_io::executor::{Executor, RayonExecutor};
use millstream_io::record::{Key, Record};
use millstream_io::scratch::{MemoryScratch, Supply};
use millstream_io::storage::fault::{FaultStorage, Op};
use millstream_io::storage::{MemoryStorage, Storage, read_all};
use millstream_state::keyed::{Extent, RestoreError};
use millstream_state::layout::data_file;
use millstream_state::metadata::{Handle, KeyedHandle};
use millstream_state::paged::PagedFault;
use millstream_state::snapshot::{
    Destination, OperatorSnapshot, SnapshotReader, SubtaskSnapshot, WriteOptions, write,
};
use millstream_state::{
    KeyedBackend, OperatorId, OrderedBackend, PagedOrdered, PagedState, Parallelism, Snapshots, StateError,
};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const DIR: &str = "/c/chk-0";
const MAX: u32 = 128;

fn parallelism(subtasks: i64) -> Parallelism {
    Parallelism::new(subtasks, Some(MAX as i64)).unwrap()
}

/// Files of snapshots, each with one state.
struct Disk {
    storage: MemoryStorage,
    written: usize,
}

impl Disk {
    fn new() -> Self {
        let storage = MemoryStorage::new();
        for dir in [DIR, "/c/shared"] {
            storage.create_dir_all(Path::new(dir)).unwrap();
        }
        Self { storage, written: 0 }
    }

    /// Takes a snapshot of a state and writes it; nothing where nothing has changed.
    fn save(&mut self, state: &mut impl Snapshots, expected: Extent) -> Option<KeyedHandle> {
        state.freeze();
        while !state.drain(1 << 20) {}
        let keyed = state.take_snapshot();
        assert_eq!(keyed.extent, expected);
        let id = OperatorId::from_bits(7);
        let operator = OperatorSnapshot { id, finished: false, keyed: vec![(0, keyed)], lists: Vec::new() };
        let name = format!("state-{}", self.written);
        self.written += 1;
        let to = Destination { dir: Path::new(DIR), name: &name, shared: &name };
        let options = WriteOptions { inline_threshold: 0, write_buffer: 4096 };
        let written =
            write(&self.storage, to, SubtaskSnapshot { operators: vec![operator] }, options).unwrap();
        written.operators.into_iter().flat_map(|(_, state)| state.keyed).next()
    }

    fn restore(
        &self,
        parts: &[KeyedHandle],
        state: &mut impl Snapshots,
        done: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<(), StateError> {
        let parts: Vec<_> = parts.iter().collect();
        SnapshotReader::new(Arc::new(self.storage.clone()), DIR.into()).restore(&parts, state, done)
    }
}

fn on(threads: usize) -> Supply {
    let executor: Option<Arc<dyn Executor>> = match threads {
        0 => None,
        _ => Some(Arc::new(RayonExecutor::new(threads).unwrap())),
    };
    Supply { executor, ..Supply::default() }
}

fn empty<K: Key, V: Record + Default>(of: Parallelism, subtask: usize, supply: Supply) -> PagedState<K, V> {
    PagedState::new_in(of.range_of(subtask), of.max(), supply).unwrap().small_up_to(0)
}

type Content = HashMap<Vec<u8>, Vec<u8>>;

fn content<K: Key, V: Record + Default>(state: &mut PagedState<K, V>) -> Content {
    let mut all = HashMap::new();
    state.for_each(|key, value| assert_eq!(all.insert(K::encode(key), V::encode(value.view())), None));
    assert_eq!(all.len(), state.len());
    all
}

fn set<K: Key, V: Record + Default>(state: &mut PagedState<K, V>, key: &K, value: Option<V>) {
    state.with(K::hash(key.view()), key.view(), |mut entry| match value {
        Some(value) => *entry = value,
        None => entry.clear(),
    });
}

fn path_of(handle: &KeyedHandle) -> PathBuf {
    match &handle.data {
        Handle::File { name, .. } => data_file(Path::new(DIR), name),
        Handle::Inline(_) => panic!("it is in a file"),
    }
}

/// Whatever the threads: each key once, its newest value, exactly as many keys and bytes told as there are, and a chain that goes
/// on.
fn any_threads_restore_the_same<K: Key, V: Record + Default>(
    key: impl Fn(u64) -> K,
    value: impl Fn(u64) -> V,
) {
    const KEYS: u64 = 20_000;
    let few = Parallelism::new(1, Some(4)).unwrap();
    let (mut disk, mut model) = (Disk::new(), Content::new());
    let mut state = empty::<K, V>(few, 0, on(0));
    let mut parts = Vec::new();
    for round in 0..3 {
        // Buckets that are divided give pages back that an earlier part has.
        let due = |n: &u64| round == 0 || *n >= KEYS + 10_000 * (round - 1) || n % 70 == round;
        for n in (0..KEYS + 10_000 * round).filter(due) {
            let (key, value) = (key(n), (n % 140 != 2).then(|| value(n + round)));
            match &value {
                Some(value) => drop(model.insert(K::encode(key.view()), V::encode(value.view()))),
                None => drop(model.remove(&K::encode(key.view()))),
            }
            set(&mut state, &key, value);
        }
        let extent = if round == 0 { Extent::Base } else { Extent::Changes };
        parts.extend(disk.save(&mut state, extent));
    }
    let bytes: u64 = parts.iter().map(|part| part.data.len()).sum();
    for threads in [0, 1, 3] {
        let mut again = empty::<K, V>(few, 0, on(threads));
        let told = [AtomicU64::new(0), AtomicU64::new(0)];
        let done = |keys, bytes| {
            told[0].fetch_add(keys, Ordering::Relaxed);
            told[1].fetch_add(bytes, Ordering::Relaxed);
        };
        disk.restore(&parts, &mut again, &done).unwrap();
        again.restored().unwrap();
        assert_eq!(told.map(AtomicU64::into_inner), [model.len() as u64, bytes]);
        assert!(again.build_on_restored());
        assert!(content(&mut again) == model, "{threads} threads");
        // On what was restored: it grows into pages that are free, or new.
        let (mut more, mut parts) = (model.clone(), parts.clone());
        for n in 2 * KEYS..3 * KEYS {
            more.insert(K::encode(key(n).view()), V::encode(value(n).view()));
            set(&mut again, &key(n), Some(value(n)));
        }
        parts.extend(disk.save(&mut again, Extent::Changes));
        let mut last = empty::<K, V>(few, 0, on(threads));
        disk.restore(&parts, &mut last, &|_, _| {}).unwrap();
        last.restored().unwrap();
        assert!(content(&mut last) == more, "{threads} threads");
    }
}

#[test]
fn words_are_restored_by_any_number_of_threads() {
    any_threads_restore_the_same(|n| n, |n| n * 3);
}

#[test]
fn slots_are_restored_by_any_number_of_threads() {
    any_threads_restore_the_same(|n| n as u32, |n| ((n, n), (n, n), (n, n)));
}

#[test]
fn records_are_restored_by_any_number_of_threads() {
    any_threads_restore_the_same(|n| format!("key {n}"), |n| "value".repeat(n as usize % 9));
}

#[test]
fn ordered_state_is_restored_by_any_number_of_threads() {
    const KEYS: u64 = 5000;
    let whole = parallelism(1).range_of(0);
    let groups: Vec<_> = whole.iter().step_by(9).collect();
    let at = |n: u64| (groups[n as usize % groups.len()], n.to_be_bytes());
    let mut disk = Disk::new();
    let mut state = PagedOrdered::new(whole).small_up_to(0);
    (0..KEYS).for_each(|n| state.put(at(n).0, &at(n).1, &n.to_le_bytes()).unwrap());
    let mut parts: Vec<_> = disk.save(&mut state, Extent::Base).into_iter().collect();
    (0..KEYS).step_by(3).for_each(|n| assert!(state.remove(at(n).0, &at(n).1)));
    parts.extend(disk.save(&mut state, Extent::Changes));
    for threads in [0, 1, 3] {
        let mut again = PagedOrdered::new_in(whole, on(threads)).small_up_to(0);
        disk.restore(&parts, &mut again, &|_, _| {}).unwrap();
        again.restored().unwrap();
        for n in 0..KEYS {
            let expected = (n % 3 != 0).then(|| n.to_le_bytes());
            assert_eq!(again.get(at(n).0, &at(n).1), expected.as_ref().map(|bytes| &bytes[..]));
        }
        assert!(again.build_on_restored());
    }
}

/// KG-05: at every parallelism a subtask opens the files that have something of its key groups, and reads of these the bytes of
/// its groups, each once, and no other byte.
#[test]
fn kg_05_only_the_own_ranges_of_the_own_files_are_read() {
    const KEYS: u64 = 30_000;
    let mut disk = Disk::new();
    let mut model: HashMap<u64, u64> = (0..KEYS).map(|key| (key, key)).collect();
    let mut first = empty::<u64, u64>(parallelism(1), 0, on(0));
    model.iter().for_each(|(key, value)| set(&mut first, key, Some(*value)));
    let mut parts: Vec<_> = disk.save(&mut first, Extent::Base).into_iter().collect();
    for (round, subtasks) in [2, 7, 3].into_iter().enumerate() {
        let (of, mut seen, mut next) = (parallelism(subtasks), 0, Vec::new());
        for subtask in 0..subtasks as usize {
            let own = of.range_of(subtask);
            let narrowed: Vec<_> = parts.iter().filter_map(|part| part.narrowed(own)).collect();
            let counted = FaultStorage::new(Arc::new(disk.storage.clone()));
            counted.record();
            let mut state = empty::<u64, u64>(of, subtask, on(2));
            let handles: Vec<_> = narrowed.iter().collect();
            let reader = SnapshotReader::new(Arc::new(counted.clone()), DIR.into());
            reader.restore(&handles, &mut state, &|_, _| {}).unwrap();
            state.restored().unwrap();
            assert_read_alone(&counted, &parts, |group| own.contains(group));
            seen += state.len();
            state.for_each(|key, value| assert_eq!(*value, model[&key]));
            assert!(state.build_on_restored());
            // Of some key groups nothing changes, so that not every file has every group.
            let changed = |key: &u64| {
                let group = of.grouping().group(u64::hash(*key));
                own.contains(group) && group.0 % 16 < 2 * (round as u16 + 1) && key.is_multiple_of(5)
            };
            let keys: Vec<u64> = (0..KEYS).filter(changed).collect();
            keys.iter().for_each(|key| set(&mut state, key, Some(key + round as u64 + 1)));
            next.extend(narrowed);
            next.extend(disk.save(&mut state, Extent::Changes));
            model.extend(keys.into_iter().map(|key| (key, key + round as u64 + 1)));
        }
        assert_eq!(seen as u64, KEYS, "{subtasks} subtasks");
        parts = next;
    }
}

/// All reads together are the bytes that some of these parts have of the groups that are wanted.
fn assert_read_alone(
    counted: &FaultStorage,
    parts: &[KeyedHandle],
    own: impl Fn(millstream_state::KeyGroup) -> bool,
) {
    let mut expected = Vec::new();
    for part in parts {
        let Handle::File { offset, .. } = &part.data else { panic!("it is in a file") };
        for range in part.groups.iter().filter(|range| own(range.group)) {
            expected.push((path_of(part), offset + range.offset..offset + range.offset + range.len));
        }
    }
    let key = |(path, range): &(PathBuf, std::ops::Range<u64>)| (path.clone(), range.start);
    let (mut expected, mut read) = (joined(expected), joined(counted.reads()));
    expected.sort_by_key(key);
    read.sort_by_key(key);
    assert_eq!(read, expected);
    let opened = counted.log().into_iter().filter(|(_, op, _)| *op == Op::Open).map(|(_, _, path)| path);
    let opened: Vec<_> = opened.collect();
    let files: BTreeSet<_> = expected.iter().map(|(path, _)| path).collect();
    assert_eq!(opened.iter().collect::<BTreeSet<_>>(), files);
    assert_eq!(opened.len(), files.len(), "each once");
}

/// Ranges of a file that follow one another as one.
fn joined(mut ranges: Vec<(PathBuf, std::ops::Range<u64>)>) -> Vec<(PathBuf, std::ops::Range<u64>)> {
    ranges.sort_by_key(|(path, range)| (path.clone(), range.start));
    let mut all: Vec<(PathBuf, std::ops::Range<u64>)> = Vec::new();
    for (path, range) in ranges {
        match all.last_mut() {
            Some((of, last)) if *of == path && last.end == range.start => last.end = range.end,
            _ => all.push((path, range)),
        }
    }
    all
}

fn saved(keys: u64) -> (Disk, Vec<KeyedHandle>) {
    let mut disk = Disk::new();
    let mut state = empty::<u64, u64>(parallelism(1), 0, on(0));
    (0..keys).for_each(|key| set(&mut state, &key, Some(key)));
    let mut parts: Vec<_> = disk.save(&mut state, Extent::Base).into_iter().collect();
    (0..keys).step_by(9).for_each(|key| set(&mut state, &key, Some(0)));
    parts.extend(disk.save(&mut state, Extent::Changes));
    (disk, parts)
}

/// ER-22, MS-073: bytes that were changed are an error that names the file, whoever meets them; and so are bytes whose checksum is
/// right and which are no pages.
#[test]
fn er_22_damage_is_named_whatever_the_threads() {
    let (disk, mut parts) = saved(20_000);
    let file = path_of(&parts[1]);
    let whole = read_all(&disk.storage, &file).unwrap();
    for threads in [0, 2] {
        let restore = |disk: &Disk, parts: &[KeyedHandle]| {
            let mut state = empty::<u64, u64>(parallelism(1), 0, on(threads));
            disk.restore(parts, &mut state, &|_, _| {}).unwrap_err()
        };
        for at in [1, whole.len() / 2, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            disk.storage.publish(&file, &bytes).unwrap();
            let error = restore(&disk, &parts);
            assert!(matches!(&error, StateError::Damaged { path, .. } if *path == file), "{error}");
        }
        disk.storage.publish(&file, &whole).unwrap();
        // The first byte of an entry of a page in the middle of the file: its form.
        let range = &mut parts[1].groups[64];
        let (from, to) = (range.offset as usize, (range.offset + range.len) as usize);
        let (mut bytes, right) = (whole.clone(), range.crc);
        bytes[from] = 9;
        range.crc = crc32fast::hash(&bytes[from..to]);
        let group = range.group;
        disk.storage.publish(&file, &bytes).unwrap();
        match restore(&disk, &parts) {
            StateError::Entries { path, source: RestoreError::Pages { group: of, at: 0, .. } } => {
                assert_eq!((path, of), (file.clone(), group));
            }
            other => panic!("{other}"),
        }
        parts[1].groups[64].crc = right;
        disk.storage.publish(&file, &whole).unwrap();
        disk.storage.remove(&file).unwrap();
        assert!(matches!(restore(&disk, &parts), StateError::DataFile { .. }));
        disk.storage.publish(&file, &whole).unwrap();
    }
}

/// MS-069: no room for all of the pages is an error, which is told, and leaves nothing that hurts.
#[test]
fn ms_069_no_room_for_pages_is_an_error() {
    let (disk, parts) = saved(200_000);
    for threads in [0, 2] {
        let scratch = Arc::new(MemoryScratch::with_memory(3 << 20));
        scratch.full_at(0);
        let supply = Supply { scratch: scratch.clone(), ..on(threads) };
        let mut state = empty::<u64, u64>(parallelism(1), 0, supply);
        match disk.restore(&parts, &mut state, &|_, _| {}).unwrap_err() {
            StateError::Entries { source: RestoreError::Memory { kind, .. }, .. } => {
                assert_eq!(kind, std::io::ErrorKind::StorageFull);
            }
            other => panic!("{other}"),
        }
        assert!(matches!(state.take_fault(), Some(PagedFault::Memory(_))));
        assert_eq!(scratch.refused(), 1);
        drop(state);
        assert_eq!(scratch.used(), 0);
    }
}

/// Of two subtasks that become one, the state of one was small and came as entries, that of the other one is on pages.
#[test]
fn entries_and_pages_are_restored_side_by_side() {
    let (mut disk, mut parts, of) = (Disk::new(), Vec::new(), parallelism(2));
    for subtask in 0..2 {
        let small = if subtask == 0 { 1 << 30 } else { 0 };
        let mut state = empty::<u64, u64>(of, subtask, on(0)).small_up_to(small);
        for key in
            (0..10_000).filter(|key| of.range_of(subtask).contains(of.grouping().group(u64::hash(*key))))
        {
            set(&mut state, &key, Some(key));
        }
        parts.extend(disk.save(&mut state, if subtask == 0 { Extent::Whole } else { Extent::Base }));
    }
    for threads in [0, 2] {
        let mut one = empty::<u64, u64>(parallelism(1), 0, on(threads));
        disk.restore(&parts, &mut one, &|_, _| {}).unwrap();
        one.restored().unwrap();
        assert!(!one.build_on_restored(), "entries are in no pages of the chain");
        let mut keys: Vec<_> = Vec::new();
        one.for_each(|key, value| keys.extend((key == *value).then_some(key)));
        keys.sort_unstable();
        assert!(keys.into_iter().eq(0..10_000));
    }
}

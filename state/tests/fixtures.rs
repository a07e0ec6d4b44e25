//! Files of pages as this format's first release wrote them: every later one opens them and finds the same, and while the
//! format is what it is, writes the same bytes.

use millstream_io::record::{Key, Record};
use millstream_io::storage::{MemoryStorage, Storage, read_all};
use millstream_state::layout::data_file;
use millstream_state::metadata::{Handle, METADATA_FILE};
use millstream_state::snapshot::{
    Destination, OperatorSnapshot, SnapshotReader, SubtaskSnapshot, WriteOptions, write,
};
use millstream_state::{
    KeyGroup, KeyedBackend, Metadata, OperatorId, OrderedBackend, PagedOrdered, PagedState, Parallelism,
    Snapshots,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const GROUPS: u32 = 4;
const KEYS: u64 = 300;
const MORE: u64 = 320;

/// Has a value that takes a run of pages.
const LONG: u64 = 7;

type Six = ((u64, u64), (u64, u64), (u64, u64));

/// What key number `n` has in the end, which is what the last of three checkpoints says that changed it.
fn expected(n: u64) -> Option<u64> {
    match n {
        KEYS.. => Some(n * 3 + 2),
        _ if n.is_multiple_of(11) => Some(n * 3 + 3),
        _ if n.is_multiple_of(5) => None,
        _ if n.is_multiple_of(7) => Some(n * 3 + 2),
        _ => Some(n * 3 + 1),
    }
}

/// What changes before each of the checkpoints.
fn changes(checkpoint: u64) -> Vec<(u64, Option<u64>)> {
    let value = |n: u64| Some(n * 3 + checkpoint);
    match checkpoint {
        1 => (0..KEYS).map(|n| (n, value(n))).collect(),
        2 => {
            let removed = (0..KEYS).step_by(5).map(|n| (n, None));
            let changed = (0..MORE).filter(|n| *n >= KEYS || n % 7 == 0 && n % 5 != 0);
            removed.chain(changed.map(|n| (n, value(n)))).collect()
        }
        _ => (0..KEYS).step_by(11).map(|n| (n, value(n))).collect(),
    }
}

/// A state in each of the forms: words, slots, records, and a tree.
struct States {
    words: PagedState<u64, u64>,
    slots: PagedState<u32, Six>,
    records: PagedState<String, String>,
    ordered: PagedOrdered,
}

fn six(v: u64) -> Six {
    ((v, v + 1), (v, v + 2), (v, v + 3))
}

fn text(n: u64, v: u64) -> String {
    v.to_string().repeat(n as usize % 4)
}

fn bytes(n: u64, v: u64) -> Vec<u8> {
    if n == LONG { vec![v as u8; 5000] } else { v.to_le_bytes().to_vec() }
}

fn set<K: Key, V: Record + Default>(state: &mut PagedState<K, V>, key: &K, value: Option<V>) {
    state.with(K::hash(key.view()), key.view(), |mut entry| match value {
        Some(value) => *entry = value,
        None => entry.clear(),
    });
}

fn all<K: Key + Ord, V: Record + Default>(state: &mut PagedState<K, V>) -> BTreeMap<K, V> {
    let mut all = BTreeMap::new();
    state.for_each(|key, value| drop(all.insert(K::own(key), V::own(value.view()))));
    assert_eq!(all.len(), state.len());
    all
}

impl States {
    fn new() -> Self {
        let whole = Parallelism::new(1, Some(i64::from(GROUPS))).unwrap();
        let (range, max) = (whole.range_of(0), whole.max());
        Self {
            words: PagedState::new(range, max).unwrap().small_up_to(0),
            slots: PagedState::new(range, max).unwrap().small_up_to(0),
            records: PagedState::new(range, max).unwrap().small_up_to(0),
            ordered: PagedOrdered::new(range).small_up_to(0),
        }
    }

    fn each(&mut self) -> [&mut dyn Snapshots; 4] {
        [&mut self.words, &mut self.slots, &mut self.records, &mut self.ordered]
    }

    fn change(&mut self, n: u64, value: Option<u64>) {
        set(&mut self.words, &n, value);
        set(&mut self.slots, &(n as u32), value.map(six));
        set(&mut self.records, &format!("key {n}"), value.map(|v| text(n, v)));
        let (group, key) = (KeyGroup((n % 4) as u16), n.to_be_bytes());
        match value {
            Some(v) => self.ordered.put(group, &key, &bytes(n, v)).unwrap(),
            None => assert!(self.ordered.remove(group, &key)),
        }
    }

    /// Every state has what is expected, worked out key by key, and nothing else.
    fn check(&mut self) {
        let found = || (0..MORE).filter_map(|n| Some((n, expected(n)?)));
        assert!(all(&mut self.words).into_iter().eq(found()));
        assert!(all(&mut self.slots).into_iter().eq(found().map(|(n, v)| (n as u32, six(v)))));
        let texts: BTreeMap<_, _> = found().map(|(n, v)| (format!("key {n}"), text(n, v))).collect();
        assert!(all(&mut self.records) == texts);
        assert_eq!(self.ordered.len(), found().count());
        for (n, v) in found() {
            let value = self.ordered.get(KeyGroup((n % 4) as u16), &n.to_be_bytes());
            assert_eq!(value, Some(&bytes(n, v)[..]), "key {n}");
        }
    }
}

/// The files of three checkpoints of which each has the changes behind the one before.
fn written() -> MemoryStorage {
    let storage = MemoryStorage::new();
    for dir in ["/chk-3", "/shared"] {
        storage.create_dir_all(Path::new(dir)).unwrap();
    }
    let (mut states, id) = (States::new(), OperatorId::from_bits(7));
    for checkpoint in 1..=3 {
        changes(checkpoint).into_iter().for_each(|(n, value)| states.change(n, value));
        let taken = states.each().map(|state| {
            state.freeze();
            while !state.drain(1 << 20) {}
            state.take_snapshot()
        });
        let keyed = (0..).zip(taken).collect();
        let operator = OperatorSnapshot { id, finished: false, keyed, lists: Vec::new() };
        let name = format!("1-{checkpoint}-0-0");
        let to = Destination { dir: Path::new("/chk-3"), name: &name, shared: &name };
        let options = WriteOptions { inline_threshold: 0, write_buffer: 4096 };
        let written = write(&storage, to, SubtaskSnapshot { operators: vec![operator] }, options).unwrap();
        assert_eq!(written.files.len(), 1);
    }
    storage
}

const FILES: [&str; 4] = ["chk-3/_metadata", "shared/1-1-0-0", "shared/1-2-0-0", "shared/1-3-0-0"];

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pages-v1").join(name)
}

/// The fixture's files.
#[expect(clippy::disallowed_methods, reason = "they are no files of the engine's")]
fn fixture() -> MemoryStorage {
    let storage = MemoryStorage::new();
    for name in FILES {
        let path = Path::new("/").join(name);
        storage.create_dir_all(path.parent().unwrap()).unwrap();
        storage.publish(&path, &std::fs::read(place(name)).unwrap()).unwrap();
    }
    storage
}

/// But for the metadata, which has versions of its own.
#[test]
fn pages_v1_are_written_to_the_byte() {
    let (now, then) = (written(), fixture());
    for name in &FILES[1..] {
        let bytes = |storage: &MemoryStorage| read_all(storage, &Path::new("/").join(name)).unwrap();
        assert!(bytes(&now) == bytes(&then), "{name}");
    }
}

fn metadata(storage: &MemoryStorage) -> Metadata {
    Metadata::parse(&read_all(storage, &Path::new("/chk-3").join(METADATA_FILE)).unwrap()).unwrap()
}

/// And what goes on from them is a chain that a restore takes.
#[test]
fn pages_v1_are_restored_by_every_later_release() {
    let storage = fixture();
    let (metadata, mut states) = (metadata(&storage), States::new());
    let reader = SnapshotReader::new(Arc::new(storage), "/chk-3".into());
    let keyed = &metadata.operators[0].subtasks[0].keyed;
    for (nth, state) in (0..).zip(states.each()) {
        let parts: Vec<_> = keyed.iter().filter(|part| part.state == nth).collect();
        assert_eq!(parts.len(), 3);
        reader.restore(&parts, state, &|_, _| {}).unwrap();
        state.restored().unwrap();
        assert!(state.build_on_restored());
    }
    states.check();
}

/// What a shift by seven bits a byte makes of the bytes in front.
fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = *bytes.split_off_first().unwrap();
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

/// Puts a part's lines where `format.md` says.
fn lay_out(mut part: &[u8], pages: &mut BTreeMap<u64, Vec<u8>>) {
    assert_eq!(part.split_off_first(), Some(&1));
    let mut page = 0u64;
    while !part.is_empty() {
        let step = varint(&mut part);
        page = page.wrapping_add((step >> 1) ^ (step & 1).wrapping_neg());
        let mask = match *part.split_off_first().unwrap() {
            64 => u64::from_le_bytes(part.split_off(..8).unwrap().try_into().unwrap()),
            65 => u64::MAX,
            line => 1 << line,
        };
        let of = pages.entry(page).or_insert_with(|| vec![0; 4096]);
        for line in (0..64).filter(|line| mask >> line & 1 == 1) {
            of[line * 64..][..64].copy_from_slice(part.split_off(..64).unwrap());
        }
    }
}

/// The words, read by nothing but `format.md`.
#[test]
fn pages_v1_words_are_where_the_format_says() {
    let storage = fixture();
    let metadata = metadata(&storage);
    let mut found = BTreeMap::new();
    for group in 0..GROUPS as u16 {
        let mut pages = BTreeMap::new();
        for part in metadata.operators[0].subtasks[0].keyed.iter().filter(|part| part.state == 0) {
            let Handle::File { name, offset, .. } = &part.data else { panic!("in a file") };
            let file = read_all(&storage, &data_file(Path::new("/chk-3"), name)).unwrap();
            for range in part.groups.iter().filter(|range| range.group.0 == group) {
                lay_out(&file[(offset + range.offset) as usize..][..range.len as usize], &mut pages);
            }
        }
        let mut passed = 0;
        for (page, content) in &pages {
            if *page < passed || content[0] == 0 {
                continue;
            }
            assert_eq!(content[0], 1, "words");
            passed = page + (1 << content[1]);
            let bucket: Vec<u8> = (*page..passed).flat_map(|page| pages[&page].clone()).collect();
            for slot in bucket[64..].chunks(16) {
                let word = |at: usize| u64::from_le_bytes(slot[at..at + 8].try_into().unwrap());
                if slot.iter().any(|byte| *byte != 0) {
                    assert_eq!(found.insert(word(0) ^ 0xe6d1_57a3_90bc_482f, word(8)), None);
                }
            }
        }
    }
    assert!(found.into_iter().eq((0..MORE).filter_map(|n| Some((n, expected(n)?)))));
}

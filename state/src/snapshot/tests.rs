//! Snapshots to files and back.

use super::*;
use crate::error::{FormatError, StateError};
use crate::heap::HeapState;
use crate::key_group::{KeyGroup, Parallelism};
use crate::keyed::{Chunk, ChunkPart, Extent, GroupChunk, KeyedBackend, Snapshots};
use crate::metadata::{Handle, KeyedHandle, SubtaskState};
use crate::testing::groups_of;
use millstream_io::record::Key;
use millstream_io::storage::fault::FaultStorage;
use millstream_io::storage::{MemoryStorage, Storage, read_all};
use std::path::Path;
use std::sync::Arc;

const DIR: &str = "/c/chk-1";
const FILE: &str = "/c/chk-1/state-0-0";

fn storage() -> MemoryStorage {
    let storage = MemoryStorage::new();
    storage.create_dir_all(Path::new(DIR)).unwrap();
    storage
}

fn chunk(group: u16, bytes: &[u8]) -> GroupChunk {
    GroupChunk { group: KeyGroup(group), entries: 1, bytes: bytes.to_vec() }
}

fn list(list: u16, elements: &[&str]) -> ListSnapshot {
    let mut snapshot = ListSnapshot::new(list);
    for element in elements {
        snapshot.push(element.as_bytes());
    }
    snapshot
}

/// Two operators: one with two keyed states, one with a list.
fn snapshot() -> SubtaskSnapshot {
    let keyed = |groups: Vec<GroupChunk>| KeyedSnapshot { groups, extent: crate::keyed::Extent::Whole };
    let first = OperatorSnapshot {
        id: OperatorId::of_uid("a"),
        finished: false,
        keyed: vec![
            (1, keyed(vec![chunk(0, b"zero"), chunk(9, b"nine")])),
            (0, keyed(vec![chunk(3, &[3; 50])])),
            (2, keyed(Vec::new())),
        ],
        lists: Vec::new(),
    };
    let second = OperatorSnapshot {
        id: OperatorId::of_uid("b"),
        finished: true,
        keyed: Vec::new(),
        lists: vec![ListSnapshot::new(0), list(1, &["x", "", "yz"])],
    };
    SubtaskSnapshot { operators: vec![first, second] }
}

fn to() -> Destination<'static> {
    Destination { dir: Path::new(DIR), name: "state-0-0", shared: "1-1-state-0-0" }
}

fn write_with(storage: &dyn Storage, inline_threshold: usize, write_buffer: usize) -> WrittenSnapshot {
    let options = WriteOptions { inline_threshold, write_buffer };
    write(storage, to(), snapshot(), options).unwrap()
}

fn read_groups(storage: &MemoryStorage, handle: &KeyedHandle) -> Result<Vec<(u16, Vec<u8>)>, StateError> {
    let found = groups_of(&reader(storage), handle)?;
    assert!(found.iter().all(|chunk| chunk.entries == 1));
    Ok(found.into_iter().map(|chunk| (chunk.group.0, chunk.bytes)).collect())
}

fn reader(storage: &MemoryStorage) -> SnapshotReader {
    SnapshotReader::new(Arc::new(storage.clone()), DIR.into())
}

/// What `snapshot` holds, in the order in which it is handed out again.
fn check_content(storage: &MemoryStorage, written: &WrittenSnapshot) {
    let (first, second) = (&written.operators[0].1, &written.operators[1].1);
    assert_eq!(
        first.keyed.iter().map(|k| k.state).collect::<Vec<_>>(),
        [0, 1],
        "ascending, without empty ones"
    );
    assert_eq!(read_groups(storage, &first.keyed[0]).unwrap(), [(3, vec![3; 50])]);
    assert_eq!(
        read_groups(storage, &first.keyed[1]).unwrap(),
        [(0, b"zero".to_vec()), (9, b"nine".to_vec())]
    );
    assert!(second.finished && !first.finished);
    assert_eq!(second.lists.len(), 1, "empty lists are left out");
    assert_eq!(reader(storage).encoded_list(&second.lists[0]).unwrap(), [&b"x"[..], b"", b"yz"]);
}

/// 4 + 4 + 50 bytes of keyed state; elements of 1, 0 and 2 bytes, each behind 4 of length.
const TOTAL: usize = 58 + 15;

#[test]
fn state_up_to_the_threshold_stays_in_the_metadata() {
    let storage = storage();
    let written = write_with(&storage, TOTAL, 16);
    assert_eq!(written.files, []);
    assert!(storage.list(Path::new(DIR)).unwrap().is_empty());
    check_content(&storage, &written);
}

#[test]
fn one_byte_more_goes_into_one_file_whatever_the_buffer() {
    for write_buffer in [0, 1, 7, 50, 1 << 20] {
        let storage = storage();
        let written = write_with(&storage, TOTAL - 1, write_buffer);
        let bytes = read_all(&storage, Path::new(FILE)).unwrap();
        let file = written.files[0].clone();
        assert_eq!((&*file.name, file.len), ("state-0-0", bytes.len() as u64));
        assert_eq!(file.crc, crc32fast::hash(&bytes));
        assert_eq!(bytes.len(), TOTAL);
        assert_eq!(&bytes[..8], b"zeronine", "parts follow one another as they came");
        assert_eq!(storage.list(Path::new(DIR)).unwrap().len(), 1);
        check_content(&storage, &written);
    }
}

/// The content survives a power cut once the name does.
#[test]
fn what_was_written_is_durable() {
    let storage = storage();
    let written = write_with(&storage, 0, 16);
    storage.sync_dir(Path::new(DIR)).unwrap();
    for seed in 0..20 {
        check_content(&storage.crash_image(seed), &written);
    }
}

fn flip(storage: &MemoryStorage, path: &str, at: usize) {
    let mut bytes = read_all(storage, Path::new(path)).unwrap();
    bytes[at] ^= 1;
    storage.publish(Path::new(path), &bytes).unwrap();
}

/// KG-05: bytes of groups that are not wanted are not even looked at.
#[test]
fn kg_05_only_the_wanted_groups_are_read() {
    let storage = storage();
    let handle = write_with(&storage, 0, 16).operators[0].1.keyed[1].clone();
    flip(&storage, FILE, 1); // in group 0, "zero"
    let mut narrowed = handle.clone();
    narrowed.groups.remove(0);
    assert_eq!(read_groups(&storage, &narrowed).unwrap(), [(9, b"nine".to_vec())]);
    match read_groups(&storage, &handle) {
        Err(StateError::Damaged { path, source: FormatError::Checksum { part: "data", .. } }) => {
            assert_eq!(path, Path::new(FILE));
        }
        other => panic!("{other:?}"),
    }
}

/// ER-22: the file and the snapshot are named, nothing is taken for empty.
#[test]
fn er_22_a_missing_or_short_file_is_named() {
    let storage = storage();
    let handle = write_with(&storage, 0, 16).operators[0].1.keyed[0].clone();
    let mut bytes = read_all(&storage, Path::new(FILE)).unwrap();
    bytes.truncate(20);
    storage.publish(Path::new(FILE), &bytes).unwrap();
    let error = read_groups(&storage, &handle).unwrap_err();
    assert!(
        matches!(&error, StateError::Damaged { source: FormatError::Truncated { found: 20, .. }, .. }),
        "{error}"
    );
    storage.remove(Path::new(FILE)).unwrap();
    let error = read_groups(&storage, &handle).unwrap_err();
    let StateError::DataFile { snapshot, source } = &error else { panic!("{error}") };
    assert_eq!((snapshot.as_path(), source.path.as_path()), (Path::new(DIR), Path::new(FILE)));
    assert!(error.to_string().contains(FILE) && error.to_string().contains(DIR), "{error}");
}

/// MS-073: a length that the file does not have asks for no memory.
#[test]
fn ms_073_an_absurd_length_is_an_error() {
    let storage = storage();
    let mut handle = write_with(&storage, 0, 16).operators[0].1.keyed[0].clone();
    handle.groups[0].len = u64::MAX;
    assert!(matches!(read_groups(&storage, &handle), Err(StateError::Damaged { .. })));
    handle.groups[0].offset = u64::MAX;
    assert!(matches!(read_groups(&storage, &handle), Err(StateError::Damaged { .. })));
    let mut inline = write_with(&storage, 1 << 20, 16).operators[0].1.keyed[0].clone();
    inline.groups[0].len = u64::MAX;
    assert!(matches!(read_groups(&storage, &inline), Err(StateError::Damaged { .. })));
}

#[test]
fn a_list_that_does_not_hold_what_it_says_is_an_error() {
    let storage = storage();
    let good = write_with(&storage, 1 << 20, 16).operators[1].1.lists[0].clone();
    let field = |handle, what: &str| match reader(&storage).encoded_list(&handle) {
        Err(StateError::Damaged { source: FormatError::Field { problem, .. }, .. }) => {
            assert!(problem.contains(what), "{problem}");
        }
        other => panic!("{other:?}"),
    };
    let mut more = good.clone();
    more.elements = 4;
    field(more, "as many elements");
    let with_bytes = |bytes: &[u8]| {
        let mut handle = good.clone();
        (handle.data, handle.crc) = (Handle::Inline(bytes.into()), crc32fast::hash(bytes));
        handle
    };
    field(with_bytes(b"\x05\0\0\0abc"), "beyond the end");
    field(with_bytes(b"\0"), "beyond the end");
    field(with_bytes(b"\x01\0\0\0a"), "as many elements");
}

/// MS-069: the error says which file and why.
#[test]
fn ms_069_a_full_disk_is_named() {
    let full = FaultStorage::new(Arc::new(storage()));
    full.full_from(0);
    let options = WriteOptions { inline_threshold: 0, write_buffer: 16 };
    let error = write(&full, to(), snapshot(), options).unwrap_err();
    assert_eq!(error.path, Path::new(FILE));
    assert_eq!(error.source.raw_os_error(), Some(28));
}

/// A table frozen, written, and given to three subtasks instead of one.
#[test]
fn kg_05_a_table_is_restored_at_another_parallelism() {
    let storage = storage();
    let (one, three) = (Parallelism::new(1, Some(128)).unwrap(), Parallelism::new(3, Some(128)).unwrap());
    let mut table = HeapState::<u64, i64>::new(one.range_of(0), 128);
    for key in 0..1000 {
        table.with(u64::hash(key), key, |entry| *entry.into_mut() = key as i64 * 7);
    }
    table.freeze();
    while !table.drain(100) {}
    let operator = OperatorSnapshot {
        id: OperatorId::of_uid("t"),
        finished: false,
        keyed: vec![(0, table.take_snapshot())],
        lists: Vec::new(),
    };
    let snapshot = SubtaskSnapshot { operators: vec![operator] };
    let written = write(&storage, to(), snapshot, WriteOptions::default()).unwrap();
    let SubtaskState { keyed, .. } = &written.operators[0].1;
    let mut sizes = Vec::new();
    let mut sum = 0;
    for subtask in 0..3 {
        let range = three.range_of(subtask);
        let mut narrowed = keyed[0].clone();
        narrowed.groups.retain(|g| range.contains(g.group));
        let mut part = HeapState::<u64, i64>::new(range, 128);
        reader(&storage).restore(&[&narrowed], &mut part, &|_, _| {}).unwrap();
        part.for_each(|key, value| {
            assert_eq!(*value, key as i64 * 7);
            sum += *value;
        });
        sizes.push(part.len());
    }
    assert_eq!(sizes.iter().sum::<usize>(), 1000);
    assert!(sizes.iter().all(|&n| n > 200), "{sizes:?}");
    assert_eq!(sum, 7 * 999 * 1000 / 2);
}

/// A chunk of so many bytes of each group.
fn piece(extent: Extent, parts: &[(u16, &[u8])]) -> Chunk {
    let part =
        |(group, bytes): &(u16, &[u8])| ChunkPart { group: KeyGroup(*group), entries: 1, len: bytes.len() };
    let bytes = parts.iter().flat_map(|(_, bytes)| bytes.to_vec()).collect();
    Chunk { extent, parts: parts.iter().map(part).collect(), bytes }
}

/// Two states in chunks, the second one with a group in three of them, and one as a whole.
fn in_chunks(storage: &dyn Storage, inline_threshold: usize, write_buffer: usize) -> WrittenSnapshot {
    let id = OperatorId::of_uid("a");
    let mut writing = Writing::new(to(), WriteOptions { inline_threshold, write_buffer });
    writing.add(storage, (id, 1), &piece(Extent::Base, &[(0, b"zero"), (9, b"ni")])).unwrap();
    writing.add(storage, (id, 1), &piece(Extent::Base, &[(9, b"ne")])).unwrap();
    writing.add(storage, (id, 3), &piece(Extent::Changes, &[(2, &[2; 30])])).unwrap();
    writing.add(storage, (id, 3), &piece(Extent::Changes, &[(2, &[2; 30])])).unwrap();
    writing.add(storage, (id, 3), &piece(Extent::Changes, &[(2, &[2; 30]), (5, &[5; 7])])).unwrap();
    let mut rest = snapshot();
    let none = |extent| KeyedSnapshot { groups: Vec::new(), extent };
    rest.operators[0].keyed[0].1 = none(Extent::Base);
    rest.operators[0].keyed.push((3, none(Extent::Changes)));
    writing.finish(storage, rest).unwrap()
}

/// CP-24: a group that came in three chunks is one, wherever the bytes are in the end.
#[test]
fn cp_24_what_came_in_chunks_is_read_as_if_it_had_come_at_once() {
    for (threshold, buffer, files) in [(1 << 20, 16, 0), (73, 1, 1), (73, 40, 1), (40, 1 << 20, 2), (0, 7, 2)]
    {
        let storage = storage();
        storage.create_dir_all(Path::new("/c/shared")).unwrap();
        let written = in_chunks(&storage, threshold, buffer);
        let keyed = &written.operators[0].1.keyed;
        assert_eq!(keyed.iter().map(|k| k.state).collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!(written.files.len(), files, "105 bytes are to be shared, 65 are not");
        for file in &written.files {
            let bytes = read_all(&storage, &crate::layout::data_file(Path::new(DIR), &file.name)).unwrap();
            assert_eq!((file.len, file.crc), (bytes.len() as u64, crc32fast::hash(&bytes)));
        }
        let read = |at: usize| read_groups(&storage, &keyed[at]).unwrap();
        assert_eq!(read(0), [(3, vec![3; 50])]);
        assert_eq!(read(1), [(0, b"zero".to_vec()), (9, b"nine".to_vec())]);
        assert_eq!(read(2), [(2, vec![2; 90]), (5, vec![5; 7])]);
    }
}

/// BE-07: the threshold decides, whatever the chunks: no file is there before it is passed.
#[test]
fn be_07_chunks_below_the_threshold_open_no_file() {
    let storage = storage();
    storage.create_dir_all(Path::new("/c/shared")).unwrap();
    let options = WriteOptions { inline_threshold: 20 << 10, write_buffer: 4096 };
    let mut writing = Writing::new(to(), options);
    let id = (OperatorId::of_uid("a"), 0);
    let shared = |storage: &MemoryStorage| storage.list(Path::new("/c/shared")).unwrap().len();
    for group in 0..4 {
        writing.add(&storage, id, &piece(Extent::Changes, &[(group, &[7; 5 << 10])])).unwrap();
        assert_eq!(shared(&storage), 0);
    }
    writing.add(&storage, id, &piece(Extent::Changes, &[(4, &[7])])).unwrap();
    assert_eq!(shared(&storage), 1, "20 KB and a byte");
}

#[test]
#[should_panic(expected = "come together")]
fn states_of_a_file_come_one_behind_the_other() {
    let (storage, id) = (storage(), OperatorId::of_uid("a"));
    let mut writing = Writing::new(to(), WriteOptions::default());
    for state in [0, 1, 0] {
        writing.add(&storage, (id, state), &piece(Extent::Base, &[(0, b"x")])).unwrap();
    }
}

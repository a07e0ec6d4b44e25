//! Values that several tests of this crate use.

use crate::descriptor::{Backend, Layout, ListDescriptor, StateDescriptor, StateKind};
use crate::error::StateError;
use crate::key_group::KeyGroup;
use crate::keyed::{Chunk, GroupChunk, KeyedSnapshot, RestoreError, Snapshots};
use crate::metadata::{
    FileEntry, GroupForm, GroupRange, Handle, KeyedHandle, LineCounters, ListHandle, Metadata, OperatorState,
    SnapshotFormat, SnapshotKind, SubtaskState,
};
use crate::snapshot::SnapshotReader;
use crate::{JobId, OperatorId};
use millstream_io::id::CheckpointId;
use millstream_io::source::Redistribution;
use millstream_io::{Record, Schema};

/// A snapshot that was taken in chunks, as one.
pub(crate) fn joined(chunks: &[Chunk], rest: KeyedSnapshot) -> KeyedSnapshot {
    assert!(chunks.is_empty() || rest.groups.is_empty(), "in chunks or as a whole");
    let mut groups = rest.groups;
    for chunk in chunks {
        assert_eq!(chunk.extent, rest.extent);
        let mut bytes = &chunk.bytes[..];
        for part in &chunk.parts {
            let content = bytes.split_off(..part.len).unwrap();
            assert!(groups.last().is_none_or(|last| last.group <= part.group), "in order");
            match groups.last_mut() {
                Some(last) if last.group == part.group => last.bytes.extend_from_slice(content),
                _ => groups.push(GroupChunk {
                    group: part.group,
                    entries: part.entries,
                    bytes: content.to_vec(),
                }),
            }
        }
        assert!(bytes.is_empty());
    }
    KeyedSnapshot { groups, extent: rest.extent }
}

/// A state that keeps the parts of its key groups as they are restored.
#[derive(Default)]
pub(crate) struct Collected(pub Vec<GroupChunk>);

impl Snapshots for Collected {
    fn freeze(&mut self) {
        unreachable!("it is restored and no more")
    }

    fn is_frozen(&self) -> bool {
        false
    }

    fn drain(&mut self, _: usize) -> bool {
        true
    }

    fn take_snapshot(&mut self) -> KeyedSnapshot {
        unreachable!("it was never frozen")
    }

    fn abandon(&mut self) -> bool {
        true
    }

    fn restore(&mut self, group: KeyGroup, entries: u64, bytes: &[u8]) -> Result<(), RestoreError> {
        self.0.push(GroupChunk { group, entries, bytes: bytes.to_vec() });
        Ok(())
    }
}

/// The key groups of a part of a snapshot, as they are restored.
pub(crate) fn groups_of(reader: &SnapshotReader, part: &KeyedHandle) -> Result<Vec<GroupChunk>, StateError> {
    let mut all = Collected::default();
    reader.restore(&[part], &mut all, &|_, _| {})?;
    Ok(all.0)
}

/// A built-in type.
pub(crate) fn schema(name: &'static str) -> Schema {
    Schema::Primitive(name.into())
}

pub(crate) fn value_state(name: &str, key: &'static str, value: &'static str) -> StateDescriptor {
    StateDescriptor {
        name: name.to_owned(),
        kind: StateKind::Value,
        key: schema(key),
        value: schema(value),
        namespace: None,
        ttl: false,
        layout: Layout::Hashed,
        backend: Backend::Hashmap,
    }
}

pub(crate) fn list(name: &str, redistribution: Redistribution) -> ListDescriptor {
    ListDescriptor { name: name.to_owned(), redistribution, element: schema("string") }
}

/// A list of two elements that stand in the metadata.
pub(crate) fn two_elements(list: u16) -> ListHandle {
    let bytes = *b"\x01\0\0\0a\x02\0\0\0bc";
    ListHandle { list, elements: 2, crc: crc32fast::hash(&bytes), data: Handle::Inline(bytes[..].into()) }
}

/// Bytes of a file, 30 in one group and the rest in another.
pub(crate) fn two_groups(groups: [u16; 2], file: &FileEntry) -> KeyedHandle {
    let range = |group, offset, len| GroupRange { group: KeyGroup(group), entries: 3, offset, len, crc: 5 };
    KeyedHandle {
        state: 0,
        groups: vec![range(groups[0], 0, 30), range(groups[1], 30, file.len - 30)],
        data: Handle::File { name: file.name.clone(), offset: 0, len: file.len },
        form: GroupForm::Backend,
    }
}

/// A checkpoint of a source with a list and a keyed operator of two subtasks with a file each.
pub(crate) fn sample() -> Metadata {
    let file = |name: &str| FileEntry { name: name.into(), len: 100, crc: 0x1234_5678 };
    let files = vec![file("state-1-0"), file("state-1-1")];
    let source = OperatorState {
        id: OperatorId::of_uid("source"),
        uid: Some("source".to_owned()),
        name: "lines".to_owned(),
        max_parallelism: 128,
        states: Vec::new(),
        lists: vec![list("splits", Redistribution::EvenSplit)],
        subtasks: vec![SubtaskState { finished: true, keyed: Vec::new(), lists: vec![two_elements(0)] }],
    };
    let keyed = |handle| SubtaskState { finished: false, keyed: vec![handle], lists: Vec::new() };
    let count = OperatorState {
        id: OperatorId::generated(b"count"),
        uid: None,
        name: "count".to_owned(),
        max_parallelism: 128,
        states: vec![value_state("sum", "u64", "i64")],
        lists: Vec::new(),
        subtasks: vec![keyed(two_groups([0, 63], &files[0])), keyed(two_groups([64, 127], &files[1]))],
    };
    Metadata {
        checkpoint: CheckpointId(7),
        kind: SnapshotKind::Checkpoint,
        format: SnapshotFormat::Native,
        job: JobId::of("flights"),
        job_name: "flights".to_owned(),
        line: 2,
        trigger_ms: 1_700_000_000_000,
        completed_ms: 1_700_000_000_250,
        counters: LineCounters { records_in: 1000, records_out: 900, records_late: 5, records_rejected: 1 },
        files,
        operators: vec![source, count],
    }
}

/// Values and keys of a type, by number: different numbers give different keys.
pub(crate) trait Sample: Record {
    fn sample(n: u64) -> Self;
}

/// A word that looks like an empty slot.
const EMPTY_WORD: u64 = 0xe6d1_57a3_90bc_482f;

impl Sample for u64 {
    fn sample(n: u64) -> u64 {
        match n {
            0 => EMPTY_WORD,
            1 => u64::MAX,
            n => n - 2,
        }
    }
}

impl Sample for i64 {
    fn sample(n: u64) -> i64 {
        -(n as i64)
    }
}

impl Sample for i32 {
    fn sample(n: u64) -> i32 {
        n as i32 * 7919
    }
}

impl Sample for (u32, u32) {
    fn sample(n: u64) -> (u32, u32) {
        (n as u32 % 5, n as u32 / 5)
    }
}

impl Sample for (u64, u64) {
    fn sample(n: u64) -> (u64, u64) {
        (n, !n)
    }
}

/// 48 bytes.
impl Sample for ((u64, u64), (u64, u64), (u64, u64)) {
    fn sample(n: u64) -> Self {
        ((n, !n), (n * 3, 5), (0, n << 40))
    }
}

/// Texts of 0 to 50 bytes: in the slot, in the arena, and of just sixteen.
impl Sample for String {
    fn sample(n: u64) -> String {
        match n {
            0 => String::new(),
            n if n % 3 == 0 => format!("{n:016}"),
            n if n % 3 == 1 => n.to_string(),
            n => format!("{n}{}", "é".repeat(n as usize % 23)),
        }
    }
}

impl Sample for (u64, String) {
    fn sample(n: u64) -> (u64, String) {
        (n % 3, String::sample(n / 3))
    }
}

/// Bytes, of some numbers more than a table on pages takes in unit tests.
impl Sample for Vec<u8> {
    fn sample(n: u64) -> Vec<u8> {
        vec![n as u8; if n % 97 == 96 { 3000 } else { n as usize % 40 }]
    }
}

impl Sample for () {
    fn sample(_: u64) {}
}

impl Sample for Option<String> {
    fn sample(n: u64) -> Option<String> {
        (n % 2 == 1).then(|| String::sample(n))
    }
}

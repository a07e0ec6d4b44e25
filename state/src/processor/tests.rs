//! What the state processor says of snapshots is what is in them.

use super::*;
use crate::descriptor::{Backend, Layout, StateDescriptor, StateKind};
use crate::key_group::KeyGroup;
use crate::metadata::{KeyedHandle, SnapshotFormat, SnapshotKind};
use crate::savepoint::tests::{CHECKPOINT, SAVEPOINT, Scene, scene};
use crate::testing::{schema, value_state};
use crate::{HeapOrdered, OrderedBackend, Parallelism};
use millstream_io::Schema;
use millstream_io::executor::InlineExecutor;
use millstream_io::record::Record;
use millstream_io::storage::fault::FaultStorage;
use millstream_io::storage::{Storage, read_all};
use std::collections::BTreeSet;

/// The operator of a scene has no uid.
fn id() -> String {
    crate::OperatorId::generated(b"count").to_string()
}

/// The scene's checkpoint is complete, and a canonical savepoint of it too.
fn complete(scene: &Scene) {
    let bytes = scene.metadata.encode().unwrap();
    scene.storage.publish(&Path::new(CHECKPOINT).join("_metadata"), &bytes).unwrap();
    scene.save(SnapshotFormat::Canonical, &InlineExecutor).unwrap();
}

fn open(scene: &Scene, dir: &str) -> Snapshot {
    Snapshot::open(Arc::new(scene.storage.clone()), Path::new(dir)).unwrap()
}

fn lines(snapshot: &Snapshot, name: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let entries = snapshot.entries(&id(), name).unwrap();
    let add = |parts: &Parts<'_>| -> Result<bool, StateError> {
        assert!(all.insert(parts.to_json()), "twice");
        Ok(true)
    };
    entries.for_each(add).unwrap();
    all
}

#[test]
fn pa_04_what_is_read_is_the_same_whatever_kept_it() {
    let mut all = Vec::new();
    for backend in [Backend::Hashmap, Backend::Paged] {
        let (scene, model) = scene::<u64, i64>(backend);
        complete(&scene);
        let expected: BTreeSet<_> = model
            .iter()
            .map(|(key, value)| {
                let (key, value) = (u64::parse(key).unwrap().0, i64::parse(value).unwrap().0);
                format!("{{\"key\":{key},\"value\":{value}}}")
            })
            .collect();
        all.push(expected);
        for dir in [CHECKPOINT, SAVEPOINT] {
            assert!(lines(&open(&scene, dir), "sum") == all[0], "{backend} {dir}");
        }
    }
}

#[test]
fn pa_01_one_key_is_found_in_any_form_and_no_other() {
    for backend in [Backend::Hashmap, Backend::Paged] {
        let (scene, model) = scene::<String, u64>(backend);
        complete(&scene);
        for dir in [CHECKPOINT, SAVEPOINT] {
            let snapshot = open(&scene, dir);
            let entries = snapshot.entries(&id(), "sum").unwrap();
            for (key, value) in model.iter().step_by(7) {
                let mut found = Vec::new();
                let see = |parts: &Parts<'_>| -> Result<(), StateError> {
                    found.push(parts.value.map(|value| value.row.to_vec()));
                    Ok(())
                };
                entries.of_key(key, see).unwrap();
                assert_eq!(found, [Some(value.clone())], "{backend} {dir}");
            }
            let nothing = |parts: &Parts<'_>| -> Result<(), StateError> { panic!("{}", parts.to_json()) };
            for missing in ["no such key", "zz", "a"] {
                entries.of_key(&String::encode(missing), nothing).unwrap();
            }
        }
    }
}

#[test]
fn pa_01_elements_of_lists_are_shown() {
    let (scene, _) = scene::<u64, u64>(Backend::Hashmap);
    complete(&scene);
    let snapshot = open(&scene, SAVEPOINT);
    // The test's elements are texts without their length, as the schema does not have them.
    let mut elements = snapshot.elements("source", "splits").unwrap().unwrap();
    let see = |_: &str| -> Result<bool, StateError> { Ok(true) };
    assert!(matches!(elements.for_each(see), Err(StateError::Damaged { .. })));
    assert!(snapshot.elements(&id(), "sum").unwrap().is_none());
}

/// ER-05, PA-05: who asks for what there is not is told what there is.
#[test]
fn pa_05_what_there_is_not_is_told_with_what_there_is() {
    let (scene, _) = scene::<u64, u64>(Backend::Hashmap);
    complete(&scene);
    let snapshot = open(&scene, SAVEPOINT);
    let refused = |uid: &str, name: &str| match snapshot.entries(uid, name) {
        Err(error) => error.hint().unwrap(),
        Ok(_) => panic!("{uid} {name}"),
    };
    assert_eq!(refused("sorce", "sum"), format!("there is: source, {}", id()));
    assert_eq!(refused(&id(), "sums"), "there is: sum, pending");
    assert_eq!(refused("source", "splits"), "there are none at all");
    let listing = snapshot.listing();
    assert_eq!((listing.kind, listing.format), (SnapshotKind::Savepoint, SnapshotFormat::Canonical));
    assert_eq!((listing.checkpoint, listing.max_parallelism, listing.operators.len()), (7, 128, 2));
    let state = &listing.operators[1].states[0];
    assert_eq!((state.name.as_str(), state.key_type.as_deref()), ("sum", Some("u64")));
    assert_eq!(state.entries, lines(&snapshot, "sum").len() as u64);
    assert_eq!((state.key_groups, state.backend), (16, Some(Backend::Canonical)));
    let storage = Arc::new(scene.storage.clone());
    assert!(matches!(Snapshot::open(storage, Path::new("/c/job/chk-8")), Err(StateError::NoSnapshot { .. })));
}

/// Bytes as `docs/format.md` has them for each kind.
#[test]
fn pa_01_entries_of_each_kind_are_taken_apart() {
    let of = |kind, value: Schema, ttl, namespace: Option<Schema>| {
        let state = StateDescriptor {
            kind,
            value,
            ttl,
            namespace,
            layout: Layout::Ordered,
            ..value_state("a", "u16", "u8")
        };
        EntryShape::of(&state).unwrap()
    };
    let shown =
        |shape: &EntryShape, key: &[u8], value: &[u8]| shape.parts([key, value]).map(|parts| parts.to_json());
    let value = of(StateKind::Value, schema("u8"), false, None);
    assert_eq!(shown(&value, &[5, 1], &[9]).unwrap(), r#"{"key":261,"value":9}"#);
    let spaced = of(StateKind::Reducing, schema("u8"), true, Some(schema("string")));
    let time = 1000u64.to_le_bytes();
    let with_time = [&time[..], &[9]].concat();
    assert_eq!(
        shown(&spaced, &[5, 1, 0], &with_time).unwrap(),
        r#"{"key":261,"accessed_ms":1000,"value":9}"#
    );
    assert_eq!(
        shown(&spaced, b"\x05\x01\x01\x01\0\0\0w", &with_time).unwrap(),
        r#"{"key":261,"namespace":"w","accessed_ms":1000,"value":9}"#
    );
    let list = of(StateKind::List, schema("u8"), false, None);
    let key = [&[5, 1][..], &17u64.to_be_bytes()].concat();
    assert_eq!(shown(&list, &key, &[9]).unwrap(), r#"{"key":261,"position":17,"value":9}"#);
    let pair = Schema::Tuple(vec![schema("bool"), schema("u8")]);
    let map = of(StateKind::Map, pair, false, None);
    assert_eq!(shown(&map, &[5, 1, 1], &[9]).unwrap(), r#"{"key":261,"map_key":true,"value":9}"#);
    let timers = of(StateKind::EventTimers, schema("()"), false, None);
    let key = [&((-7i64).cast_unsigned() ^ 1 << 63).to_be_bytes()[..], &[5, 1]].concat();
    assert_eq!(shown(&timers, &key, &[]).unwrap(), r#"{"key":261,"timestamp":-7}"#);
    for (shape, key, value) in [
        (&value, &[5][..], &[9][..]),
        (&value, &[5, 1, 0], &[9]),
        (&value, &[5, 1], &[]),
        (&map, &[5, 1, 7], &[9]),
    ] {
        assert!(shown(shape, key, value).is_err());
    }
    assert!(shown(&spaced, &[5, 1, 2], &with_time).is_err());
    assert!(shown(&timers, &[0; 10], &[1]).is_err());
}

#[test]
fn pa_03_a_diff_names_what_differs_and_nothing_else() {
    let (old, model) = scene::<u64, u64>(Backend::Paged);
    complete(&old);
    let (other, _) = scene::<u64, u64>(Backend::Hashmap);
    complete(&other);
    let told = |left: &Snapshot, right: &Snapshot| {
        let mut all = Vec::new();
        let tell = |difference: &Difference<'_>| -> Result<(), StateError> {
            all.push(match difference {
                Difference::Entry { state, left, right, .. } => {
                    let json =
                        |parts: &Option<Parts<'_>>| parts.as_ref().map(Parts::to_json).unwrap_or_default();
                    format!("{state} {} {}", json(left), json(right))
                }
                Difference::State { state, why, .. } => format!("{state} {why}"),
            });
            Ok(())
        };
        diff(left, right, tell).unwrap();
        all
    };
    let (left, right) = (open(&old, SAVEPOINT), open(&other, CHECKPOINT));
    assert_eq!(told(&left, &right), [""; 0], "whatever kept it");
    let mut without = open(&other, CHECKPOINT);
    let dropped = without.metadata.operators[1].subtasks[0].keyed[0].groups.pop().unwrap();
    assert_eq!(told(&left, &without).len() as u64, dropped.entries);
    assert!(told(&without, &left)[0].starts_with("sum  {\"key\":"), "it is only in the second");
    let mut typed = open(&other, CHECKPOINT);
    typed.metadata.operators[1].states[0].value = schema("i64");
    assert_eq!(told(&left, &typed), ["sum their values are of different types"]);
    let mut alone = open(&other, CHECKPOINT);
    alone.metadata.operators.remove(1);
    assert_eq!(told(&left, &alone).len(), model.len() + 1, "and the list");
}

#[test]
fn sp_03_verify_reads_all_of_it_and_names_what_is_wrong() {
    let (scene, model) = scene::<u64, u64>(Backend::Paged);
    complete(&scene);
    let verified = |dir: &str| verify(Arc::new(scene.storage.clone()), Path::new(dir));
    for dir in [CHECKPOINT, SAVEPOINT] {
        let found = verified(dir).unwrap();
        assert_eq!((found.entries, found.elements, found.unread.len()), (model.len() as u64, 4, 0), "{dir}");
    }
    let file = Path::new(SAVEPOINT).join("1-0");
    let whole = read_all(&scene.storage, &file).unwrap();
    for at in (0..whole.len()).step_by(501) {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        scene.storage.publish(&file, &bytes).unwrap();
        assert!(
            matches!(verified(SAVEPOINT), Err(StateError::Damaged { path, .. }) if path == file),
            "byte {at}"
        );
    }
    scene.storage.publish(&file, &whole[..whole.len() - 1]).unwrap();
    assert!(matches!(verified(SAVEPOINT), Err(StateError::Damaged { .. })), "cut");
    scene
        .storage
        .publish(&file, &read_all(&scene.storage, &Path::new(SAVEPOINT).join("1-1")).unwrap())
        .unwrap();
    assert!(matches!(verified(SAVEPOINT), Err(StateError::Damaged { .. })), "swapped");
    scene.storage.remove(&file).unwrap();
    assert!(matches!(verified(SAVEPOINT), Err(StateError::DataFile { .. })), "missing");
}

/// MS-073: with all checksums right, groups that were exchanged, and blocks that do not fit their index, are noticed.
#[test]
fn ms_073_verify_asks_whether_keys_are_where_they_belong() {
    let (scene, _) = scene::<u64, u64>(Backend::Hashmap);
    complete(&scene);
    let mut metadata = open(&scene, SAVEPOINT).metadata;
    let republish = |metadata: &crate::Metadata| {
        scene.storage.publish(&Path::new(SAVEPOINT).join("_metadata"), &metadata.encode().unwrap()).unwrap();
        verify(Arc::new(scene.storage.clone()), Path::new(SAVEPOINT))
    };
    assert!(republish(&metadata).is_ok());
    let KeyedHandle { groups, .. } = &mut metadata.operators[1].subtasks[0].keyed[0];
    assert_eq!(groups.pop().map(|last| last.group), Some(KeyGroup(7)));
    let (first, len) = (groups.remove(0), groups.len());
    assert_eq!((first.group, len), (KeyGroup(0), 6));
    for (group, range) in groups.iter_mut().enumerate() {
        range.group = KeyGroup(group as u16);
        range.offset -= first.len;
    }
    let shorter = groups.iter().map(|range| range.len).sum();
    if let crate::metadata::Handle::File { offset, len, .. } =
        &mut metadata.operators[1].subtasks[0].keyed[0].data
    {
        *offset += first.len;
        *len = shorter;
    }
    let error = republish(&metadata).unwrap_err();
    assert!(
        matches!(error, StateError::Entries { source: crate::RestoreError::Stray { .. }, .. }),
        "{error}"
    );
}

/// Timers are in the order of their times, so that those of a key are anywhere in its group.
#[test]
fn pa_01_timers_of_a_key_are_found() {
    let of = Parallelism::new(1, Some(16)).unwrap();
    let mut scene = Scene::new(vec![StateDescriptor {
        kind: StateKind::ProcessingTimers,
        layout: Layout::Ordered,
        ..value_state("timers", "u64", "()")
    }]);
    scene.operator().subtasks.truncate(1);
    let mut timers = HeapOrdered::new(of.range_of(0));
    for n in 0..400u64 {
        let key = n % 20;
        let group = of.grouping().group(<u64 as millstream_io::record::Key>::hash(key));
        let entry = [(n ^ 1 << 63).to_be_bytes(), key.to_le_bytes()].concat();
        timers.put(group, &entry, &[]).unwrap();
    }
    scene.write(0, 0, &mut timers);
    complete(&scene);
    for dir in [CHECKPOINT, SAVEPOINT] {
        let snapshot = open(&scene, dir);
        let mut found = Vec::new();
        let see = |parts: &Parts<'_>| -> Result<(), StateError> {
            found.extend(parts.timestamp);
            Ok(())
        };
        snapshot.entries(&id(), "timers").unwrap().of_key(&7u64.to_le_bytes(), see).unwrap();
        assert_eq!(found, (0..20).map(|n| n * 20 + 7).collect::<Vec<_>>());
        assert_eq!(snapshot.listing().operators[1].timers, 400);
    }
}

/// A key takes the metadata, an index, and few blocks, not the group.
#[test]
fn pa_01_one_key_takes_few_bytes_of_a_canonical_savepoint() {
    let (scene, model) = scene::<u64, u64>(Backend::Paged);
    complete(&scene);
    let counted = FaultStorage::new(Arc::new(scene.storage.clone()));
    let snapshot = Snapshot::open(Arc::new(counted.clone()), Path::new(SAVEPOINT)).unwrap();
    counted.record();
    let entries = snapshot.entries(&id(), "sum").unwrap();
    let (key, _) = model.first_key_value().unwrap();
    entries.of_key(key, |_| -> Result<(), StateError> { Ok(()) }).unwrap();
    let read: u64 = counted.reads().iter().map(|(_, range)| range.end - range.start).sum();
    let all: u64 = snapshot.metadata().files.iter().map(|file| file.len).sum();
    // Of sixteen groups one, and of that the index, which is half as large as the blocks of tests are, and two blocks.
    assert!(read > 0 && read * 30 < all, "{read} of {all}");
}

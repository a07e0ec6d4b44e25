//! Encoding and checked parsing of `_metadata` (CS-05, ER-06, MS-073).

use super::*;
use crate::descriptor::{Backend, BackendName, Layout, StateKind};
use crate::error::FormatError;
use crate::frame;
use crate::key_group::Parallelism;
use crate::testing::{sample, schema, two_groups, value_state};
use proptest::prelude::*;

/// Rebuilds the frame around a changed body, so that only the body's own checks are left.
fn resealed(bytes: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut body = bytes[frame::HEADER..bytes.len() - frame::TRAILER].to_vec();
    change(&mut body);
    frame::seal(encode::KIND, &body)
}

fn field_of(result: Result<Metadata, FormatError>) -> &'static str {
    match result {
        Err(FormatError::Field { field, .. }) => field,
        other => panic!("expected a bad field, found {other:?}"),
    }
}

fn with(change: impl FnOnce(&mut Metadata)) -> Result<Metadata, FormatError> {
    let mut metadata = sample();
    change(&mut metadata);
    Metadata::parse(&metadata.encode().unwrap())
}

fn keyed(metadata: &mut Metadata) -> &mut KeyedHandle {
    &mut metadata.operators[1].subtasks[0].keyed[0]
}

/// Gives the second file another name wherever it is named.
fn rename(metadata: &mut Metadata, to: &str) {
    let old = std::mem::replace(&mut metadata.files[1].name, to.into());
    for handle in metadata.operators.iter_mut().flat_map(|o| &mut o.subtasks).flat_map(|s| &mut s.keyed) {
        if let Handle::File { name, .. } = &mut handle.data
            && *name == old
        {
            *name = to.into();
        }
    }
}

#[test]
fn what_was_encoded_is_parsed() {
    assert_eq!(Metadata::parse(&sample().encode().unwrap()), Ok(sample()));
}

/// The first fields stand where `docs/format.md` says.
#[test]
fn the_layout_is_the_documented_one() {
    let bytes = sample().encode().unwrap();
    assert_eq!(&bytes[..12], b"MILLMETA\x04\0\0\0");
    let body = &bytes[24..];
    assert_eq!(body[..8], 7u64.to_le_bytes(), "checkpoint");
    assert_eq!(body[8], 0, "kind");
    assert_eq!(body[9], 0, "format");
    assert_eq!(body[10..26], JobId::of("flights").to_bits().to_le_bytes(), "job");
    assert_eq!(&body[26..37], b"\x07\0\0\0flights", "job name");
    assert_eq!(body[37..45], 2u64.to_le_bytes(), "line");
}

/// ER-06, MS-019: a flipped bit anywhere and a cut anywhere is noticed.
#[test]
fn er_06_no_changed_byte_and_no_cut_goes_unnoticed() {
    let bytes = sample().encode().unwrap();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(Metadata::parse(&changed).is_err(), "byte {at}");
        assert!(Metadata::parse(&bytes[..at]).is_err(), "cut to {at}");
    }
}

/// MS-073: with right checksums, every field set to 0, 255 or 254 in each of its bytes, and every aligned and
/// unaligned 2, 4 and 8 bytes set to 0, max and max - 1: no panic, no hunger for memory; and whatever parses is
/// metadata that encodes to the same bytes.
#[test]
fn ms_073_no_value_of_any_field_breaks_the_parser() {
    let bytes = sample().encode().unwrap();
    let body = bytes.len() - frame::HEADER - frame::TRAILER;
    for width in [1, 2, 4, 8] {
        for at in 0..=body - width {
            for value in [0u64, u64::MAX, u64::MAX - 1, 1 << 31, 1 << 63] {
                let changed =
                    resealed(&bytes, |b| b[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]));
                if let Ok(metadata) = Metadata::parse(&changed) {
                    assert_eq!(
                        metadata.encode().unwrap(),
                        changed,
                        "{width} bytes at {at} set to {value:#x}"
                    );
                }
            }
        }
    }
}

#[test]
fn parts_that_do_not_fit_together_are_refused_by_name() {
    assert_eq!(field_of(with(|m| m.checkpoint = CheckpointId(0))), "checkpoint");
    assert_eq!(field_of(with(|m| rename(m, "state-1-0"))), "file name");
    assert_eq!(field_of(with(|m| m.operators[1].id = m.operators[0].id)), "operator id");
    assert_eq!(field_of(with(|m| m.operators[1].max_parallelism = 0)), "parallelism");
    assert_eq!(field_of(with(|m| m.operators[1].max_parallelism = 1)), "parallelism");
    assert_eq!(field_of(with(|m| m.operators[1].max_parallelism = 32769)), "parallelism");
    assert_eq!(field_of(with(|m| m.operators[1].subtasks.clear())), "parallelism");
    assert_eq!(field_of(with(|m| keyed(m).state = 1)), "state index");
    assert_eq!(field_of(with(|m| keyed(m).groups.swap(0, 1))), "key groups");
    assert_eq!(field_of(with(|m| keyed(m).groups[1].group = KeyGroup(64))), "key groups");
    assert_eq!(field_of(with(|m| keyed(m).groups[1].len += 1)), "key groups");
    assert_eq!(field_of(with(|m| m.files[0].len = 99)), "length in a file");
    assert_eq!(field_of(with(|m| m.operators[0].subtasks[0].lists[0].list = 1)), "list index");
    assert_eq!(field_of(with(|m| m.operators[0].subtasks[0].lists[0].elements = 9)), "elements");
    let twice = |m: &mut Metadata| {
        let again = m.operators[1].states[0].clone();
        m.operators[1].states.push(again);
    };
    assert_eq!(field_of(with(twice)), "state name");
}

/// A data file is always beside the metadata: a path that leads elsewhere is not followed.
#[test]
fn file_names_stay_inside_the_checkpoint() {
    for name in [
        "",
        "../x",
        "../shared/",
        "../shared/../x",
        "../shared/_x",
        "../sharedx",
        "/etc/passwd",
        ".",
        "..",
        "a/b",
        "_metadata",
        ".lock",
        "a\0b",
        "a\\b",
    ] {
        assert_eq!(field_of(with(|m| rename(m, name))), "file name", "{name:?}");
    }
}

prop_compose! {
    fn any_handle(files: Vec<FileEntry>)(
        inline in prop::collection::vec(any::<u8>(), 0..40),
        pick in any::<prop::sample::Index>(),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
        in_file in any::<bool>(),
    ) -> Handle {
        if !in_file || files.is_empty() {
            return Handle::Inline(inline.into());
        }
        let file = &files[pick.index(files.len())];
        let (a, b) = (from.index(file.len as usize + 1) as u64, to.index(file.len as usize + 1) as u64);
        Handle::File { name: Arc::clone(&file.name), offset: a.min(b), len: a.abs_diff(b) }
    }
}

/// Cuts `len` bytes into parts for some of the groups of `range`.
fn groups(range: crate::key_group::KeyGroupRange, cuts: &[(u8, u8)], len: u64) -> Vec<GroupRange> {
    let mut owned: Vec<_> = range.iter().collect();
    owned.truncate(cuts.len().max(1));
    let (mut offset, last) = (0, owned.len() - 1);
    let part = |n: usize, offset: u64| {
        if n == last { len - offset } else { u64::from(cuts[n].0).min(len - offset) }
    };
    owned
        .into_iter()
        .enumerate()
        .map(|(n, group)| {
            let (entries, crc) = cuts.get(n).map_or((1, 7), |c| (u64::from(c.1), u32::from(c.0) << 9));
            let range = GroupRange { group, entries, offset, len: part(n, offset), crc };
            offset += range.len;
            range
        })
        .collect()
}

fn any_subtask(
    files: Vec<FileEntry>,
    states: usize,
    lists: usize,
    range: crate::key_group::KeyGroupRange,
) -> impl Strategy<Value = SubtaskState> {
    let cuts = prop::collection::vec(any::<(u8, u8)>(), 0..5);
    let keyed = prop::collection::vec((any_handle(files.clone()), cuts), 0..=states);
    let lists = prop::collection::vec((any_handle(files), any::<u32>()), 0..=lists);
    (any::<bool>(), keyed, lists).prop_map(move |(finished, keyed, lists)| SubtaskState {
        finished,
        keyed: (0..)
            .zip(keyed)
            .map(|(state, (data, cuts))| KeyedHandle {
                state,
                groups: groups(range, &cuts, data.len()),
                data,
                form: GroupForm::Backend,
            })
            .collect(),
        lists: (0..)
            .zip(lists)
            .map(|(list, (data, crc))| ListHandle { list, elements: data.len() / 4, crc, data })
            .collect(),
    })
}

fn any_operator(files: Vec<FileEntry>, id: u128) -> impl Strategy<Value = OperatorState> {
    (1i64..4, 3i64..200, 0usize..3, 0usize..3, proptest::option::of("[a-z]{0,4}"), ".{0,6}").prop_flat_map(
        move |(parallelism, max, states, lists, uid, name)| {
            let parallelism = Parallelism::new(parallelism, Some(max)).unwrap();
            let subtasks: Vec<_> = (0..parallelism.subtasks())
                .map(|n| any_subtask(files.clone(), states, lists, parallelism.range_of(n)))
                .collect();
            subtasks.prop_map(move |subtasks| OperatorState {
                id: OperatorId::from_bits(id),
                uid: uid.clone(),
                name: name.clone(),
                max_parallelism: parallelism.max(),
                states: (0..states)
                    .map(|n| crate::testing::value_state(&format!("s{n}"), "u64", "string"))
                    .collect(),
                lists: (0..lists)
                    .map(|n| ListDescriptor {
                        name: format!("l{n}"),
                        redistribution: [
                            millstream_io::source::Redistribution::EvenSplit,
                            millstream_io::source::Redistribution::Union,
                        ][n % 2],
                        element: schema("u32"),
                    })
                    .collect(),
                subtasks,
            })
        },
    )
}

/// What there is of kinds and formats.
const KINDS: [(SnapshotKind, SnapshotFormat); 4] = [
    (SnapshotKind::Checkpoint, SnapshotFormat::Native),
    (SnapshotKind::Final, SnapshotFormat::Native),
    (SnapshotKind::Savepoint, SnapshotFormat::Native),
    (SnapshotKind::Savepoint, SnapshotFormat::Canonical),
];

fn any_metadata() -> impl Strategy<Value = Metadata> {
    let files = prop::collection::vec((0u64..100, any::<u32>()), 0..3);
    (files, any::<[u64; 7]>(), 0..KINDS.len(), ".{0,8}").prop_flat_map(|(files, n, kind, job_name)| {
        let files: Vec<_> = (0..)
            .zip(files)
            .map(|(i, (len, crc))| FileEntry { name: format!("state-{i}-0").into(), len, crc })
            .collect();
        let operators = prop::collection::vec(any_operator(files.clone(), 0), 0..3);
        operators.prop_map(move |mut operators| {
            for (operator, id) in operators.iter_mut().zip(1..) {
                operator.id = OperatorId::from_bits(id << 100);
            }
            Metadata {
                checkpoint: CheckpointId(n[0].max(1)),
                kind: KINDS[kind].0,
                format: KINDS[kind].1,
                job: JobId::of(&job_name),
                job_name: job_name.clone(),
                line: n[1],
                trigger_ms: n[2],
                completed_ms: n[3],
                counters: LineCounters {
                    records_in: n[4],
                    records_out: n[5],
                    records_late: n[6],
                    records_rejected: 1,
                },
                files: files.clone(),
                operators,
            }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_metadata_survives_a_round_trip(metadata in any_metadata()) {
        prop_assert_eq!(Metadata::parse(&metadata.encode().unwrap()), Ok(metadata));
    }

    /// MS-073: bytes changed at random under a right checksum.
    #[test]
    fn mutated_bodies_parse_to_an_error_or_to_what_they_say(
        metadata in any_metadata(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let changed = resealed(&metadata.encode().unwrap(), |body| {
            for (at, value) in &changes {
                let at = at.index(body.len());
                body[at] = *value;
            }
            if let Some(cut) = cut {
                body.truncate(cut.index(body.len()));
            }
        });
        if let Ok(parsed) = Metadata::parse(&changed) {
            prop_assert_eq!(parsed.encode().unwrap(), changed);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Metadata::parse(&bytes);
        let _ = Metadata::parse(&frame::seal(encode::KIND, &bytes));
    }
}

/// The bytes that stand for kinds are those of `docs/format.md`.
#[test]
fn kinds_have_the_documented_numbers() {
    use millstream_io::source::Redistribution;
    let kinds = [SnapshotKind::Checkpoint, SnapshotKind::Final, SnapshotKind::Savepoint];
    assert_eq!(kinds.map(encode::kind_tag), [0, 1, 2]);
    assert_eq!([SnapshotFormat::Native, SnapshotFormat::Canonical].map(encode::format_tag), [0, 1]);
    let states = [
        StateKind::Value,
        StateKind::Reducing,
        StateKind::Aggregating,
        StateKind::List,
        StateKind::Map,
        StateKind::EventTimers,
        StateKind::ProcessingTimers,
    ];
    assert_eq!(states.map(encode::state_kind_tag), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(states, StateKind::ALL);
    let own = Backend::Own(BackendName::new("own").unwrap());
    assert_eq!([Backend::Hashmap, Backend::Paged, own].map(encode::backend_tag), [0, 1, 2]);
    assert_eq!([Layout::Hashed, Layout::Ordered].map(encode::layout_tag), [0, 1]);
    assert_eq!([Redistribution::EvenSplit, Redistribution::Union].map(encode::redistribution_tag), [0, 1]);
}

/// A file as version 1 wrote it is read by every later release.
#[test]
fn format_v1_is_still_read() {
    let fixture = include_bytes!("../../tests/fixtures/format-v1/_metadata");
    assert_eq!(Metadata::parse(fixture), Ok(sample()));
}

/// The sample, with a state that is a base in a shared file and changes beside the metadata.
fn chained() -> Metadata {
    let mut all = sample();
    all.files[0].name = "../shared/2-6-1-0".into();
    all.operators[1].states[0].backend = Backend::Paged;
    let KeyedHandle { state, groups, .. } = two_groups([0, 63], &all.files[0]);
    let base = two_groups([0, 63], &all.files[0]);
    let changes = KeyedHandle {
        state,
        groups: groups[..1].to_vec(),
        data: Handle::Inline([7; 30].into()),
        form: GroupForm::Backend,
    };
    all.operators[1].subtasks[0].keyed = vec![base, changes];
    all
}

/// A file as version 2 wrote it is read by every later release.
#[test]
fn format_v2_is_still_read() {
    let fixture = include_bytes!("../../tests/fixtures/format-v2/_metadata");
    assert_eq!(Metadata::parse(fixture), Ok(chained()));
}

/// The same, with states of other kinds beside.
fn of_all_kinds() -> Metadata {
    let mut all = chained();
    let own = Backend::Own(BackendName::new("shelf").unwrap());
    let states = &mut all.operators[1].states;
    for (n, &kind) in StateKind::ALL.iter().enumerate() {
        states.push(StateDescriptor {
            kind,
            namespace: (n % 2 == 0).then(|| schema("i32")),
            ttl: n % 3 == 0,
            layout: Layout::Ordered,
            backend: [own, Backend::Paged, Backend::Hashmap][n % 3],
            ..value_state(&format!("state {n}"), "u64", "string")
        });
    }
    all
}

/// A file as version 3 wrote it is read by every later release.
#[test]
fn format_v3_is_still_read() {
    let fixture = include_bytes!("../../tests/fixtures/format-v3/_metadata");
    assert_eq!(Metadata::parse(fixture), Ok(of_all_kinds()));
}

/// A savepoint with states of all kinds.
fn savepoint() -> Metadata {
    let mut all = of_all_kinds();
    all.kind = SnapshotKind::Savepoint;
    let chain = &mut all.operators[1].subtasks[0].keyed;
    all.files[0].name = "1-0".into();
    chain[0] = two_groups([0, 63], &all.files[0]);
    all
}

/// A file as version 4 wrote it is read by every later release; and while 4 is current, it is what is written.
#[test]
fn format_v4_is_still_read_and_written() {
    let fixture = include_bytes!("../../tests/fixtures/format-v4/_metadata");
    assert_eq!(savepoint().encode().as_deref(), Ok(&fixture[..]));
    assert_eq!(Metadata::parse(fixture), Ok(savepoint()));
}

/// SP-02: what a savepoint consists of is beside it, so that it can be moved; SP-03: a checkpoint is its backend's.
#[test]
fn sp_02_a_savepoint_names_no_shared_file_and_no_checkpoint_is_canonical() {
    assert_eq!(field_of(with(|m| m.format = SnapshotFormat::Canonical)), "format");
    let canonical =
        |m: &mut Metadata| (m.kind, m.format) = (SnapshotKind::Savepoint, SnapshotFormat::Canonical);
    assert_eq!(with(canonical).map(|m| m.format), Ok(SnapshotFormat::Canonical));
    let mut shared = chained();
    shared.kind = SnapshotKind::Savepoint;
    assert_eq!(field_of(Metadata::parse(&shared.encode().unwrap())), "file name");
}

/// A name that only some other reader could take for that of a backend.
#[test]
fn a_backend_with_an_impossible_name_is_refused() {
    let bytes = of_all_kinds().encode().unwrap();
    let at = bytes.windows(9).position(|bytes| bytes == b"\x05\0\0\0shelf").unwrap() - frame::HEADER;
    for (length, name) in [(7u8, &b"hashmap"[..]), (0, b"")] {
        let changed = resealed(&bytes, |body| {
            body.splice(at..at + 9, [&[length, 0, 0, 0], name].concat());
        });
        assert_eq!(field_of(Metadata::parse(&changed)), "name of a backend");
    }
}

/// A chain is of a state whose snapshots may be changes; any other has one part.
#[test]
fn two_parts_of_a_state_in_tables_are_refused() {
    let mut two = chained();
    two.operators[1].states[0].backend = Backend::Hashmap;
    assert_eq!(field_of(Metadata::parse(&two.encode().unwrap())), "keyed handles");
}

//! The lineage file.

use super::*;
use crate::error::{FormatError, StateError};
use millstream_io::storage::{MemoryStorage, Storage};
use proptest::prelude::*;

fn line(began: Began, end: LineEnd) -> Lineage {
    Lineage { line: 3, first: CheckpointId(12), began, end, reached: Some(CheckpointId(17)) }
}

fn all() -> Vec<Lineage> {
    let begans = [Began::Empty, Began::At("/c/a/chk-5".into())];
    let ends = [LineEnd::Open, LineEnd::Finished, LineEnd::Canceled, LineEnd::Stopped("/c/a/chk-11".into())];
    let of = |began: &Began, end: &LineEnd| line(began.clone(), end.clone());
    let mut all: Vec<Lineage> = begans.iter().flat_map(|b| ends.iter().map(|e| of(b, e))).collect();
    all.push(Lineage { reached: None, ..all[0].clone() });
    all
}

#[test]
fn what_was_encoded_is_parsed() {
    for lineage in all() {
        assert_eq!(Lineage::parse(&lineage.encode()), Ok(lineage));
    }
}

#[test]
fn no_changed_byte_and_no_cut_goes_unnoticed() {
    for lineage in all() {
        let bytes = lineage.encode();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            assert!(Lineage::parse(&changed).is_err(), "byte {at}");
            assert!(Lineage::parse(&bytes[..at]).is_err(), "cut to {at}");
        }
    }
}

#[test]
fn a_line_without_number_and_a_relative_path_make_no_sense() {
    let bad = |lineage: Lineage| match Lineage::parse(&lineage.encode()) {
        Err(FormatError::Field { field, .. }) => field,
        other => panic!("{other:?}"),
    };
    assert_eq!(bad(Lineage { line: 0, ..line(Began::Empty, LineEnd::Open) }), "first checkpoint");
    assert_eq!(
        bad(Lineage { first: CheckpointId(0), ..line(Began::Empty, LineEnd::Open) }),
        "first checkpoint"
    );
    assert_eq!(bad(line(Began::At("c".into()), LineEnd::Open)), "beginning");
    assert_eq!(bad(line(Began::Empty, LineEnd::Stopped("c".into()))), "end of the line");
}

#[test]
fn a_damaged_file_is_named_and_an_absent_one_is_none() {
    let storage = MemoryStorage::new();
    let path = Path::new("/lineage");
    assert!(read(&storage, path).unwrap().is_none());
    let lineage = line(Began::Empty, LineEnd::Open);
    write(&storage, path, &lineage).unwrap();
    assert_eq!(read(&storage, path).unwrap(), Some(lineage));
    storage.publish(path, b"MILLLINE").unwrap();
    match read(&storage, path) {
        Err(StateError::Lineage { path: named, source: FormatError::Truncated { .. } }) => {
            assert_eq!(named, path)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_line_holds_the_ids_from_its_first_on() {
    let open = line(Began::At("/c/chk-5".into()), LineEnd::Open);
    assert!(!open.holds(CheckpointId(11)) && open.holds(CheckpointId(12)) && open.holds(CheckpointId(13)));
    assert!(open.began_at(Path::new("/c/chk-5")) && !open.began_at(Path::new("/c/chk-6")));
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = Lineage::parse(&bytes);
        for version in [1, 2] {
            let kind = crate::frame::FileKind { magic: *b"MILLLINE", version };
            let _ = Lineage::parse(&crate::frame::seal(kind, &bytes));
        }
    }
}

/// A file as version 1 wrote it is read by every later release.
#[test]
fn format_v1_is_still_read() {
    let fixture = include_bytes!("../../tests/fixtures/format-v1/lineage");
    let lineage = line(Began::At("/c/a/chk-5".into()), LineEnd::Stopped("/c/a/chk-11".into()));
    assert_eq!(Lineage::parse(fixture), Ok(Lineage { reached: None, ..lineage }));
}

/// So is one of version 2; and while 2 is current, it is what is written.
#[test]
fn format_v2_is_still_read_and_written() {
    let fixture = include_bytes!("../../tests/fixtures/format-v2/lineage");
    let lineage = line(Began::At("/c/a/chk-5".into()), LineEnd::Stopped("/c/a/chk-11".into()));
    assert_eq!(Lineage::parse(fixture), Ok(lineage.clone()));
    assert_eq!(lineage.encode(), fixture);
}

/// ER-06: what stands in its place is named, and what to do about it. A directory for all that is no file.
#[test]
fn er_06_what_is_no_file_is_no_lineage() {
    let dir = tempfile::tempdir().unwrap();
    let storage = millstream_io::storage::DiskStorage::new();
    let refused = super::read(&storage, dir.path()).unwrap_err();
    let named =
        matches!(&refused, StateError::Lineage { path, source: FormatError::NotAFile } if path == dir.path());
    assert!(named, "{refused}");
    assert!(refused.hint().is_some_and(|hint| hint.starts_with("move ")));
}

//! MS-019, ruling 1: damage is found, named and never taken for none.

use super::*;
use crate::error::FormatError;
use crate::lineage::Lineage;
use crate::recovery::Refusal;
use millstream_io::storage::read_all;

fn chk(n: u64) -> PathBuf {
    job_dir().checkpoint(CheckpointId(n))
}

/// Three retained checkpoints, 10 to 12, so that both subtasks have a file.
fn three() -> MemoryStorage {
    let storage = MemoryStorage::new();
    let mut store = open(&storage, &StartFrom::Latest).unwrap().begin(3).unwrap();
    run(&mut store, 10..=12);
    drop(store);
    storage
}

fn content_of(storage: &MemoryStorage) -> Vec<(String, Vec<u8>)> {
    let files = tree(storage).into_iter().filter(|name| !name.ends_with('/'));
    files.map(|name| (name.clone(), read_all(storage, &job_dir().root().join(&name)).unwrap())).collect()
}

fn flip(storage: &MemoryStorage, path: &Path) {
    let mut bytes = read_all(storage, path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x20;
    storage.publish(path, &bytes).unwrap();
}

fn refused(storage: &MemoryStorage, from: &StartFrom) -> StateError {
    let before = content_of(storage);
    let error = open(storage, from).err().expect("refused");
    assert_eq!(content_of(storage), before, "damaged files are left as they are");
    assert_eq!(error.class(), millstream_io::error::Class::Refuse);
    error
}

/// One byte in the middle of each file of the newest, one file per trial.
#[test]
fn ms_019_a_flipped_byte_in_any_file_of_the_newest_refuses_the_start() {
    for name in ["_metadata", "state-0-0", "state-0-1"] {
        let storage = three();
        let path = chk(12).join(name);
        flip(&storage, &path);
        let error = refused(&storage, &StartFrom::Latest);
        let StateError::Refused(Refusal::DamagedNewest { older: Some(older), .. }) = &error else {
            panic!("{error}")
        };
        assert_eq!(*older, chk(11));
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        let hint = error.hint().unwrap();
        assert!(hint.contains(&format!("-s {}", chk(11).display())), "{hint}");
        assert!(hint.contains("may repeat"), "{hint}");

        // What the hint says works, in a new line; and from then on it is what the job goes on with.
        let opening = open(&storage, &StartFrom::Path(chk(11))).unwrap();
        assert_eq!(opening.restored().unwrap().permit.checkpoint(), CheckpointId(11));
        let mut store = opening.begin(3).unwrap();
        assert_eq!((store.line(), store.next_id()), (2, CheckpointId(13)));
        run(&mut store, 13..=17);
        drop(store);
        let path_after = tree(&storage);
        assert!(path_after.contains(&format!("chk-12/{name}")), "the damaged one is never deleted");
        assert_eq!(open(&storage, &StartFrom::Latest).unwrap().start().snapshot(), Some(&*chk(17)));
    }
}

/// Truncated, longer, missing: each file, each way.
#[test]
fn ms_019_cut_longer_and_missing_files_are_named() {
    for name in ["_metadata", "state-0-0", "state-0-1"] {
        let path = chk(12).join(name);
        let changed = |change: &dyn Fn(&mut Vec<u8>)| {
            let storage = three();
            let mut bytes = read_all(&storage, &path).unwrap();
            change(&mut bytes);
            storage.publish(&path, &bytes).unwrap();
            let error = refused(&storage, &StartFrom::Latest);
            assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
            let StateError::Refused(Refusal::DamagedNewest { cause, .. }) = error else { panic!("{error}") };
            match *cause {
                StateError::Damaged { source, .. } => source,
                other => panic!("{other}"),
            }
        };
        assert!(matches!(changed(&|b| b.truncate(b.len() - 1)), FormatError::Truncated { .. }), "{name}");
        assert!(matches!(changed(&|b| b.clear()), FormatError::Truncated { .. }), "{name}");
        assert!(matches!(changed(&|b| b.push(0)), FormatError::Trailing { .. }), "{name}");
    }
    let storage = three();
    storage.remove(&chk(12).join("state-0-1")).unwrap();
    let error = refused(&storage, &StartFrom::Latest);
    assert!(error.to_string().contains("state-0-1"), "ER-22: {error}");
    // Without `_metadata` it is an unfinished attempt, and that this one was not is on record.
    let storage = three();
    storage.remove(&chk(12).join("_metadata")).unwrap();
    let error = refused(&storage, &StartFrom::Latest);
    let StateError::Refused(Refusal::Gone { dir, older }) = error else { panic!("{error}") };
    assert_eq!((dir, older), (chk(12), Some(chk(11))));
}

/// The one before is damaged as well: the hint names one that is intact.
#[test]
fn the_hint_names_an_intact_checkpoint() {
    let storage = three();
    flip(&storage, &chk(12).join("_metadata"));
    flip(&storage, &chk(11).join("state-0-1"));
    let hint = refused(&storage, &StartFrom::Latest).hint().unwrap();
    assert!(hint.contains(&format!("-s {}", chk(10).display())), "{hint}");
    flip(&storage, &chk(10).join("_metadata"));
    let hint = refused(&storage, &StartFrom::Latest).hint().unwrap();
    assert!(hint.contains("-s PATH") && hint.contains("--fresh") && hint.contains("may repeat"), "{hint}");
}

/// A directory where `_metadata` should be is no unfinished attempt: the checkpoint was complete.
#[test]
fn ruling_1_metadata_that_has_become_a_directory_is_damage_and_the_one_before_is_named() {
    let storage = three();
    storage.remove(&chk(12).join("_metadata")).unwrap();
    storage.create_dir_all(&chk(12).join("_metadata")).unwrap();
    let error = refused(&storage, &StartFrom::Latest);
    assert!(error.to_string().contains(chk(12).join("_metadata").to_str().unwrap()), "{error}");
    let hint = error.hint().unwrap_or_default();
    assert!(hint.contains(&format!("-s {}", chk(11).display())), "{hint}");
}

/// A disk that cannot be read is not a damaged checkpoint: no advice to go back.
#[test]
fn an_unreadable_disk_is_not_damage() {
    use millstream_io::storage::fault::{Fault, FaultStorage, Op};
    let storage = FaultStorage::new(Arc::new(three()));
    drop(open(&storage, &StartFrom::Latest).unwrap());
    let reads = storage.coverage().iter().find(|(op, _)| *op == Op::Read).unwrap().1;
    // The last read of the next look is that of the last data file.
    storage.fail_nth(Op::Read, 2 * reads - 1, Fault::Before(5));
    let error = open(&storage, &StartFrom::Latest).err().unwrap();
    assert!(matches!(error, StateError::DataFile { .. }), "{error}");
    assert_eq!(error.hint(), None);
}

/// A damaged snapshot that the user names is refused, too; a damaged older one is nobody's concern.
#[test]
fn damage_counts_where_it_is_chosen() {
    let storage = three();
    flip(&storage, &chk(11).join("_metadata"));
    assert!(matches!(refused(&storage, &StartFrom::Path(chk(11))), StateError::Damaged { .. }));
    let opening = open(&storage, &StartFrom::Latest).unwrap();
    // Who has to know what older ones name is told that it cannot, and what to do.
    let error = opening.retained().unwrap_err();
    assert!(matches!(&error, StateError::Refused(Refusal::DamagedOlder { .. })), "{error}");
    assert!(error.to_string().contains(chk(11).join("_metadata").to_str().unwrap()), "{error}");
    assert!(error.hint().unwrap().contains(&format!("-s {}", chk(12).display())));
    drop(opening);
    let named = open(&storage, &StartFrom::Path(chk(12))).unwrap();
    assert_eq!(named.retained().unwrap(), []);
    drop(named);
    flip(&storage, &chk(12).join("_metadata"));
    let store = open(&storage, &StartFrom::Fresh).unwrap().begin(1).unwrap();
    assert_eq!(store.next_id(), CheckpointId(13), "ids go on above damaged ones");
}

#[test]
fn er_06_a_foreign_file_is_no_metadata() {
    let storage = three();
    storage.publish(&chk(12).join("_metadata"), b"{\"json\": true, \"and\": \"long enough\"}").unwrap();
    let error = refused(&storage, &StartFrom::Latest);
    assert!(error.to_string().contains("magic number"), "{error}");
}

/// A checkpoint of another job, or under another number, in the place of an own one.
#[test]
fn a_checkpoint_that_does_not_belong_there_is_refused() {
    let storage = three();
    let shared = Arc::new(storage.clone());
    let mut other = Opening::new(shared, Path::new("/d"), "another", "pid 1", &StartFrom::Latest)
        .unwrap()
        .begin(1)
        .unwrap();
    let mut metadata = attempt(&other, CheckpointId(12)).unwrap();
    (metadata.job, metadata.job_name) = (crate::JobId::of("another"), "another".to_owned());
    other.publish(&metadata).unwrap();
    let theirs = other.checkpoint_dir(CheckpointId(12));
    for name in ["_metadata", "state-0-0", "state-0-1"] {
        let bytes = read_all(&storage, &theirs.join(name)).unwrap();
        storage.publish(&chk(12).join(name), &bytes).unwrap();
    }
    let error = refused(&storage, &StartFrom::Latest);
    assert!(matches!(error, StateError::Refused(Refusal::Foreign { .. })), "{error}");
    assert!(error.to_string().contains("\"another\""), "{error}");
    // From there it is fine when the user says so: a job may be forked.
    assert!(open(&storage, &StartFrom::Path(theirs)).is_ok());

    let storage = three();
    for name in ["_metadata", "state-0-0", "state-0-1"] {
        let bytes = read_all(&storage, &chk(12).join(name)).unwrap();
        hand_made(&storage, &chk(99).join(name), &bytes);
    }
    let error = refused(&storage, &StartFrom::Latest);
    assert!(error.to_string().contains("chk-99") && error.to_string().contains("12"), "{error}");
}

#[test]
fn a_checkpoint_of_another_line_above_the_first_of_this_one_is_refused() {
    let storage = three();
    let lineage = job_dir().lineage();
    let line = Lineage::parse(&read_all(&storage, &lineage).unwrap()).unwrap();
    storage.publish(&lineage, &Lineage { line: 2, ..line }.encode()).unwrap();
    assert!(refused(&storage, &StartFrom::Latest).to_string().contains("line 1"));
}

/// Without its record it is not known which line is current: refused, with both ways on.
#[test]
fn a_missing_lineage_refuses_only_what_needs_it() {
    let storage = three();
    storage.remove(&job_dir().lineage()).unwrap();
    let error = refused(&storage, &StartFrom::Latest);
    assert!(matches!(error, StateError::Refused(Refusal::LineageMissing { .. })), "{error}");
    let hint = error.hint().unwrap();
    assert!(hint.contains(&format!("-s {}", chk(12).display())) && hint.contains("--fresh"), "{hint}");
    let store = open(&storage, &StartFrom::Path(chk(12))).unwrap().begin(1).unwrap();
    assert_eq!(
        (store.line(), store.next_id()),
        (2, CheckpointId(13)),
        "above the lines that checkpoints name"
    );
}

#[test]
fn a_damaged_lineage_refuses_every_start() {
    for from in [StartFrom::Latest, StartFrom::Fresh, StartFrom::Path(chk(12))] {
        let storage = three();
        flip(&storage, &job_dir().lineage());
        let error = refused(&storage, &from);
        assert!(matches!(error, StateError::Lineage { .. }), "{error}");
        assert!(error.hint().unwrap().contains("--fresh"));
    }
}

//! MS-069 and single failures: the process lives on, and what it believes is what is on disk.

use super::*;
use crate::recovery::{Reason, Start};
use millstream_io::storage::fault::{Fault, FaultStorage, Op};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// Five attempts at a checkpoint, as a job makes them that tolerates failures: what fails is discarded, as far as that
/// works. Returns the ids that were permitted to commit.
fn run_tolerant(store: &mut CheckpointStore) -> Vec<u64> {
    let mut permitted = Vec::new();
    let first = store.next_id().0;
    for id in first..first + 5 {
        match checkpoint(store, id) {
            Ok(permit) => {
                permitted.push(permit.checkpoint().0);
                let _ = store.subsume();
            }
            Err(error) if error.class() == millstream_io::error::Class::Fatal => break,
            Err(_) => {
                let _ = store.discard(CheckpointId(id));
            }
        }
    }
    permitted
}

/// Whatever operation fails, once, done or not: what is permitted last is what a restart of the job in this process and
/// a start of a new process go on from, unless the job had to end; then it is that or a newer one.
#[test]
fn a_single_failure_anywhere_is_survived() {
    let undisturbed = FaultStorage::new(Arc::new(MemoryStorage::new()));
    let mut store = start(&undisturbed);
    let begun = undisturbed.operations();
    assert_eq!(run_tolerant(&mut store), [1, 2, 3, 4, 5]);
    for k in begun..undisturbed.operations() {
        for fault in [Fault::Before(EIO), Fault::After(EIO)] {
            let context = format!("operation {k}, {fault:?}");
            let memory = MemoryStorage::new();
            let storage = FaultStorage::new(Arc::new(memory.clone()));
            let mut store = start(&storage);
            storage.fail_at(k, fault);
            let permitted = run_tolerant(&mut store);
            assert!(permitted.len() >= 4, "{context}: one failure costs one checkpoint: {permitted:?}");
            let newest = *permitted.last().unwrap();
            let latest = store.latest().unwrap().unwrap();
            assert_eq!(latest.permit.checkpoint(), CheckpointId(newest), "{context}");
            store.subsume().unwrap();
            assert_eq!(store.retained().len(), 2, "{context}");
            let image = memory.kill_image();
            let opening = open(&image, &StartFrom::Latest).unwrap();
            assert_eq!(
                check_content(&image, opening.start().snapshot().unwrap()),
                CheckpointId(newest),
                "{context}"
            );
            drop(opening);
            drop(start(&image));
            let complete = tree(&image).iter().filter(|name| name.ends_with("/_metadata")).count();
            let directories =
                tree(&image).iter().filter(|name| name.starts_with("chk-") && name.ends_with('/')).count();
            assert_eq!((complete, directories), (2, 2), "{context}: nothing half is left");
        }
    }
}

/// MS-069: the disk is full from any operation on. The error names the file and the cause, what there was stays whole,
/// deleting still works, and with space again it goes on.
#[test]
fn ms_069_a_full_disk_costs_nothing_that_was_there() {
    let undisturbed = FaultStorage::new(Arc::new(MemoryStorage::new()));
    let mut store = start(&undisturbed);
    run(&mut store, [1]);
    let begun = undisturbed.operations();
    checkpoint(&mut store, 2).unwrap();
    for k in begun..undisturbed.operations() {
        let memory = MemoryStorage::new();
        let storage = FaultStorage::new(Arc::new(memory.clone()));
        let mut store = start(&storage);
        run(&mut store, [1]);
        storage.full_from(k);
        if let Err(error) = checkpoint(&mut store, 2) {
            let StateError::Storage(cause) = &error else { panic!("{error}") };
            assert_eq!(cause.source.raw_os_error(), Some(ENOSPC), "{error}");
            assert!(error.to_string().contains("/chk-2"), "{error}");
            store.discard(CheckpointId(2)).unwrap();
            assert!(tree(&storage).iter().all(|name| !name.contains("chk-2")));
            assert_eq!(store.latest().unwrap().unwrap().permit.checkpoint(), CheckpointId(1));
        }
        for image in [memory.kill_image(), memory.crash_image(k)] {
            let opening = open(&image, &StartFrom::Latest).unwrap();
            check_content(&image, opening.start().snapshot().unwrap());
        }
        storage.full_from(u64::MAX);
        run(&mut store, [3]);
    }
}

/// Ruling 2: a line whose end could not be recorded goes on from its newest checkpoint, one whose end is on record is
/// over, whatever fails when, and whether or not it was done all the same.
#[test]
fn ruling_02_the_line_goes_on_exactly_when_its_end_was_an_error() {
    let undisturbed = FaultStorage::new(Arc::new(MemoryStorage::new()));
    let mut store = start(&undisturbed);
    run(&mut store, 1..=2);
    let before = undisturbed.operations();
    end(store, &JobEnd::Finished, Retention::default()).unwrap();
    let mut seen = (0, 0);
    for k in before..undisturbed.operations() {
        for fault in [Fault::Before(EIO), Fault::After(EIO)] {
            let context = format!("operation {k}, {fault:?}");
            let memory = MemoryStorage::new();
            let storage = FaultStorage::new(Arc::new(memory.clone()));
            let mut store = start(&storage);
            run(&mut store, 1..=2);
            storage.fail_at(k, fault);
            let ended = end(store, &JobEnd::Finished, Retention::default());
            let image = memory.kill_image();
            let start = open(&image, &StartFrom::Latest).unwrap().start().clone();
            let newest = job_dir().checkpoint(CheckpointId(2));
            let new_run = Start::Empty(Reason::NewRunAfterFinish);
            match ended {
                Err(_) => assert_eq!(start.snapshot(), Some(&*newest), "{context}: {start}"),
                Ok(_) => assert_eq!(start, new_run, "{context}"),
            }
            let resumed = matches!(start, Start::Resume(_) | Start::Conclude(_));
            seen = if resumed { (seen.0 + 1, seen.1) } else { (seen.0, seen.1 + 1) };
        }
    }
    assert!(seen.0 >= 10 && seen.1 >= 2, "{seen:?}");
}

/// A file that a subtask is still writing keeps its directory from being deleted: the end stands all the same, and the
/// next start deletes what was left.
#[test]
fn what_cannot_be_deleted_at_the_end_fails_nothing_and_goes_at_the_next_start() {
    const ENOTEMPTY: i32 = 39;
    for how in [JobEnd::Finished, JobEnd::Canceled] {
        let memory = MemoryStorage::new();
        let storage = FaultStorage::new(Arc::new(memory.clone()));
        let mut store = start(&storage);
        run(&mut store, 1..=2);
        attempt(&store, CheckpointId(3)).unwrap();
        storage.fail_every(Op::RemoveDir, Some(Fault::Before(ENOTEMPTY)));
        let left = store.end(&how, Retention::default()).unwrap();
        assert!(left.iter().any(|error| error.to_string().contains("/chk-3")), "{how:?}: {left:?}");
        assert!(store.retained().is_empty(), "{how:?}");
        store.told().unwrap();
        drop(store);
        storage.fail_every(Op::RemoveDir, None);
        drop(start(&storage));
        assert!(tree(&memory).iter().all(|name| !name.starts_with("chk-")), "{how:?}: {:?}", tree(&memory));
    }
}

/// Rulings 1 and 8: a disk that cannot be read when a job restarts costs an attempt and no more; a checkpoint that is
/// gone is one to refuse.
#[test]
fn ruling_08_an_unreadable_disk_is_restartable_and_a_missing_checkpoint_is_not() {
    use millstream_io::error::Class;
    let storage = FaultStorage::new(Arc::new(MemoryStorage::new()));
    let mut store = start(&storage);
    run(&mut store, [10]);
    let dir = store.checkpoint_dir(CheckpointId(10));
    for op in [Op::Open, Op::Read, Op::Stat] {
        storage.fail_every(op, Some(Fault::Before(EIO)));
        let error = store.latest().unwrap_err();
        assert_eq!(error.class(), Class::Restart, "{op:?}: {error}");
        assert_eq!(verify(&storage, &dir).unwrap_err().class(), Class::Restart, "{op:?}");
        storage.fail_every(op, None);
    }
    let newest = store.latest().unwrap().unwrap();
    storage.remove(&dir.join(&*newest.metadata.files[0].name)).unwrap();
    assert_eq!(verify(&storage, &dir).unwrap_err().class(), Class::Refuse);
    storage.remove(&dir.join(METADATA_FILE)).unwrap();
    assert_eq!(store.latest().unwrap_err().class(), Class::Refuse);
}

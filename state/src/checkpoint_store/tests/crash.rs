//! CS-07, MS-004, MS-071: a crash at every storage operation, and a second one in the recovery.

use super::*;
use crate::recovery::{Reason, Start};
use millstream_io::storage::fault::{Crash, FaultStorage, is_crash};
use std::cell::Cell;

const HOW: [Crash; 3] = [Crash::Before, Crash::Torn, Crash::After];

/// What outlives a crash: a kill leaves the live image, a power cut some of it.
fn images(memory: &MemoryStorage) -> impl Iterator<Item = MemoryStorage> {
    std::iter::once(memory.kill_image()).chain((0..4).map(|seed| memory.crash_image(seed)))
}

/// Runs `scenario` with a crash at each of its operations, each way, and gives `check` each image that is left.
pub(super) fn sweep<T>(
    before: &MemoryStorage,
    scenario: impl Fn(&FaultStorage) -> Result<T, StateError>,
    mut check: impl FnMut(&MemoryStorage, &str),
) {
    let undisturbed = FaultStorage::new(Arc::new(before.kill_image()));
    assert!(scenario(&undisturbed).is_ok());
    let operations = undisturbed.operations();
    assert!(operations > 5);
    for k in 0..operations {
        for how in HOW {
            let memory = before.kill_image();
            let storage = FaultStorage::new(Arc::new(memory.clone()));
            storage.crash_at(k, how);
            match scenario(&storage) {
                Err(error) => assert!(is_crash(&error), "operation {k}, {how:?}: {error}"),
                // The last operation may have been one whose failure does not matter, such as a deletion.
                Ok(_) => assert!(storage.crashed_in().is_some()),
            }
            for image in images(&memory) {
                check(&image, &format!("crash at operation {k} ({:?}), {how:?}", storage.crashed_in()));
            }
        }
    }
}

/// CS-07: what looks complete is complete.
fn check_complete(storage: &MemoryStorage, context: &str) -> Vec<u64> {
    let found = observe::checkpoints(storage, &job_dir()).unwrap();
    let complete = found.iter().filter(|c| c.complete).map(|c| c.id);
    complete
        .map(|id| {
            let dir = job_dir().checkpoint(id);
            assert!(verify(storage, &dir).is_ok(), "{context}: chk-{id} looks complete and is not");
            assert_eq!(check_content(storage, &dir), id, "{context}");
            id.0
        })
        .collect()
}

/// A start, one more checkpoint, and nothing in the way.
fn check_usable(storage: &MemoryStorage, context: &str) {
    let mut store = open(storage, &StartFrom::Latest)
        .and_then(|o| o.begin(1))
        .unwrap_or_else(|e| panic!("{context}: {e}"));
    let next = store.next_id().0;
    checkpoint(&mut store, next).unwrap_or_else(|e| panic!("{context}: {e}"));
    store.subsume().unwrap();
    let own: Vec<_> = store.retained().iter().map(|id| format!("chk-{id}/")).collect();
    assert_eq!(own, [format!("chk-{next}/")], "{context}");
    let temporary = |name: &&String| name.contains(".tmp");
    assert_eq!(tree(storage).iter().find(temporary), None, "MS-052, {context}");
}

/// Four checkpoints, one of them aborted, of which one is retained. `durable` is the newest that was permitted to
/// commit.
fn run_some(storage: &FaultStorage, durable: &Cell<u64>) -> Result<(), StateError> {
    durable.set(0);
    let mut store = open(storage, &StartFrom::Latest)?.begin(1)?;
    if let Some(restored) = store.latest()? {
        durable.set(restored.permit.checkpoint().0);
    }
    let first = store.next_id().0;
    for id in first..first + 4 {
        let metadata = attempt(&store, CheckpointId(id))?;
        if id == first + 2 {
            store.discard(CheckpointId(id))?;
        } else {
            durable.set(store.publish(&metadata)?.checkpoint().0);
            store.subsume()?;
        }
    }
    Ok(())
}

/// MS-004: once a first checkpoint has completed, no start is without one; never one older than what may have been
/// committed; and what was published last is what is found.
#[test]
fn cs_07_ms_004_a_crash_at_every_operation_leaves_the_newest_complete_checkpoint() {
    let durable = Cell::new(0);
    sweep(
        &MemoryStorage::new(),
        |storage| run_some(storage, &durable),
        |image, context| {
            let complete = check_complete(image, context);
            let newest = complete.last().copied().unwrap_or(0);
            assert!(newest >= durable.get(), "{context}: {newest} although {} was committed", durable.get());
            let opening = open(image, &StartFrom::Latest).unwrap_or_else(|e| panic!("{context}: {e}"));
            let restored = opening.restored().map_or(0, |r| r.permit.checkpoint().0);
            assert_eq!(restored, newest, "{context}");
            drop(opening);
            check_usable(image, context);
        },
    );
}

/// MS-071: the recovery itself may crash anywhere.
#[test]
fn ms_071_a_second_crash_in_the_recovery_changes_nothing() {
    // A first life that died while it had an old and a new checkpoint, a discarded and an unfinished attempt.
    let memory = MemoryStorage::new();
    let mut store = open(&memory, &StartFrom::Latest).unwrap().begin(2).unwrap();
    run(&mut store, 1..=3);
    attempt(&store, CheckpointId(4)).unwrap();
    attempt(&store, CheckpointId(5)).unwrap();
    hand_made(&memory, &job_dir().root().join(".lineage.1-1.tmp"), b"half");
    let durable = Cell::new(0);
    sweep(
        &memory.kill_image(),
        |storage| run_some(storage, &durable),
        |image, context| {
            let newest = check_complete(image, context).last().copied().unwrap_or(0);
            assert!(newest >= durable.get().max(3), "{context}: {newest}");
            check_usable(image, context);
        },
    );
}

/// Ruling 2: a crash while finishing leaves a line that goes on from its newest checkpoint, one that only has to be
/// concluded, or one that is over, and nothing in between, also when a power cut brings back some of what was deleted.
#[test]
fn ruling_02_a_crash_while_finishing_leaves_a_line_that_goes_on_or_is_over() {
    let memory = MemoryStorage::new();
    run(&mut start(&memory), 1..=3);
    let seen = Cell::new((0, 0, 0));
    sweep(
        &memory.kill_image(),
        |storage| end(start_on(storage)?, &JobEnd::Finished, Retention::default()),
        |image, context| {
            let opening = open(image, &StartFrom::Latest).unwrap_or_else(|e| panic!("{context}: {e}"));
            let (resumed, concluded, new) = seen.get();
            let last = job_dir().checkpoint(CheckpointId(3));
            match opening.start() {
                Start::Resume(dir) => {
                    assert_eq!((check_content(image, dir), dir), (CheckpointId(3), &last), "{context}");
                    seen.set((resumed + 1, concluded, new));
                }
                Start::Conclude(dir) => {
                    assert_eq!((dir, opening.line()), (&last, 1), "{context}");
                    // Done once more, and then it is over.
                    end(opening.begin(1).unwrap(), &JobEnd::Finished, Retention::default()).unwrap();
                    let over = open(image, &StartFrom::Latest).unwrap();
                    assert_eq!(*over.start(), Start::Empty(Reason::NewRunAfterFinish), "{context}");
                    assert_eq!(check_complete(image, context), [], "{context}");
                    return seen.set((resumed, concluded + 1, new));
                }
                Start::Empty(Reason::NewRunAfterFinish) => seen.set((resumed, concluded, new + 1)),
                other => panic!("{context}: {other}"),
            }
            let again = matches!(opening.start(), Start::Empty(_));
            drop(opening);
            check_usable(image, context);
            if again {
                let left = check_complete(image, context);
                assert_eq!(left.len(), 1, "{context}: {left:?} of the finished line is left");
            }
        },
    );
    let (resumed, concluded, new) = seen.get();
    assert!(resumed > 10 && concluded > 10 && new > 0, "{:?}", seen.get());
}

/// Ruling 2: a process that is killed before the last step of its end has not ended, and after that step nothing is left
/// to do for which it could be killed.
#[test]
fn ruling_02_a_finished_line_is_over_with_the_very_last_step() {
    let memory = MemoryStorage::new();
    run(&mut start(&memory), 1..=3);
    let finish = |storage: &FaultStorage| end(start_on(storage)?, &JobEnd::Finished, Retention::default());
    let undisturbed = FaultStorage::new(Arc::new(memory.kill_image()));
    finish(&undisturbed).unwrap();
    let last = undisturbed.operations() - 1;
    for k in 0..=last {
        for how in HOW {
            let image = memory.kill_image();
            let storage = FaultStorage::new(Arc::new(image.clone()));
            storage.crash_at(k, how);
            let _ = finish(&storage);
            let killed = image.kill_image();
            let opening = open(&killed, &StartFrom::Latest).unwrap();
            let over = *opening.start() == Start::Empty(Reason::NewRunAfterFinish);
            assert_eq!(over, k == last && how == Crash::After, "operation {k} of {last}, {how:?}");
        }
    }
}

/// Ruling 3: stopped with a snapshot, or not stopped; the snapshot is never lost.
#[test]
fn ruling_03_a_crash_while_stopping_keeps_the_snapshot() {
    let memory = MemoryStorage::new();
    run(&mut start(&memory), 1..=3);
    let kept = job_dir().checkpoint(CheckpointId(3));
    sweep(
        &memory.kill_image(),
        |storage| end(start_on(storage)?, &JobEnd::Stopped(kept.clone()), Retention::default()),
        |image, context| {
            check_complete(image, context);
            let opening = open(image, &StartFrom::Latest).unwrap_or_else(|e| panic!("{context}: {e}"));
            assert_eq!(opening.start().snapshot(), Some(&*kept), "{context}");
        },
    );
}

/// MS-020: `--fresh` and a crash at any moment: the old line is whole, and ids are never used twice.
#[test]
fn ms_020_a_crash_in_a_fresh_start_deletes_nothing_old() {
    let memory = MemoryStorage::new();
    run(&mut start(&memory), 1..=3);
    sweep(
        &memory.kill_image(),
        |storage| {
            let mut store = open(storage, &StartFrom::Fresh)?.begin(1)?;
            checkpoint(&mut store, 4)?;
            checkpoint(&mut store, 5)?;
            store.subsume()
        },
        |image, context| {
            let complete = check_complete(image, context);
            assert_eq!(complete[..2], [2, 3], "{context}");
            let opening = open(image, &StartFrom::Latest).unwrap_or_else(|e| panic!("{context}: {e}"));
            match opening.start() {
                Start::Resume(dir) => {
                    let newest = complete.last().copied().unwrap();
                    assert_eq!(*dir, job_dir().checkpoint(CheckpointId(newest)), "{context}");
                }
                Start::Empty(Reason::NoCheckpoint) => assert_eq!(complete.len(), 2, "{context}"),
                other => panic!("{context}: {other}"),
            }
        },
    );
}

fn start_on(storage: &FaultStorage) -> Result<CheckpointStore, StateError> {
    open(storage, &StartFrom::Latest)?.begin(2)
}

//! CS-04, RT-01, RT-02, MS-010, MS-052: what is where after each step.

use super::*;
use millstream_io::storage::fault::{Fault, FaultStorage, Op};

fn ids(store: &CheckpointStore) -> Vec<u64> {
    store.retained().iter().map(|id| id.0).collect()
}

#[test]
fn cs_04_layout_after_each_step() {
    let storage = MemoryStorage::new();
    let mut store = start(&storage);
    let empty = [".lock", "lineage", "shared/", "taskowned/"];
    assert_eq!(tree(&storage), empty);

    let metadata = attempt(&store, CheckpointId(1)).unwrap();
    let begun = [".lock", "chk-1/", "chk-1/state-0-0", "lineage", "shared/", "taskowned/"];
    assert_eq!(tree(&storage), begun, "no metadata yet, so no checkpoint");
    store.publish(&metadata).unwrap();
    let published =
        [".lock", "chk-1/", "chk-1/_metadata", "chk-1/state-0-0", "lineage", "shared/", "taskowned/"];
    assert_eq!(tree(&storage), published);

    attempt(&store, CheckpointId(2)).unwrap();
    store.discard(CheckpointId(2)).unwrap();
    assert_eq!(tree(&storage), published, "RT-04: an aborted attempt leaves nothing");

    end(store, &JobEnd::Finished, Retention::RetainOnCancellation).unwrap();
    assert_eq!(tree(&storage), empty);
}

/// RT-01 with 3: `chk-8`, `9`, `10` after 10; and an older one goes only after the new one is there.
#[test]
fn rt_01_the_newest_three_are_kept() {
    let storage = MemoryStorage::new();
    let mut store = open(&storage, &StartFrom::Latest).unwrap().begin(3).unwrap();
    run(&mut store, 1..=9);
    checkpoint(&mut store, 10).unwrap();
    assert_eq!(ids(&store), [7, 8, 9, 10]);
    store.subsume().unwrap();
    assert_eq!(ids(&store), [8, 9, 10]);
    let there: Vec<_> = tree(&storage).into_iter().filter(|name| name.ends_with("_metadata")).collect();
    assert_eq!(there, ["chk-10/_metadata", "chk-8/_metadata", "chk-9/_metadata"]);
}

#[test]
fn the_newest_is_kept_even_when_none_should_be() {
    let storage = MemoryStorage::new();
    let mut store = open(&storage, &StartFrom::Latest).unwrap().begin(0).unwrap();
    run(&mut store, 1..=3);
    assert_eq!(ids(&store), [3]);
}

/// RT-02: what is left after each end.
#[test]
fn rt_02_what_each_end_leaves() {
    let left = |how: &dyn Fn(&CheckpointStore) -> JobEnd, retention| {
        let storage = MemoryStorage::new();
        let mut store = start(&storage);
        run(&mut store, 1..=3);
        let how = how(&store);
        end(store, &how, retention).unwrap();
        let all = tree(&storage).into_iter();
        all.filter_map(|n| n.strip_suffix("/_metadata").map(str::to_owned)).collect::<Vec<_>>()
    };
    let (delete, retain) = (Retention::DeleteOnCancellation, Retention::RetainOnCancellation);
    let both = ["chk-2", "chk-3"];
    for retention in [delete, retain] {
        assert!(left(&|_| JobEnd::Finished, retention).is_empty());
        assert_eq!(left(&|_| JobEnd::Failed, retention), both);
        assert_eq!(left(&|_| JobEnd::Suspended, retention), both);
        let stopped = |store: &CheckpointStore| JobEnd::Stopped(store.checkpoint_dir(CheckpointId(3)));
        assert_eq!(left(&stopped, retention), ["chk-3"]);
    }
    assert!(left(&|_| JobEnd::Canceled, delete).is_empty());
    assert_eq!(left(&|_| JobEnd::Canceled, retain), both);
}

/// MS-010: leftovers in the way do not stop the next checkpoint, and are never chosen.
#[test]
fn ms_010_leftovers_of_a_dead_attempt_are_no_obstacle() {
    let storage = MemoryStorage::new();
    let mut store = start(&storage);
    run(&mut store, 1..=2);
    drop(store);
    let dir = job_dir();
    storage.create_dir_all(&dir.checkpoint(CheckpointId(3))).unwrap();
    hand_made(&storage, &dir.checkpoint(CheckpointId(4)).join("state-0-0"), b"half");
    hand_made(&storage, &dir.checkpoint(CheckpointId(4)).join("._metadata.1-1.tmp"), b"half");

    let opening = open(&storage, &StartFrom::Latest).unwrap();
    assert_eq!(
        opening.start().to_string(),
        format!("resuming from {}", dir.checkpoint(CheckpointId(2)).display())
    );
    let mut store = opening.begin(2).unwrap();
    assert_eq!(store.next_id(), CheckpointId(5), "CP-13: above every number that was used");
    let next = store.next_id().0;
    run(&mut store, [next]);
    assert_eq!(ids(&store), [2, 5]);
    assert!(tree(&storage).iter().all(|name| !name.contains("chk-3") && !name.contains("chk-4")));
}

/// The same number again within a process: what the dead attempt left goes first.
#[test]
fn ms_010_an_attempt_clears_its_own_directory_first() {
    let storage = MemoryStorage::new();
    let mut store = start(&storage);
    hand_made(&storage, &job_dir().checkpoint(CheckpointId(1)).join("old/state-9-9"), b"old");
    run(&mut store, [1]);
    assert!(tree(&storage).iter().all(|name| !name.contains("old")));
}

#[test]
fn a_completed_checkpoint_is_neither_overwritten_nor_discarded() {
    let storage = MemoryStorage::new();
    let mut store = start(&storage);
    run(&mut store, [1]);
    assert!(matches!(store.begin(CheckpointId(1)), Err(StateError::Completed { .. })));
    assert!(matches!(store.discard(CheckpointId(1)), Err(StateError::Completed { .. })));
    check_content(&storage, &store.checkpoint_dir(CheckpointId(1)));
}

/// A file named like a checkpoint is nobody's business, but its number counts as used.
#[test]
fn a_file_in_the_place_of_a_checkpoint_is_left_alone() {
    let storage = MemoryStorage::new();
    drop(start(&storage));
    hand_made(&storage, &job_dir().root().join("chk-5"), b"a file");
    let mut store = start(&storage);
    assert_eq!(store.next_id(), CheckpointId(6));
    run(&mut store, [6]);
    assert!(tree(&storage).contains(&"chk-5".to_owned()));
}

/// A checkpoint that somebody has put elsewhere, with a link in its place, is taken for what it is; when its time has
/// come the link goes, and nothing behind it.
#[test]
fn of_a_linked_checkpoint_the_link_alone_is_removed() {
    let temp = tempfile::tempdir().unwrap();
    let (root, elsewhere) = (temp.path().join("c"), temp.path().join("elsewhere"));
    let disk = Arc::new(millstream_io::storage::DiskStorage::new());
    let opening = || Opening::new(disk.clone(), &root, JOB, "pid 1", &StartFrom::Latest).unwrap();
    let mut store = opening().begin(1).unwrap();
    run(&mut store, [1]);
    let dir = store.checkpoint_dir(CheckpointId(1));
    drop(store);
    disk.rename(&dir, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &dir).unwrap();
    let before: Vec<_> = disk.list(&elsewhere).unwrap();
    let mut store = opening().begin(1).unwrap();
    assert_eq!(ids(&store), [1]);
    run(&mut store, [2]);
    assert_eq!(ids(&store), [2]);
    assert!(disk.list(dir.parent().unwrap()).unwrap().iter().all(|entry| entry.name != "chk-1"));
    assert_eq!(disk.list(&elsewhere).unwrap().len(), before.len());
    verify(&*disk, &elsewhere).unwrap();
}

/// MS-052: what an interrupted replacement of the lineage left is removed.
#[test]
fn ms_052_no_temporary_names_stay() {
    let storage = MemoryStorage::new();
    drop(start(&storage));
    hand_made(&storage, &job_dir().root().join(".lineage.77-3.tmp"), b"half");
    drop(start(&storage));
    assert_eq!(tree(&storage), [".lock", "lineage", "shared/", "taskowned/"]);
}

/// Metadata that names a file which is not there as written is not published.
#[test]
fn metadata_is_not_published_ahead_of_its_files() {
    let storage = MemoryStorage::new();
    let mut store = start(&storage);
    let metadata = attempt(&store, CheckpointId(1)).unwrap();
    let file = store.checkpoint_dir(CheckpointId(1)).join("state-0-0");
    storage.publish(&file, b"short").unwrap();
    assert!(matches!(store.publish(&metadata), Err(StateError::Incomplete { found: 5, .. })));
    storage.remove(&file).unwrap();
    assert!(matches!(store.publish(&metadata), Err(StateError::Storage(_))));
    assert!(store.retained().is_empty() && store.latest().unwrap().is_none());
}

/// A publication of unknown outcome is taken back, or the job ends: no later step may rest on a guess.
#[test]
fn a_publication_of_unknown_outcome_is_taken_back() {
    let memory = MemoryStorage::new();
    let storage = FaultStorage::new(Arc::new(memory.clone()));
    let mut store = start(&storage);
    run(&mut store, [1]);
    let metadata = attempt(&store, CheckpointId(2)).unwrap();
    storage.fail_every(Op::Publish, Some(Fault::After(5)));
    assert!(matches!(store.publish(&metadata), Err(StateError::Storage(_))));
    assert!(tree(&storage).iter().all(|name| !name.contains("chk-2")));
    assert_eq!(ids(&store), [1]);

    let metadata = attempt(&store, CheckpointId(3)).unwrap();
    storage.fail_every(Op::Remove, Some(Fault::Before(5)));
    let error = store.publish(&metadata).unwrap_err();
    assert!(matches!(error, StateError::Unsettled { .. }), "{error}");
    assert_eq!(error.class(), millstream_io::error::Class::Fatal);
}

/// A deletion that fails is tried again, and never costs the newest.
#[test]
fn a_failed_deletion_is_made_up_for() {
    let memory = MemoryStorage::new();
    let storage = FaultStorage::new(Arc::new(memory.clone()));
    let mut store = open(&storage, &StartFrom::Latest).unwrap().begin(1).unwrap();
    run(&mut store, [1]);
    checkpoint(&mut store, 2).unwrap();
    attempt(&store, CheckpointId(3)).unwrap();
    storage.fail_every(Op::Remove, Some(Fault::Before(5)));
    assert!(store.subsume().is_err());
    assert!(store.discard(CheckpointId(3)).is_err());
    storage.fail_every(Op::Remove, None);
    store.subsume().unwrap();
    assert_eq!(ids(&store), [2]);
    assert!(tree(&storage).iter().all(|name| !name.contains("chk-1") && !name.contains("chk-3")));
}

/// Work that comes late, for a job that has ended or was abandoned, touches nothing: somebody else may be at work.
#[test]
fn ms_074_a_released_directory_is_left_alone() {
    let storage = MemoryStorage::new();
    let mut old = open(&storage, &StartFrom::Latest).unwrap().begin(1).unwrap();
    run(&mut old, [1]);
    checkpoint(&mut old, 2).unwrap();
    let late = attempt(&old, CheckpointId(3)).unwrap();
    old.release();
    let mut new = start(&storage);
    assert_eq!(new.next_id(), CheckpointId(4));
    let before = tree(&storage);
    assert!(matches!(old.begin(CheckpointId(4)), Err(StateError::Released { .. })));
    assert!(matches!(old.publish(&late), Err(StateError::Released { .. })));
    old.subsume().unwrap();
    old.discard(CheckpointId(4)).unwrap();
    assert_eq!(tree(&storage), before);
    run(&mut new, [4]);
    assert_eq!(ids(&new), [2, 4]);
}

/// CP-06, ruling 4: what is to be deleted is decided at once and gone later, beside everything else; until then the directory
/// is nobody else's, also when the job has given it up meanwhile.
#[test]
fn cp_06_a_deletion_that_is_under_way_keeps_the_directory() {
    let memory = MemoryStorage::new();
    let mut store = start(&memory);
    for id in 1..=3 {
        checkpoint(&mut store, id).unwrap();
    }
    let deletion = store.superfluous();
    assert_eq!(store.retained(), [CheckpointId(2), CheckpointId(3)]);
    checkpoint(&mut store, 4).unwrap();
    let dir = store.checkpoint_dir(CheckpointId(1));
    store.release();
    drop(store);
    assert!(open(&memory, &StartFrom::Latest).is_err());
    assert!(memory.stat(&dir).is_ok());
    drop(deletion.run());
    assert!(memory.stat(&dir).is_err());
    open(&memory, &StartFrom::Latest).unwrap();
}

/// CP-06: an attempt that is given up meanwhile does not wait for a slow deletion, and is not forgotten.
#[test]
fn cp_06_what_is_discarded_during_a_slow_deletion_goes_with_the_next_one() {
    use millstream_io::storage::fault::{FaultStorage, Op};
    let memory = MemoryStorage::new();
    let storage = FaultStorage::new(Arc::new(memory.clone()));
    let mut store = start(&storage);
    for id in 1..=3 {
        checkpoint(&mut store, id).unwrap();
    }
    let attempt = store.begin(CheckpointId(4)).unwrap();
    let deletion = store.superfluous();
    storage.record();
    storage.hold(Op::RemoveDir);
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| deletion.run());
        while !storage.log().iter().any(|(_, op, _)| *op == Op::RemoveDir) {
            std::thread::yield_now();
        }
        let left = store.discarded(CheckpointId(4)).unwrap().run();
        store.settle(left).unwrap();
        assert!(memory.stat(&attempt).is_ok());
        storage.let_go(Op::RemoveDir);
        store.settle(slow.join().unwrap()).unwrap();
    });
    store.subsume().unwrap();
    assert!(memory.stat(&attempt).is_err());
    assert_eq!(ids(&store), [2, 3]);
}

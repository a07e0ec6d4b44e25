//! Snapshots that a job is started from, and whose owner it becomes (CL-02, CLAIM).

use super::crash::sweep;
use super::{ROOT, attempt, check_content, checkpoint, job_dir, open, run, start};
use crate::checkpoint_store::{CheckpointStore, JobEnd, Opening, Retention, StartFrom};
use crate::error::StateError;
use crate::layout::JobDir;
use crate::metadata::{FileEntry, METADATA_FILE, SHARED_FILE};
use crate::recovery::Start;
use millstream_io::id::CheckpointId;
use millstream_io::storage::fault::FaultStorage;
use millstream_io::storage::{MemoryStorage, Storage};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn chk(id: u64) -> PathBuf {
    job_dir().checkpoint(CheckpointId(id))
}

fn from(id: u64) -> StartFrom {
    StartFrom::Path(chk(id))
}

fn there(storage: &MemoryStorage, path: &Path) -> bool {
    storage.stat(path).is_ok()
}

fn take_over(storage: &MemoryStorage, id: u64, num_retained: usize) -> CheckpointStore {
    open(storage, &from(id)).unwrap().taking_over().unwrap().begin(num_retained).unwrap()
}

/// Two checkpoints of an earlier line, 2 and 3.
fn before() -> MemoryStorage {
    let storage = MemoryStorage::new();
    run(&mut start(&storage), 1..=3);
    storage.kill_image()
}

#[test]
fn cl_02_what_was_taken_over_goes_like_the_oldest_and_nothing_else_does() {
    for (num_retained, gone_with) in [(1, 4), (2, 5), (3, 6)] {
        let storage = before();
        let mut store = take_over(&storage, 2, num_retained);
        assert!(there(&storage, &chk(2)), "a start deletes nothing of it");
        for id in 4..=6 {
            run(&mut store, [id]);
            assert_eq!(there(&storage, &chk(2)), id < gone_with, "{num_retained} retained, after {id}");
        }
        check_content(&storage, &chk(3));
    }
}

/// Whoever restarts a killed job gives the same path again: before there is a checkpoint of its own it is what is gone on
/// from, later it goes, and when it is gone nobody misses it.
#[test]
fn cl_02_a_kill_at_any_moment_changes_nothing() {
    let storage = before();
    drop(take_over(&storage, 2, 1));
    let storage = storage.kill_image();
    let mut store = take_over(&storage, 2, 1);
    assert_eq!(store.latest().unwrap().unwrap().dir, chk(2));
    checkpoint(&mut store, 4).unwrap();
    // Killed before it was deleted.
    let storage = storage.kill_image();
    let opening = open(&storage, &from(2)).unwrap().taking_over().unwrap();
    assert_eq!(opening.start(), &Start::Resume(chk(4)));
    let mut store = opening.begin(1).unwrap();
    run(&mut store, [5]);
    assert!(!there(&storage, &chk(2)));
    let storage = storage.kill_image();
    let mut store = take_over(&storage, 2, 1);
    run(&mut store, [6]);
    check_content(&storage, &chk(6));
}

/// Without the claim the same starts leave it alone.
#[test]
fn cl_02_what_is_not_claimed_stays() {
    let storage = before();
    let mut store = open(&storage, &from(2)).unwrap().begin(1).unwrap();
    run(&mut store, 4..=6);
    check_content(&storage, &chk(2));
    // A claim without a path claims nothing.
    let storage = storage.kill_image();
    let mut store = open(&storage, &StartFrom::Latest).unwrap().taking_over().unwrap().begin(1).unwrap();
    run(&mut store, 7..=8);
    check_content(&storage, &chk(2));
}

/// A checkpoint that names these shared files, all of which are there.
fn naming(storage: &MemoryStorage, store: &mut CheckpointStore, id: u64, names: &[&str]) {
    let mut metadata = attempt(store, CheckpointId(id)).unwrap();
    for name in names {
        let path = job_dir().shared().join(name);
        if !there(storage, &path) {
            let mut file = storage.create(&path).unwrap();
            file.append(name.as_bytes()).unwrap();
            file.sync().unwrap();
        }
        let (len, crc) = (name.len() as u64, crc32fast::hash(name.as_bytes()));
        metadata.files.push(FileEntry { name: format!("{SHARED_FILE}{name}").into(), len, crc });
    }
    store.publish(&metadata).unwrap();
}

/// BE-05: of the shared files beside it those that it alone names; where another checkpoint cannot be read, none.
#[test]
fn cl_02_shared_files_go_that_no_other_checkpoint_names() {
    for readable in [true, false] {
        let storage = MemoryStorage::new();
        let mut store = start(&storage);
        naming(&storage, &mut store, 1, &["1-1-a", "1-1-b"]);
        naming(&storage, &mut store, 2, &["1-1-b", "1-2-c"]);
        drop(store);
        let storage = storage.kill_image();
        if !readable {
            storage.remove(&chk(2).join(METADATA_FILE)).unwrap();
            storage.create(&chk(2).join(METADATA_FILE)).unwrap().append(b"damaged").unwrap();
        }
        let mut store = take_over(&storage, 1, 1);
        run(&mut store, [3]);
        assert!(!there(&storage, &chk(1)));
        let left = ["1-1-a", "1-1-b", "1-2-c"].map(|name| there(&storage, &job_dir().shared().join(name)));
        assert_eq!(left, [!readable, true, true]);
    }
}

fn other(storage: &MemoryStorage) -> CheckpointStore {
    let storage: Arc<dyn Storage> = Arc::new(storage.clone());
    let opening = Opening::new(storage, Path::new(ROOT), "other", "pid 7", &StartFrom::Latest).unwrap();
    opening.begin(1).unwrap()
}

/// The checkpoint of another job is taken over only when that job does not run: it would miss it.
#[test]
fn cl_02_what_a_running_job_owns_is_not_taken_over() {
    let storage = MemoryStorage::new();
    let dir = JobDir::new(Path::new(ROOT), crate::JobId::of("other")).checkpoint(CheckpointId(1));
    let mut running = other(&storage);
    checkpoint(&mut running, 1).unwrap();
    let taking_over = || open(&storage, &StartFrom::Path(dir.clone())).unwrap().taking_over();
    let in_use = taking_over().err().expect("it runs");
    assert!(matches!(&in_use, StateError::InUse { path, .. } if path.starts_with(dir.parent().unwrap())));
    assert!(!there(&storage, job_dir().root()), "nothing was made");
    running.release();
    taking_over().unwrap();
}

/// When that job is started later, what was taken over stays, nothing else waits for it, and it is said once.
#[test]
fn cl_02_what_a_job_that_was_started_later_owns_is_not_deleted() {
    let storage = MemoryStorage::new();
    let dir = JobDir::new(Path::new(ROOT), crate::JobId::of("other")).checkpoint(CheckpointId(1));
    let mut before = other(&storage);
    checkpoint(&mut before, 1).unwrap();
    before.release();
    let opening = open(&storage, &StartFrom::Path(dir.clone())).unwrap().taking_over().unwrap();
    let mut store = opening.begin(1).unwrap();
    let running = storage.try_lock(&dir.with_file_name(".lock"), "pid 8").unwrap();
    assert!(running.is_some(), "nobody has it before");
    naming(&storage, &mut store, 2, &["1-2-a"]);
    naming(&storage, &mut store, 3, &[]);
    assert!(matches!(store.subsume(), Err(StateError::InUse { .. })));
    check_content(&storage, &dir);
    assert!(!there(&storage, &job_dir().shared().join("1-2-a")), "nothing else waits for it");
    run(&mut store, [4]);
    check_content(&storage, &dir);
    drop(running);
    run(&mut store, [5]);
    assert!(!there(&storage, &dir));
}

/// A checkpoint copied to where no job looks.
fn backup(storage: &MemoryStorage) -> PathBuf {
    let copy = PathBuf::from("/backup/chk-2");
    storage.create_dir_all(&copy).unwrap();
    for entry in storage.list(&chk(2)).unwrap() {
        let bytes = millstream_io::storage::read_all(storage, &chk(2).join(&entry.name)).unwrap();
        let mut file = storage.create(&copy.join(&entry.name)).unwrap();
        file.append(&bytes).unwrap();
        file.sync().unwrap();
    }
    storage.sync_dir(&copy).unwrap();
    storage.sync_dir(Path::new("/backup")).unwrap();
    copy
}

/// CL-02, CS-07: a crash at every operation of the deletion. What looks complete is; what is not goes with the next start,
/// whether that says again what it goes on from or not, and with the end of the job.
#[test]
fn cl_02_a_crash_in_the_deletion_leaves_nothing_for_ever() {
    let storage = before();
    let copy = backup(&storage);
    let from = StartFrom::Path(copy.clone());
    let scenario = |storage: &FaultStorage| {
        let mut store = open(storage, &from)?.taking_over()?.begin(1)?;
        checkpoint(&mut store, 4)?;
        store.subsume()
    };
    let (mut whole, mut left, mut gone) = (0, 0, 0);
    sweep(&storage, scenario, |image, context| {
        let complete = there(image, &copy.join(METADATA_FILE));
        if complete {
            whole += 1;
            check_content(image, &copy);
        } else if there(image, &copy) {
            left += 1;
        } else {
            gone += 1;
        }
        let again = image.kill_image();
        let mut store = open(&again, &from).unwrap().taking_over().unwrap().begin(1).unwrap();
        let next = store.next_id().0;
        run(&mut store, [next]);
        assert!(!there(&again, &copy), "{context}: said again");
        if !complete {
            drop(open(image, &StartFrom::Latest).unwrap().begin(1).unwrap());
            let left = image.list(&copy).unwrap_or_default();
            assert!(left.is_empty(), "{context}: a start that says nothing leaves {left:?}");
        }
    });
    assert!(whole > 0 && left > 0 && gone > 0, "{whole} {left} {gone}");
}

/// Another snapshot that was put in its place is not what was being deleted.
#[test]
fn cl_02_a_snapshot_in_the_place_of_one_that_went_stays() {
    let storage = before();
    let copy = backup(&storage);
    let bytes = millstream_io::storage::read_all(&storage, &copy.join(METADATA_FILE)).unwrap();
    let mut stale = storage.create(&crate::layout::going(&copy)).unwrap();
    stale.append(&bytes).unwrap();
    let mut store = open(&storage, &StartFrom::Path(copy.clone())).unwrap().begin(1).unwrap();
    run(&mut store, [4]);
    check_content(&storage, &copy);
}

/// RT-02: it follows the policy when the job ends before it has a checkpoint of its own.
#[test]
fn cl_02_the_end_of_the_job_is_that_of_what_it_owns() {
    for (retention, kept) in
        [(Retention::DeleteOnCancellation, false), (Retention::RetainOnCancellation, true)]
    {
        let storage = before();
        let mut store = take_over(&storage, 2, 1);
        store.end(&JobEnd::Canceled, retention).unwrap();
        assert_eq!(there(&storage, &chk(2)), kept, "{retention:?}");
        check_content(&storage, &chk(3));
    }
}

/// What somebody else has put beside its files is not the engine's to delete.
#[test]
fn cl_02_files_of_others_stay() {
    let storage = before();
    let copy = &backup(&storage);
    storage.create(&copy.join("notes")).unwrap();
    let opening = open(&storage, &StartFrom::Path(copy.to_owned())).unwrap().taking_over().unwrap();
    let mut store = opening.begin(1).unwrap();
    run(&mut store, [4]);
    let left: Vec<_> = storage.list(copy).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(left, ["notes"]);
    check_content(&storage, &chk(2));
}

/// CS-07: a deletion that was decided on and has not begun leaves a complete checkpoint, whatever a restart sweeps meanwhile.
#[test]
fn cs_07_a_restart_while_a_deletion_runs_leaves_its_checkpoint_whole() {
    let storage = MemoryStorage::new();
    let mut store = open(&storage, &StartFrom::Latest).unwrap().begin(1).unwrap();
    naming(&storage, &mut store, 1, &["1-1-0-0"]);
    naming(&storage, &mut store, 2, &["1-2-0-0"]);
    let deletion = store.superfluous();
    // One that is over meanwhile makes nothing forgotten.
    store.discard(CheckpointId(3)).unwrap();
    store.sweep_ended_attempt().unwrap();
    check_content(&storage, &chk(1));
    store.settle(deletion.run()).unwrap();
    assert!(!there(&storage, &chk(1)) && !there(&storage, &job_dir().shared().join("1-1-0-0")));
    check_content(&storage, &chk(2));
}

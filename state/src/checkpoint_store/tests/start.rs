//! Starting: lines, locks, refusals (rulings 1 to 4; MS-005, MS-009, MS-020, MS-074; CP-13).

use super::*;
use crate::recovery::Refusal;
use millstream_io::storage::DiskStorage;

fn from(path: impl Into<PathBuf>) -> StartFrom {
    StartFrom::Path(path.into())
}

fn chk(n: u64) -> PathBuf {
    job_dir().checkpoint(CheckpointId(n))
}

fn says(storage: &MemoryStorage, from: &StartFrom) -> String {
    open(storage, from).unwrap().start().to_string()
}

/// MS-005: no checkpoint had completed: the start says so, and goes on in the same line.
#[test]
fn ms_005_a_crash_before_the_first_checkpoint_starts_empty_and_says_so() {
    let storage = MemoryStorage::new();
    let store = start(&storage);
    attempt(&store, CheckpointId(1)).unwrap();
    let storage = storage.kill_image();
    assert_eq!(says(&storage, &StartFrom::Latest), "starting without state (no completed checkpoint)");
    let store = start(&storage);
    assert_eq!((store.line(), store.next_id()), (1, CheckpointId(2)));
    assert!(store.latest().unwrap().is_none());
}

/// MS-020: the default is to go on; `--fresh` begins anew, deletes nothing, and is what counts from then on.
#[test]
fn ms_020_resume_by_default_fresh_on_request() {
    let storage = MemoryStorage::new();
    run(&mut start(&storage), 1..=3);
    let storage = storage.kill_image();
    assert_eq!(says(&storage, &StartFrom::Latest), format!("resuming from {}", chk(3).display()));
    let opening = open(&storage, &StartFrom::Latest).unwrap();
    let restored = opening.restored().unwrap();
    assert_eq!((restored.permit.checkpoint(), restored.metadata.counters.records_in), (CheckpointId(3), 300));
    drop(opening);

    let before = tree(&storage);
    let opening = open(&storage, &StartFrom::Fresh).unwrap();
    assert_eq!(opening.start().to_string(), "starting without state (--fresh)");
    assert!(opening.restored().is_none());
    assert_eq!(tree(&storage), before, "nothing is changed before the start is certain");
    let store = opening.begin(1).unwrap();
    assert_eq!((store.line(), store.next_id()), (2, CheckpointId(4)));
    assert_eq!(tree(&storage), before, "nothing old is deleted");
    assert!(store.retained().is_empty() && store.latest().unwrap().is_none());

    // A crash before the fresh line's first checkpoint: the older line is not chosen again.
    let storage = storage.kill_image();
    assert_eq!(says(&storage, &StartFrom::Latest), "starting without state (no completed checkpoint)");
    let mut store = start(&storage);
    run(&mut store, 5..=8);
    assert_eq!(check_content(&storage, &chk(2)), CheckpointId(2), "the older line stays for ever");
    assert_eq!(check_content(&storage, &chk(3)), CheckpointId(3));
    let storage = storage.kill_image();
    assert_eq!(says(&storage, &StartFrom::Latest), format!("resuming from {}", chk(8).display()));
}

/// A start that is refused after the directory was claimed (an output that cannot be written, say) has not happened:
/// the line is the old one, and everything is there.
#[test]
fn ms_020_a_refused_fresh_start_changes_nothing() {
    let storage = MemoryStorage::new();
    run(&mut start(&storage), 1..=3);
    attempt(&start(&storage), CheckpointId(4)).unwrap();
    let before = tree(&storage);
    for from in [StartFrom::Fresh, from(chk(2))] {
        let mut opening = open(&storage, &from).unwrap();
        assert_eq!(opening.line(), 2);
        assert_eq!(opening.retained().unwrap(), []);
        opening.claim().unwrap();
        assert!(matches!(open(&storage, &StartFrom::Latest), Err(StateError::InUse { .. })));
        drop(opening);
        assert_eq!(tree(&storage), before);
        let plain = open(&storage, &StartFrom::Latest).unwrap();
        assert_eq!((plain.line(), plain.start().snapshot()), (1, Some(&*chk(3))));
        let retained = plain.retained().unwrap();
        assert_eq!(retained.iter().map(|(dir, _)| dir.clone()).collect::<Vec<_>>(), [chk(2)]);
        assert_eq!(retained[0].1.checkpoint, CheckpointId(2));
    }
}

/// CP-13: the first id after a start from `chk-7` is 8, in whatever directory.
#[test]
fn cp_13_ids_go_on_above_the_restored_and_above_all_found() {
    let storage = MemoryStorage::new();
    run(&mut start(&storage), 1..=7);
    let storage = storage.kill_image();
    let other =
        Opening::new(Arc::new(storage.clone()), Path::new("/other"), JOB, "pid 1", &from(chk(7))).unwrap();
    assert_eq!(other.start().to_string(), format!("starting from {}", chk(7).display()));
    assert_eq!(other.begin(1).unwrap().next_id(), CheckpointId(8));
    let own = open(&storage, &from(chk(6).join("_metadata"))).unwrap().begin(1).unwrap();
    assert_eq!((own.line(), own.next_id()), (2, CheckpointId(8)));
}

/// Ruling 2: `-s P` again, as a supervisor does after a kill, goes on with the line that began at P.
#[test]
fn ruling_02_the_same_start_path_again_goes_on_with_its_line() {
    let storage = MemoryStorage::new();
    run(&mut start(&storage), 1..=3);
    let mut storage = storage.kill_image();
    for _ in 0..2 {
        // Before the line has a checkpoint it is P again, whatever the form of the path.
        for path in [chk(2), chk(2).join("_metadata")] {
            let store = open(&storage, &from(path)).unwrap().begin(2).unwrap();
            assert_eq!(store.line(), 2);
            assert_eq!(store.latest().unwrap().unwrap().dir, chk(2), "also for a restart within the process");
            storage = storage.kill_image();
        }
    }
    // A plain start does not forget what the line began with either.
    assert_eq!(says(&storage, &StartFrom::Latest), format!("resuming from {}", chk(2).display()));
    let mut store = open(&storage, &from(chk(2))).unwrap().begin(1).unwrap();
    run(&mut store, [4, 5]);
    check_content(&storage, &chk(2));
    storage = storage.kill_image();
    assert_eq!(says(&storage, &from(chk(2))), format!("resuming from {}", chk(5).display()));
    // P itself may be deleted by then; the line does not need it any more.
    millstream_io::storage::remove_tree(&storage, &chk(2)).unwrap();
    assert_eq!(says(&storage, &from(chk(2))), format!("resuming from {}", chk(5).display()));
    // Another path begins another line.
    let store = open(&storage, &from(chk(3))).unwrap().begin(1).unwrap();
    assert_eq!((store.line(), store.next_id()), (3, CheckpointId(6)));
}

/// Ruling 2: a start after a finished line is a new run with a new line, and says so; ids still go up.
#[test]
fn ruling_02_after_a_finished_line_a_new_run_begins() {
    let storage = MemoryStorage::new();
    let mut store = start(&storage);
    run(&mut store, 1..=3);
    end(store, &JobEnd::Finished, Retention::default()).unwrap();
    let storage = storage.kill_image();
    let line = "starting without state (the job had finished; this is a new run)";
    assert_eq!(says(&storage, &StartFrom::Latest), line);
    assert_eq!(start(&storage).line(), 2);
}

/// Ruling 3: after a stop the next start goes on from the snapshot it was stopped with, and that is kept.
#[test]
fn ruling_03_a_stop_is_gone_on_from() {
    let storage = MemoryStorage::new();
    let mut store = start(&storage);
    run(&mut store, 1..=3);
    end(store, &JobEnd::Stopped(chk(3)), Retention::default()).unwrap();
    let storage = storage.kill_image();
    assert_eq!(says(&storage, &StartFrom::Latest), format!("resuming from {}", chk(3).display()));
    let mut store = start(&storage);
    assert_eq!(store.line(), 2);
    run(&mut store, 4..=9);
    assert_eq!(check_content(&storage, &chk(3)), CheckpointId(3), "kept like a savepoint");
    drop(store);

    // Gone: refused, with both ways on.
    let storage = storage.kill_image();
    let mut store = start(&storage);
    run(&mut store, [10]);
    end(store, &JobEnd::Stopped(chk(10)), Retention::default()).unwrap();
    millstream_io::storage::remove_tree(&storage, &chk(10)).unwrap();
    let before = tree(&storage);
    let error = open(&storage, &StartFrom::Latest).err().unwrap();
    assert!(matches!(error, StateError::Refused(Refusal::Base { .. })), "{error}");
    assert!(error.to_string().contains("chk-10"), "{error}");
    let hint = error.hint().unwrap();
    assert!(hint.contains("-s PATH") && hint.contains("--fresh"), "{hint}");
    assert_eq!(tree(&storage), before);
    // The line began at `chk-3`: that command again means to go on with it, and cannot.
    assert!(open(&storage, &from(chk(3))).is_err());
    for name in ["_metadata", "state-0-0"] {
        let bytes = millstream_io::storage::read_all(&storage, &chk(3).join(name)).unwrap();
        hand_made(&storage, &Path::new("/moved/here").join(name), &bytes);
    }
    assert_eq!(says(&storage, &from("/moved/here")), "starting from /moved/here");
}

/// MS-020: what others have deleted is missed, after a kill, a suspend and a failure, although an older one is there: the
/// whole of it, or only what makes it complete.
#[test]
fn ms_020_a_deleted_checkpoint_is_missed() {
    let remove = |storage: &MemoryStorage, n| storage::remove_tree(storage, &chk(n)).unwrap();
    let refused = |storage: &MemoryStorage, from: &StartFrom| {
        let before = tree(storage);
        let error = open(storage, from).err().expect("refused");
        assert_eq!(error.class(), millstream_io::error::Class::Refuse);
        assert_eq!(tree(storage), before);
        let hint = error.hint().unwrap();
        assert!(hint.contains("`-s ") && hint.contains("repeat"), "{hint}");
        error.to_string()
    };
    for how in [None, Some(JobEnd::Suspended), Some(JobEnd::Failed)] {
        let storage = MemoryStorage::new();
        let mut store = start(&storage);
        run(&mut store, 1..=3);
        match &how {
            Some(how) => end(store, how, Retention::default()).unwrap(),
            None => drop(store),
        }
        let image = storage.kill_image();
        image.remove(&chk(3).join(METADATA_FILE)).unwrap();
        let names =
            |error: String| assert!(error.contains(&format!("{}: ", chk(3).display())), "{how:?}: {error}");
        names(refused(&image, &StartFrom::Latest));
        remove(&image, 3);
        names(refused(&image, &StartFrom::Latest));
        remove(&image, 2);
        assert!(refused(&image, &StartFrom::Latest).contains("was completed"), "{how:?}");
        let fresh = open(&image, &StartFrom::Fresh).unwrap().begin(2).unwrap();
        assert_eq!((fresh.line(), fresh.retained()), (2, &[][..]));
        // Whoever goes on has the newest by then on record.
        drop(start(&storage));
        let image = storage.kill_image();
        remove(&image, 3);
        assert!(refused(&image, &StartFrom::Latest).contains(chk(3).to_str().unwrap()), "{how:?}");
    }
}

/// What is on record as reached cannot be lost to a power cut: its name, which a killed process may not have made durable,
/// is so before the record.
#[test]
fn ms_020_a_checkpoint_is_durable_before_it_is_on_record() {
    use millstream_io::storage::fault::{FaultStorage, Op};
    let memory = MemoryStorage::new();
    run(&mut start(&memory), 1..=2);
    let storage = FaultStorage::new(Arc::new(memory.kill_image()));
    storage.record();
    drop(start(&storage));
    let log = storage.log();
    let at = |op, path: &Path| log.iter().position(|(_, done, on)| *done == op && on == path);
    let (synced, recorded) = (at(Op::SyncDir, &chk(2)), at(Op::Publish, &job_dir().lineage()));
    assert!(synced.is_some() && synced < recorded, "{log:?}");
}

/// Ruling 4: a suspended job and one that failed go on.
#[test]
fn ruling_04_suspend_and_failure_leave_the_line_open() {
    for how in [JobEnd::Suspended, JobEnd::Failed] {
        let storage = MemoryStorage::new();
        let mut store = start(&storage);
        run(&mut store, 1..=2);
        end(store, &how, Retention::default()).unwrap();
        assert_eq!(says(&storage, &StartFrom::Latest), format!("resuming from {}", chk(2).display()));
        assert_eq!(start(&storage).line(), 1);
    }
}

#[test]
fn a_cancelled_job_begins_anew_unless_its_checkpoints_were_kept() {
    for (retention, line, expected) in [
        (
            Retention::DeleteOnCancellation,
            2,
            "starting without state (the job was cancelled; this is a new run)",
        ),
        (Retention::RetainOnCancellation, 1, &*format!("resuming from {}", chk(2).display())),
    ] {
        let storage = MemoryStorage::new();
        let mut store = start(&storage);
        run(&mut store, 1..=2);
        end(store, &JobEnd::Canceled, retention).unwrap();
        assert_eq!(says(&storage, &StartFrom::Latest), expected);
        assert_eq!(start(&storage).line(), line);
    }
}

/// MS-074: the second is refused and told who holds it; a killed holder leaves no stale lock.
#[test]
fn ms_074_one_process_at_a_time() {
    let storage = MemoryStorage::new();
    let first = start(&storage);
    let error = open(&storage, &StartFrom::Latest).err().unwrap();
    assert!(matches!(&error, StateError::InUse { holder, .. } if holder == "pid 42"), "{error}");
    assert!(error.to_string().contains("pid 42"), "{error}");
    let after_kill = storage.kill_image();
    drop(start(&after_kill));
    drop(first);
    drop(start(&storage));
}

/// Between look and lock another process may be faster, and even be over already.
#[test]
fn ms_074_being_overtaken_is_noticed() {
    let storage = MemoryStorage::new();
    let slow = open(&storage, &StartFrom::Latest).unwrap();
    let running = start(&storage);
    assert!(matches!(slow.begin(1), Err(StateError::InUse { .. })));
    drop(running);

    let storage = MemoryStorage::new();
    let slow = open(&storage, &StartFrom::Latest).unwrap();
    run(&mut start(&storage), [1]);
    assert!(matches!(slow.begin(1), Err(StateError::Refused(Refusal::Overtaken { .. }))));
    check_content(&storage, &chk(1));
}

/// A refusal creates nothing: what a start has made before it was certain goes with it, and only that.
#[test]
fn a_start_that_is_refused_leaves_no_trace() {
    let temp = tempfile::tempdir().unwrap();
    let memory = MemoryStorage::new();
    memory.create_dir_all(Path::new("/there")).unwrap();
    let disk: Arc<dyn Storage> = Arc::new(DiskStorage::new());
    let worlds: [(Arc<dyn Storage>, &Path); 2] =
        [(memory.shared(), Path::new("/there")), (disk, temp.path())];
    for (storage, there) in worlds {
        let open = |at: &str| {
            let mut opening =
                Opening::new(Arc::clone(&storage), &there.join(at), JOB, "pid 1", &StartFrom::Latest)?;
            opening.claim()?;
            Ok::<_, StateError>(opening)
        };
        let names = |dir: &Path| storage.list(dir).unwrap().len();
        let opening = open("deep/c").unwrap();
        assert!(matches!(open("deep/c"), Err(StateError::InUse { .. })), "it is locked meanwhile");
        drop(opening);
        assert_eq!(names(there), 0);
        // What was there stays, an empty directory too; what somebody else has put there as well.
        let job = JobDir::new(&there.join("c"), crate::JobId::of(JOB));
        storage.create_dir_all(&job.shared()).unwrap();
        let opening = open("c").unwrap();
        storage.publish(&there.join("c/note"), b"mine").unwrap();
        drop(opening);
        assert_eq!((names(&there.join("c")), names(job.root())), (2, 1));
        // One that was not refused leaves its lock to the next.
        drop(open("c").unwrap().begin(1).unwrap());
        let before = names(job.root());
        drop(open("c").unwrap());
        assert_eq!((names(job.root()), before), (4, 4), "lineage, lock, shared, taskowned");
    }
}

/// Other jobs in the same checkpoint directory are not touched.
#[test]
fn jobs_share_a_checkpoint_directory() {
    let storage = MemoryStorage::new();
    let mut first = start(&storage);
    run(&mut first, [1]);
    let shared = Arc::new(storage.clone());
    let other = Opening::new(shared, Path::new(ROOT), "another", "pid 43", &StartFrom::Latest).unwrap();
    assert!(other.restored().is_none());
    let other = other.begin(1).unwrap();
    end(other, &JobEnd::Finished, Retention::default()).unwrap();
    check_content(&storage, &chk(1));
}

/// ER-05: no snapshot there.
#[test]
fn er_05_a_path_without_snapshot_is_refused_and_nothing_is_created() {
    let storage = MemoryStorage::new();
    storage.create_dir_all(Path::new("/empty")).unwrap();
    hand_made(&storage, Path::new("/file"), b"x");
    for path in ["/empty", "/nowhere/at/all", "/file", "/file/_metadata"] {
        let error = open(&storage, &from(path)).err().unwrap();
        assert!(matches!(error, StateError::NoSnapshot { .. }), "{path}: {error}");
        assert!(
            error.to_string().contains("no valid snapshot") && error.to_string().contains("/"),
            "{error}"
        );
        assert_eq!(error.class(), millstream_io::error::Class::Refuse);
    }
    assert!(storage.stat(Path::new(ROOT)).is_err(), "a refusal creates nothing");
}

/// MS-009 on real files: below a regular file. Refused, path and system error named, nothing created.
#[test]
fn ms_009_a_directory_below_a_file_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let storage = Arc::new(DiskStorage::new());
    let file = temp.path().join("x");
    storage.publish(&file, b"a file").unwrap();
    for dir in [file.join("ck"), file.clone()] {
        let error = match Opening::new(storage.clone(), &dir, JOB, "pid 1", &StartFrom::Latest) {
            Err(error) => error,
            Ok(opening) => opening.begin(1).err().expect("refused"),
        };
        assert!(matches!(error, StateError::Unusable(_)), "{error}");
        assert_eq!(error.class(), millstream_io::error::Class::Refuse);
        let text = error.to_string();
        assert!(text.contains(file.to_str().unwrap()) && text.contains("Not a directory"), "{text}");
        assert!(error.hint().unwrap().contains("execution.checkpointing.dir"));
    }
    assert_eq!(storage.list(temp.path()).unwrap().len(), 1);
}

/// MS-009: a directory that cannot be written to, whichever write it is that fails.
#[test]
fn ms_009_an_unwritable_directory_is_refused_before_the_first_record() {
    use millstream_io::storage::fault::{Fault, FaultStorage, Op};
    const EACCES: i32 = 13;
    for op in [Op::CreateDir, Op::Lock, Op::Publish] {
        let storage = FaultStorage::new(Arc::new(MemoryStorage::new()));
        let opening = open(&storage, &StartFrom::Latest).unwrap();
        storage.fail_every(op, Some(Fault::Before(EACCES)));
        let error = opening.begin(1).err().unwrap();
        assert!(
            matches!(&error, StateError::Unusable(e) if e.source.raw_os_error() == Some(EACCES)),
            "{error}"
        );
        assert!(error.to_string().contains("/c/"), "{error}");
    }
    // Also when everything is there from an earlier run.
    let storage = FaultStorage::new(Arc::new(MemoryStorage::new()));
    run(&mut start(&storage), [1]);
    let opening = open(&storage, &StartFrom::Latest).unwrap();
    storage.fail_every(Op::Publish, Some(Fault::Before(EACCES)));
    assert!(matches!(opening.begin(1), Err(StateError::Unusable(_))));
}

/// The whole way on real files, relative path included.
#[test]
fn a_job_goes_on_on_real_files() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("deep/checkpoints");
    let storage = DiskStorage::new();
    let opening =
        |from: &StartFrom| Opening::new(Arc::new(DiskStorage::new()), &root, JOB, "pid 1", from).unwrap();
    let mut store = opening(&StartFrom::Latest).begin(1).unwrap();
    run(&mut store, 1..=3);
    let dir = store.checkpoint_dir(CheckpointId(3));
    drop(store);
    assert_eq!(opening(&StartFrom::Latest).start().snapshot(), Some(&*dir));
    assert_eq!(check_content(&StorageOf(&storage), &dir), CheckpointId(3));
    end(opening(&StartFrom::Latest).begin(1).unwrap(), &JobEnd::Finished, Retention::default()).unwrap();
    assert!(storage.stat(&dir).is_err());
}

struct StorageOf<'a>(&'a DiskStorage);

impl Clonable for StorageOf<'_> {
    fn shared(&self) -> Arc<dyn Storage> {
        let _ = self.0;
        Arc::new(DiskStorage::new())
    }
}

use super::*;
use crate::error::Outcome;
use crate::storage::{read_all, remove_tree};

/// The way of file systems that cannot rename without replacing.
#[test]
fn rename_by_link_moves_and_never_replaces() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    let storage = DiskStorage::new();
    storage.create(&from).unwrap().append(b"x").unwrap();
    rename_by_link(&from, &to).unwrap();
    assert_eq!(read_all(&storage, &to).unwrap(), b"x");
    assert!(storage.stat(&from).is_err());

    storage.create(&from).unwrap().append(b"new").unwrap();
    assert_eq!(rename_by_link(&from, &to).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(read_all(&storage, &to).unwrap(), b"x");
    assert_eq!(read_all(&storage, &from).unwrap(), b"new");
}

#[test]
fn rename_by_link_goes_on_after_a_crash_between_its_steps() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    let storage = DiskStorage::new();
    storage.create(&from).unwrap().append(b"x").unwrap();
    fs::hard_link(&from, &to).unwrap();
    rename_by_link(&from, &to).unwrap();
    assert!(storage.stat(&from).is_err());
    assert_eq!(read_all(&storage, &to).unwrap(), b"x");
}

/// `/dev/full` answers every write as a full disk does (MS-069).
#[test]
fn a_full_disk_is_named_by_path_and_cause() {
    let path = Path::new("/dev/full");
    let Ok(file) = OpenOptions::new().write(true).open(path) else {
        eprintln!("skipped: no /dev/full here");
        return;
    };
    let error = DiskWriter::new(file, path).append(b"x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert_eq!(error.to_string(), "write /dev/full: No space left on device (os error 28)");
}

/// A pipe cannot be synced: the system answers EINVAL, which stands for any failed sync here.
#[test]
fn a_failed_sync_is_never_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut writer = DiskWriter::new(file, &path);
    writer.append(b"x").unwrap();
    let syncer = writer.syncer().unwrap();
    let second = writer.syncer().unwrap();
    let error = syncer().unwrap_err();
    assert_eq!((error.operation, error.outcome), ("sync", Outcome::Indeterminate));
    for error in [second().unwrap_err(), writer.append(b"y").unwrap_err(), writer.sync().unwrap_err()] {
        assert!(error.to_string().contains("an earlier sync of this file failed"), "{error}");
    }
    assert!(writer.syncer().is_err());
}

#[test]
fn a_directory_that_only_a_killed_process_made_is_synced_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    fs::create_dir(&path).unwrap();
    let storage = DiskStorage::new();
    storage.create_dir_all(&path).unwrap();
    assert!(storage.known.lock().contains(&path));
    storage.create_dir_all(&path.join("b/c")).unwrap();
    assert!(storage.known.lock().contains(&path.join("b/c")));
}

#[test]
fn temporaries_left_by_a_process_of_the_same_number_are_stepped_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m");
    let (_, temp) = create_temporary(&path).unwrap();
    let name = temp.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with(".m.") && name.ends_with(".tmp"), "{name}");
    let (_, other) = create_temporary(&path).unwrap();
    assert_ne!(temp, other);
}

/// What links lead to is outside of a tree that is removed, be it the tree's own name that is one.
#[test]
fn removing_a_tree_removes_links_and_never_follows_them() {
    let temp = tempfile::tempdir().unwrap();
    let (outside, tree, alias) =
        (temp.path().join("outside"), temp.path().join("tree"), temp.path().join("alias"));
    let storage = DiskStorage::new();
    storage.create_dir_all(&outside.join("below")).unwrap();
    storage.create_dir_all(&tree.join("deep")).unwrap();
    storage.create(&outside.join("kept")).unwrap().append(b"x").unwrap();
    for link in [tree.join("link"), tree.join("deep/link"), alias.clone()] {
        std::os::unix::fs::symlink(&outside, link).unwrap();
    }
    remove_tree(&storage, &tree).unwrap();
    remove_tree(&storage, &alias).unwrap();
    let left = |dir: &Path| fs::read_dir(dir).unwrap().count();
    assert_eq!((left(temp.path()), left(&outside)), (1, 2));
    assert_eq!(read_all(&storage, &outside.join("kept")).unwrap(), b"x");
}

/// A start that is refused takes its lock file away while it holds the lock: whoever had opened that file before does not
/// take it for the lock.
#[test]
fn ms_074_a_lock_file_that_goes_while_it_is_held_locks_nobody_in() {
    let dir = tempfile::tempdir().unwrap();
    let (storage, path) = (DiskStorage::new(), dir.path().join(".lock"));
    let held = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..3_000 {
                    if let Some(lock) = storage.try_lock(&path, "somebody").unwrap() {
                        assert!(!held.swap(true, Ordering::SeqCst), "two hold it");
                        std::thread::yield_now();
                        held.store(false, Ordering::SeqCst);
                        storage.remove(&path).unwrap();
                        drop(lock);
                    }
                }
            });
        }
    });
}

/// A pipe in a file's place is refused at once, and so is a directory: nobody waits for somebody who writes.
#[test]
fn what_is_no_file_is_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    let (storage, pipe) = (DiskStorage::new(), dir.path().join("pipe"));
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    for path in [pipe.as_path(), dir.path()] {
        let error = storage.open(path).err().unwrap().to_string();
        assert!(error.starts_with("open ") && error.ends_with("not a file"), "{error}");
    }
}

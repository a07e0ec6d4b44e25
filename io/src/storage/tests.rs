//! The contract of [`Storage`], run over every implementation. Expected values are those of the trait's documentation.

use super::fault::FaultStorage;
use super::{DiskStorage, Entry, Kind, MemoryStorage, Storage, read_all, remove_tree};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

macro_rules! contract {
    ($($name:ident),* $(,)?) => {
        mod disk {
            use super::*;
            $(#[test] fn $name() {
                let dir = tempfile::tempdir().unwrap();
                super::$name(&DiskStorage::new(), dir.path());
            })*
        }
        mod memory {
            use super::*;
            $(#[test] fn $name() {
                let storage = MemoryStorage::new();
                storage.create_dir_all(Path::new("/root")).unwrap();
                super::$name(&storage, Path::new("/root"));
            })*
        }
        /// Without a plan the wrapper changes nothing.
        mod fault {
            use super::*;
            $(#[test] fn $name() {
                let storage = FaultStorage::new(Arc::new(MemoryStorage::new()));
                storage.create_dir_all(Path::new("/root")).unwrap();
                super::$name(&storage, Path::new("/root"));
            })*
        }
    };
}

contract!(
    created_file_is_appended_to_and_read,
    create_refuses_an_existing_name,
    append_cuts_first,
    append_refuses_to_lengthen,
    append_refuses_a_missing_file,
    reads_are_short_only_at_the_end,
    rename_moves_the_file,
    rename_never_replaces,
    rename_of_nothing_is_not_found,
    publish_creates_and_replaces_and_leaves_no_temporary,
    open_reader_survives_rename_and_removal,
    writer_survives_rename,
    inode_follows_the_file,
    removal,
    directories,
    a_file_in_the_way_of_a_directory_is_named,
    listing_a_missing_directory_is_not_found,
    lock_is_exclusive_and_names_its_holder,
    lock_goes_with_its_guard,
    syncer_runs_elsewhere_while_writing_goes_on,
    canonical_is_absolute,
    canonical_of_nothing_is_not_found,
);

fn put(storage: &dyn Storage, path: &Path, bytes: &[u8]) {
    storage.create(path).unwrap().append(bytes).unwrap();
}

fn names(storage: &dyn Storage, dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        storage.list(dir).unwrap().into_iter().map(|e| e.name.into_string().unwrap()).collect();
    names.sort();
    names
}

fn created_file_is_appended_to_and_read(storage: &dyn Storage, dir: &Path) {
    let path = dir.join("a");
    let mut file = storage.create(&path).unwrap();
    file.append(b"one ").unwrap();
    file.append(b"two").unwrap();
    file.sync().unwrap();
    storage.sync_dir(dir).unwrap();
    assert_eq!(read_all(storage, &path).unwrap(), b"one two");
    let stat = storage.stat(&path).unwrap();
    assert_eq!((stat.kind, stat.len), (Kind::File, 7));
}

fn create_refuses_an_existing_name(storage: &dyn Storage, dir: &Path) {
    let path = dir.join("a");
    put(storage, &path, b"first");
    let error = storage.create(&path).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!((error.operation, error.path.as_path()), ("create", path.as_path()));
    assert_eq!(read_all(storage, &path).unwrap(), b"first");
}

fn append_cuts_first(storage: &dyn Storage, dir: &Path) {
    let path = dir.join("a");
    put(storage, &path, b"0123456789");
    storage.append(&path, 4).unwrap().append(b"xy").unwrap();
    assert_eq!(read_all(storage, &path).unwrap(), b"0123xy");
    storage.append(&path, 6).unwrap().append(b"z").unwrap();
    assert_eq!(read_all(storage, &path).unwrap(), b"0123xyz");
    drop(storage.append(&path, 0).unwrap());
    assert_eq!(storage.stat(&path).unwrap().len, 0);
}

fn append_refuses_to_lengthen(storage: &dyn Storage, dir: &Path) {
    let path = dir.join("a");
    put(storage, &path, b"abc");
    let error = storage.append(&path, 4).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    assert!(error.to_string().contains("has 3 bytes, fewer than the 4"), "{error}");
    assert_eq!(read_all(storage, &path).unwrap(), b"abc");
}

fn append_refuses_a_missing_file(storage: &dyn Storage, dir: &Path) {
    assert_eq!(storage.append(&dir.join("a"), 0).err().unwrap().kind(), ErrorKind::NotFound);
    assert!(names(storage, dir).is_empty());
}

fn reads_are_short_only_at_the_end(storage: &dyn Storage, dir: &Path) {
    let path = dir.join("a");
    put(storage, &path, b"0123456789");
    let file = storage.open(&path).unwrap();
    let mut buffer = [0; 4];
    assert_eq!(file.read_at(&mut buffer, 3).unwrap(), 4);
    assert_eq!(&buffer, b"3456");
    assert_eq!(file.read_at(&mut buffer, 8).unwrap(), 2);
    assert_eq!(&buffer[..2], b"89");
    assert_eq!(file.read_at(&mut buffer, 10).unwrap(), 0);
    assert_eq!(file.read_at(&mut buffer, 1000).unwrap(), 0);
}

fn rename_moves_the_file(storage: &dyn Storage, dir: &Path) {
    put(storage, &dir.join(".a"), b"x");
    storage.rename(&dir.join(".a"), &dir.join("a")).unwrap();
    assert_eq!(names(storage, dir), ["a"]);
    assert_eq!(read_all(storage, &dir.join("a")).unwrap(), b"x");
}

fn rename_never_replaces(storage: &dyn Storage, dir: &Path) {
    put(storage, &dir.join("from"), b"new");
    put(storage, &dir.join("to"), b"old");
    let error = storage.rename(&dir.join("from"), &dir.join("to")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(read_all(storage, &dir.join("to")).unwrap(), b"old");
    assert_eq!(read_all(storage, &dir.join("from")).unwrap(), b"new");
}

fn rename_of_nothing_is_not_found(storage: &dyn Storage, dir: &Path) {
    let error = storage.rename(&dir.join("from"), &dir.join("to")).unwrap_err();
    assert_eq!((error.kind(), error.path), (ErrorKind::NotFound, dir.join("from")));
}

fn publish_creates_and_replaces_and_leaves_no_temporary(storage: &dyn Storage, dir: &Path) {
    let path = dir.join("_metadata");
    storage.publish(&path, b"first").unwrap();
    storage.publish(&path, b"2nd").unwrap();
    assert_eq!(read_all(storage, &path).unwrap(), b"2nd");
    assert_eq!(names(storage, dir), ["_metadata"]);
    assert_eq!(storage.publish(&dir.join("none/x"), b"").unwrap_err().kind(), ErrorKind::NotFound);
    storage.create_dir_all(&dir.join("d")).unwrap();
    assert!(storage.publish(&dir.join("d"), b"x").is_err());
    assert_eq!(names(storage, dir), ["_metadata", "d"]);
}

fn open_reader_survives_rename_and_removal(storage: &dyn Storage, dir: &Path) {
    put(storage, &dir.join("a"), b"abc");
    let file = storage.open(&dir.join("a")).unwrap();
    storage.rename(&dir.join("a"), &dir.join("b")).unwrap();
    storage.remove(&dir.join("b")).unwrap();
    let mut buffer = [0; 3];
    assert_eq!(file.read_at(&mut buffer, 0).unwrap(), 3);
    assert_eq!(file.stat().unwrap().len, 3);
}

fn writer_survives_rename(storage: &dyn Storage, dir: &Path) {
    let mut file = storage.create(&dir.join("a")).unwrap();
    file.append(b"abc").unwrap();
    storage.rename(&dir.join("a"), &dir.join("b")).unwrap();
    file.append(b"def").unwrap();
    file.sync().unwrap();
    assert_eq!(read_all(storage, &dir.join("b")).unwrap(), b"abcdef");
}

fn inode_follows_the_file(storage: &dyn Storage, dir: &Path) {
    put(storage, &dir.join("a"), b"");
    put(storage, &dir.join("b"), b"");
    let inode = storage.stat(&dir.join("a")).unwrap().inode;
    assert_ne!(inode, storage.stat(&dir.join("b")).unwrap().inode);
    storage.rename(&dir.join("a"), &dir.join("c")).unwrap();
    assert_eq!(storage.stat(&dir.join("c")).unwrap().inode, inode);
    assert_eq!(storage.open(&dir.join("c")).unwrap().stat().unwrap().inode, inode);
}

fn removal(storage: &dyn Storage, dir: &Path) {
    put(storage, &dir.join("a"), b"");
    storage.remove(&dir.join("a")).unwrap();
    let error = storage.remove(&dir.join("a")).unwrap_err();
    assert_eq!((error.kind(), error.operation), (ErrorKind::NotFound, "remove"));
    storage.create_dir_all(&dir.join("d")).unwrap();
    assert_eq!(storage.remove(&dir.join("d")).unwrap_err().kind(), ErrorKind::IsADirectory);
}

fn directories(storage: &dyn Storage, dir: &Path) {
    let deep = dir.join("a/b/c");
    storage.create_dir_all(&deep).unwrap();
    storage.create_dir_all(&deep).unwrap();
    put(storage, &deep.join("f"), b"x");
    assert_eq!(
        storage.list(&dir.join("a")).unwrap(),
        [Entry { name: "b".into(), kind: Kind::Dir, link: false }]
    );
    assert_eq!(storage.list(&deep).unwrap(), [Entry { name: "f".into(), kind: Kind::File, link: false }]);
    assert_eq!(storage.stat(&deep).unwrap().kind, Kind::Dir);
    assert_eq!(storage.remove_dir(&deep).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
    remove_tree(storage, &dir.join("a")).unwrap();
    assert!(names(storage, dir).is_empty());
    remove_tree(storage, &dir.join("a")).unwrap();
    assert_eq!(storage.remove_dir(&dir.join("a")).unwrap_err().kind(), ErrorKind::NotFound);
}

/// MS-009: a checkpoint directory below a regular file.
fn a_file_in_the_way_of_a_directory_is_named(storage: &dyn Storage, dir: &Path) {
    put(storage, &dir.join("x"), b"");
    for below in ["x", "x/ck", "x/ck/chk-1"] {
        let error = storage.create_dir_all(&dir.join(below)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotADirectory, "{below}: {error}");
        assert!(error.path.starts_with(dir.join("x")), "{error}");
    }
}

fn listing_a_missing_directory_is_not_found(storage: &dyn Storage, dir: &Path) {
    assert_eq!(storage.list(&dir.join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(storage.sync_dir(&dir.join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(storage.create(&dir.join("none/a")).err().unwrap().kind(), ErrorKind::NotFound);
}

fn lock_is_exclusive_and_names_its_holder(storage: &dyn Storage, dir: &Path) {
    let path = dir.join(".lock");
    let held = storage.try_lock(&path, "process 123 of a longer name").unwrap();
    assert!(held.is_some());
    assert!(storage.try_lock(&path, "456").unwrap().is_none());
    assert_eq!(read_all(storage, &path).unwrap(), b"process 123 of a longer name");
}

/// MS-074: a lock is never stale.
fn lock_goes_with_its_guard(storage: &dyn Storage, dir: &Path) {
    let path = dir.join(".lock");
    drop(storage.try_lock(&path, "process 123").unwrap());
    let again = storage.try_lock(&path, "456").unwrap();
    assert!(again.is_some());
    assert_eq!(read_all(storage, &path).unwrap(), b"456");
    drop(again);
    assert!(storage.stat(&path).is_ok(), "the lock file stays");
}

fn syncer_runs_elsewhere_while_writing_goes_on(storage: &dyn Storage, dir: &Path) {
    let path = dir.join("a");
    let mut file = storage.create(&path).unwrap();
    file.append(b"before").unwrap();
    let syncer = file.syncer().unwrap();
    let elsewhere = std::thread::scope(|scope| {
        let running = scope.spawn(syncer);
        file.append(b" after").unwrap();
        running.join().unwrap()
    });
    elsewhere.unwrap();
    assert_eq!(read_all(storage, &path).unwrap(), b"before after");
}

fn canonical_is_absolute(storage: &dyn Storage, dir: &Path) {
    put(storage, &dir.join("a"), b"");
    let canonical = storage.canonical(&dir.join("./a")).unwrap();
    assert!(canonical.is_absolute());
    assert!(canonical.ends_with("a"));
    assert_eq!(canonical, storage.canonical(&canonical).unwrap());
}

fn canonical_of_nothing_is_not_found(storage: &dyn Storage, dir: &Path) {
    let path: PathBuf = dir.join("none");
    assert_eq!(storage.canonical(&path).unwrap_err().kind(), ErrorKind::NotFound);
}

use super::*;
use crate::error::{ConnectorError, Outcome};
use crate::storage::{MemoryStorage, read_all};
use std::io::ErrorKind;

fn at(path: &str) -> &Path {
    Path::new(path)
}

fn pair() -> (MemoryStorage, FaultStorage) {
    let memory = MemoryStorage::new();
    (memory.clone(), FaultStorage::new(Arc::new(memory)))
}

/// create 0, write 1, sync 2, sync directory 3, rename 4, publish 5.
fn job(storage: &dyn Storage) -> Result<()> {
    let mut file = storage.create(at("/.a"))?;
    file.append(b"12345678")?;
    file.sync()?;
    storage.sync_dir(at("/"))?;
    storage.rename(at("/.a"), at("/a"))?;
    storage.publish(at("/m"), b"meta")
}

#[test]
fn operations_are_numbered_logged_and_counted_by_kind() {
    let (_, storage) = pair();
    storage.record();
    job(&storage).unwrap();
    let log: Vec<_> =
        storage.log().into_iter().map(|(k, op, path)| (k, op, path.display().to_string())).collect();
    let expected = [
        (0, Op::Create, "/.a"),
        (1, Op::Append, "/.a"),
        (2, Op::Sync, "/.a"),
        (3, Op::SyncDir, "/"),
        (4, Op::Rename, "/.a"),
        (5, Op::Publish, "/m"),
    ];
    assert_eq!(log, expected.map(|(k, op, path)| (k, op, path.to_owned())));
    assert_eq!(storage.operations(), 6);
    assert_eq!(storage.coverage().len(), 6);
}

#[test]
fn a_crash_stops_the_world_before_in_or_after_the_operation() {
    // The live image: names, and the bytes of the file, for a crash at each operation.
    let left = |k: u64, how| {
        let (memory, storage) = pair();
        storage.crash_at(k, how);
        let error = job(&storage).unwrap_err();
        assert!(is_crash(&error), "{error}");
        assert!(is_crash(&ConnectorError::from(error)));
        assert!(is_crash(&storage.stat(at("/")).unwrap_err()), "the world stays stopped");
        assert_eq!(storage.operations(), k + 1);
        assert!(storage.crashed_in().is_some());
        let entries = memory.list(at("/")).unwrap();
        let names: Vec<_> = entries.into_iter().map(|e| e.name.into_string().unwrap()).collect();
        let bytes = read_all(&memory, at("/.a")).map_or(0, |bytes| bytes.len());
        (names.join(" "), bytes)
    };
    assert_eq!(left(0, Crash::Before), (String::new(), 0));
    assert_eq!(left(0, Crash::After), (".a".into(), 0));
    assert_eq!(left(1, Crash::Before), (".a".into(), 0));
    assert_eq!(left(1, Crash::Torn), (".a".into(), 4));
    assert_eq!(left(1, Crash::After), (".a".into(), 8));
    assert_eq!(left(4, Crash::Before).0, ".a");
    assert_eq!(left(4, Crash::Torn).0, ".a");
    assert_eq!(left(4, Crash::After).0, "a");
    assert_eq!(left(5, Crash::Torn).0, ".m.stopped.tmp a");
    assert_eq!(left(5, Crash::After).0, "a m");
}

#[test]
fn single_failures_say_whether_they_took_effect() {
    let (memory, storage) = pair();
    storage.fail_at(0, Fault::Before(28));
    let error = storage.create(at("/a")).err().unwrap();
    assert_eq!((error.kind(), error.outcome), (ErrorKind::StorageFull, Outcome::Determinate));
    assert!(memory.stat(at("/a")).is_err());

    storage.fail_nth(Op::Create, 1, Fault::After(5));
    let error = storage.create(at("/a")).err().unwrap();
    assert_eq!((error.source.raw_os_error(), error.outcome), (Some(5), Outcome::Indeterminate));
    assert!(memory.stat(at("/a")).is_ok());

    storage.fail_nth(Op::Append, 0, Fault::Short(3, 28));
    let mut file = storage.create(at("/b")).unwrap();
    assert_eq!(
        file.append(b"abcdef").unwrap_err().to_string(),
        "write /b: No space left on device (os error 28)"
    );
    file.append(b"X").unwrap();
    assert_eq!(read_all(&memory, at("/b")).unwrap(), b"abcX");

    storage.fail_every(Op::Read, Some(Fault::Before(5)));
    assert!(read_all(&storage, at("/b")).is_err());
    storage.fail_every(Op::Read, None);
    assert!(read_all(&storage, at("/b")).is_ok());
}

#[test]
fn a_failed_sync_gives_the_file_up() {
    let (_, storage) = pair();
    storage.fail_nth(Op::Sync, 0, Fault::Before(5));
    let mut file = storage.create(at("/a")).unwrap();
    file.append(b"x").unwrap();
    let error = file.syncer().unwrap()().unwrap_err();
    assert_eq!((error.operation, error.outcome), ("sync", Outcome::Indeterminate));
    assert!(file.append(b"y").is_err());
    assert!(file.sync().is_err());
}

#[test]
fn a_full_disk_takes_what_fits() {
    let (memory, storage) = pair();
    storage.set_room(Some(10));
    let mut file = storage.create(at("/a")).unwrap();
    file.append(b"1234567").unwrap();
    assert_eq!(file.append(b"89abc").unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(read_all(&memory, at("/a")).unwrap(), b"123456789a");
    assert_eq!(storage.publish(at("/m"), b"").unwrap_err().kind(), ErrorKind::StorageFull);
    storage.remove(at("/a")).unwrap();
    storage.set_room(None);
    storage.publish(at("/m"), b"x").unwrap();
    storage.full_from(storage.operations());
    assert_eq!(storage.create(at("/b")).err().unwrap().kind(), ErrorKind::StorageFull);
    storage.remove(at("/m")).unwrap();
}

#[test]
fn what_took_effect_is_told() {
    let (_, storage) = pair();
    // The write is cut short, the sync has no bytes that could be, and the renaming is done.
    storage.fail_at(1, Fault::Short(3, 28));
    storage.fail_at(2, Fault::Short(3, 5));
    storage.fail_at(3, Fault::After(5));
    let mut file = storage.create(at("/.a")).unwrap();
    file.append(b"12345678").unwrap_err();
    file.sync().unwrap_err();
    storage.rename(at("/.a"), at("/a")).unwrap_err();
    let took_effect =
        [(Op::Append, Fault::Short(3, 28)), (Op::Sync, Fault::Before(5)), (Op::Rename, Fault::After(5))];
    assert_eq!(storage.failures(), took_effect);
    assert_eq!(storage.crash(), None);
    storage.crash_at(4, Crash::Torn);
    storage.sync_dir(at("/")).unwrap_err();
    assert_eq!(storage.crash(), Some((Op::SyncDir, Crash::Before)), "nothing to tear");
}

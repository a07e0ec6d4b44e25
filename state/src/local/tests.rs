//! What becomes of copies, of what is nobody's, and of what cannot be copied.

use super::*;
use millstream_io::storage::fault::{Fault, FaultStorage, Op};
use millstream_io::storage::{MemoryStorage, read_all};
use parking_lot::Mutex;

const JOB: &str = "/ck/job";

struct Subject {
    main: MemoryStorage,
    near: MemoryStorage,
    copies: Arc<LocalCopies>,
    storage: Mirrored,
    told: Arc<Mutex<Vec<String>>>,
}

fn subject() -> Subject {
    let (main, near, told) =
        (MemoryStorage::new(), MemoryStorage::new(), Arc::<Mutex<Vec<String>>>::default());
    for dir in ["chk-1", "shared"] {
        main.create_dir_all(&Path::new(JOB).join(dir)).unwrap();
    }
    let log = told.clone();
    let tell: Tell = Box::new(move |what| log.lock().push(what.to_owned()));
    let copies = Arc::new(LocalCopies::new(Arc::new(near.clone()), "/near".into(), tell));
    copies.begin(Path::new(JOB));
    let storage = Mirrored::new(Arc::new(main.clone()), copies.clone());
    Subject { main, near, copies, storage, told }
}

impl Subject {
    fn write(&self, name: &str, bytes: &[u8]) {
        let mut file = self.storage.create(&Path::new(JOB).join(name)).unwrap();
        file.append(bytes).unwrap();
        file.sync().unwrap();
    }

    fn copy(&self, name: &str) -> Option<Vec<u8>> {
        read_all(&self.near, &self.copies.place_of(&Path::new(JOB).join(name))?).ok()
    }
}

#[test]
fn be_06_data_files_have_copies_that_go_where_they_go() {
    let s = subject();
    s.write("chk-1/0-0", b"own");
    s.write("shared/1-next-0-0", b"merged");
    s.write("chk-1/_metadata", b"all");
    s.write("lineage", b"line");
    assert_eq!(s.copy("chk-1/0-0").unwrap(), b"own");
    assert_eq!(s.copy("chk-1/_metadata"), None);
    assert_eq!(s.copies.place_of(Path::new("/elsewhere/job/chk-1/0-0")), None);
    let path = |name: &str| Path::new(JOB).join(name);
    s.storage.rename(&path("shared/1-next-0-0"), &path("shared/1-2-0-0")).unwrap();
    assert_eq!((s.copy("shared/1-next-0-0"), s.copy("shared/1-2-0-0").unwrap()), (None, b"merged".to_vec()));
    millstream_io::storage::remove_tree(&s.storage, &path("chk-1")).unwrap();
    s.storage.remove(&path("shared/1-2-0-0")).unwrap();
    assert_eq!((s.copy("chk-1/0-0"), s.copy("shared/1-2-0-0")), (None, None));
    let dir = s.copies.places.get().unwrap().local.clone();
    let left: Vec<_> = s.near.list(&dir).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(left, ["shared"], "the directory of a checkpoint goes with it");
    assert!(s.told.lock().is_empty());
}

/// What a killed process left: copies of what is not there any more, or never was whole.
#[test]
fn be_06_a_start_removes_copies_of_what_is_not_there() {
    let s = subject();
    for (name, bytes) in [("chk-1/0-0", b"own"), ("chk-1/0-1", b"gon"), ("shared/1-1-0-0", b"cut")] {
        s.write(name, bytes);
    }
    s.main.remove(&Path::new(JOB).join("chk-1/0-1")).unwrap();
    let cut = s.copies.place_of(&Path::new(JOB).join("shared/1-1-0-0")).unwrap();
    s.near.append(&cut, 1).unwrap();
    s.copies.tidy(&s.main);
    let found = ["chk-1/0-0", "chk-1/0-1", "shared/1-1-0-0"].map(|name| s.copy(name).is_some());
    assert_eq!(found, [true, false, false]);
    millstream_io::storage::remove_tree(&s.main, Path::new(JOB)).unwrap();
    s.copies.tidy(&s.main);
    assert_eq!(s.near.list(Path::new("/near")).unwrap(), [], "nothing is left of a job that is gone");
}

/// A directory that cannot be made costs the copies and nothing else.
#[test]
fn be_06_without_a_place_there_are_no_copies_and_all_else_goes_on() {
    let s = subject();
    s.near.create(Path::new("/near")).unwrap();
    s.write("chk-1/0-0", b"own");
    assert_eq!(read_all(&s.main, &Path::new(JOB).join("chk-1/0-0")).unwrap(), b"own");
    assert_eq!(s.copy("chk-1/0-0"), None);
    assert!(s.told.lock()[0].contains("chk-1/0-0"), "{:?}", s.told.lock());
}

/// Where somebody else removes a copy at the same time, the others go all the same.
#[test]
fn be_06_a_copy_that_cannot_be_removed_is_in_no_others_way() {
    for op in [Op::Remove, Op::List] {
        let (main, near) = (MemoryStorage::new(), MemoryStorage::new());
        let faulty = FaultStorage::new(Arc::new(near.clone()));
        let copies = Arc::new(LocalCopies::new(Arc::new(faulty.clone()), "/near".into(), Box::new(|_| {})));
        copies.begin(Path::new(JOB));
        let storage = Mirrored::new(Arc::new(main.clone()), copies.clone());
        let paths = ["chk-1/0-0", "chk-1/0-1", "shared/1-1-0-0"].map(|name| Path::new(JOB).join(name));
        for path in &paths {
            main.create_dir_all(path.parent().unwrap()).unwrap();
            drop(storage.create(path).unwrap());
            main.remove(path).unwrap();
        }
        let before = faulty.coverage().iter().find(|(of, _)| *of == op).map_or(0, |(_, n)| *n);
        // Of the lists, that of the first directory.
        faulty.fail_nth(op, before + u64::from(op == Op::List), Fault::Before(2));
        copies.tidy(&main);
        let left = paths.each_ref().map(|path| near.stat(&copies.place_of(path).unwrap()).is_ok());
        assert_eq!(left, [true, op == Op::List, false], "{op:?}");
    }
}

/// Whoever removes a file has removed its copy, though the one or the other is just being made; and behind the end of the job none
/// is made any more.
#[test]
#[expect(clippy::disallowed_methods, reason = "one waits for the other in the middle of an operation")]
fn be_06_there_is_no_copy_of_what_was_removed_meanwhile_or_is_made_behind_the_end() {
    let path = Path::new(JOB).join("shared/1-5-0-0");
    for ended in [false, true] {
        let (main, near) = (MemoryStorage::new(), MemoryStorage::new());
        main.create_dir_all(path.parent().unwrap()).unwrap();
        let slow = FaultStorage::new(Arc::new(near.clone()));
        let copies = Arc::new(LocalCopies::new(Arc::new(slow.clone()), "/near".into(), Box::new(|_| {})));
        copies.begin(Path::new(JOB));
        let storage = Arc::new(Mirrored::new(Arc::new(main.clone()), copies.clone()));
        slow.record();
        slow.hold(Op::Create);
        let (writer, of) = (storage.clone(), path.clone());
        let writing = std::thread::spawn(move || drop(writer.create(&of)));
        while !slow.log().iter().any(|(_, op, _)| *op == Op::Create) {
            std::thread::yield_now();
        }
        let _ = storage.remove(&path);
        if ended {
            copies.end(&main);
        }
        slow.let_go(Op::Create);
        writing.join().unwrap();
        let (there, copy) = (main.stat(&path).is_ok(), near.stat(&copies.place_of(&path).unwrap()).is_ok());
        assert_eq!(copy, there && !ended);
    }
}

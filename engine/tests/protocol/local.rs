//! Second copies of state nearby, and what a restart reads (BE-06, ruling 20).

use crate::chain::{Counting, dir};
use crate::hand::Hand;
use millstream::Env;
use millstream::config::ByteSize;
use millstream_io::storage::fault::{Fault, FaultStorage, Op};
use millstream_io::storage::{MemoryStorage, Storage};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn env(job: &Counting) -> Env {
    let env = job.env(2);
    env.configure(|settings| {
        settings.recovery.from_local = true;
        settings.checkpointing.local_dir = Some(PathBuf::from("/near"));
        settings.checkpointing.data_inline_threshold = ByteSize(0);
    });
    env
}

/// Files below a directory.
fn below(disk: &MemoryStorage, dir: &Path) -> Vec<PathBuf> {
    let entries = disk.list(dir).unwrap_or_default();
    let mut found: Vec<_> = entries
        .into_iter()
        .flat_map(|entry| {
            let path = dir.join(&entry.name);
            if entry.kind == millstream_io::storage::Kind::Dir { below(disk, &path) } else { vec![path] }
        })
        .collect();
    found.sort();
    found
}

/// Reads of data files: of the checkpoint's own, and of copies.
fn reads(log: &[(u64, Op, PathBuf)]) -> (usize, usize) {
    let data =
        |path: &Path| !path.ends_with("_metadata") && !path.ends_with("lineage") && !path.ends_with(".lock");
    let of = |root: &str| {
        log.iter().filter(|(_, op, path)| *op == Op::Read && path.starts_with(root) && data(path)).count()
    };
    (of("/ck"), of("/near"))
}

/// How many reads a restart of the attempt takes.
fn restart(hand: &mut Hand, disk: &FaultStorage) -> (usize, usize) {
    let before = disk.log().len();
    hand.fail("process");
    hand.finish_restart();
    reads(&disk.log()[before..])
}

#[test]
fn be_06_a_restart_reads_copies_as_far_as_they_are_right() {
    let memory = MemoryStorage::new();
    let disk = FaultStorage::new(Arc::new(memory.clone()));
    disk.record();
    let job = Counting::new();
    let mut hand = Hand::begin(&env(&job), &disk);
    job.checkpoint(&mut hand, 5_000);
    job.checkpoint(&mut hand, 5_010);
    let (main, near) = restart(&mut hand, &disk);
    assert!(main == 0 && near > 0, "{main} reads of the checkpoint, {near} of copies");
    // Changed bytes, cut off, gone: each costs reads of that file, and nothing else.
    let copies = below(&memory, Path::new("/near"));
    let bytes = millstream_io::storage::read_all(&memory, &copies[0]).unwrap();
    memory.remove(&copies[0]).unwrap();
    let mut file = memory.create(&copies[0]).unwrap();
    file.append(&bytes.iter().map(|byte| !byte).collect::<Vec<_>>()).unwrap();
    let (main, near) = restart(&mut hand, &disk);
    assert!(main > 0 && near > 0, "{main} reads of the checkpoint, {near} of copies");
    memory.append(&copies[1], 1).unwrap();
    assert!(restart(&mut hand, &disk).0 > main, "a second file is read itself");
    below(&memory, Path::new("/near")).iter().for_each(|copy| memory.remove(copy).unwrap());
    let (main, near) = restart(&mut hand, &disk);
    assert!(main > 0 && near == 0, "{main} reads of the checkpoint, {near} of copies");
    job.checkpoint(&mut hand, 5_020);
    job.check(hand, 5_020);
}

/// Copies are of what the retained checkpoint names: what is older goes, what was aborted, what a killed process left, and at
/// the end everything.
#[test]
fn be_06_copies_go_with_what_they_are_of() {
    let memory = MemoryStorage::new();
    let disk = FaultStorage::new(Arc::new(memory.clone()));
    let job = Counting::new();
    let mut hand = Hand::begin(&env(&job), &disk);
    let same = |memory: &MemoryStorage| {
        let data = |path: &PathBuf| path.parent().unwrap() != dir().root() && !path.ends_with("_metadata");
        let names = |root| {
            below(memory, root).into_iter().filter(data).map(|path| path.file_name().unwrap().to_owned())
        };
        let (of, copies): (Vec<_>, Vec<_>) =
            (names(Path::new("/ck")).collect(), names(Path::new("/near")).collect());
        assert_eq!(copies, of);
        assert!(!copies.is_empty());
    };
    for n in 1..6 {
        job.checkpoint(&mut hand, 5_000 + n * 10);
        same(&memory);
    }
    disk.fail_every(Op::Publish, Some(Fault::Before(5)));
    let aborted = hand.trigger();
    hand.settle();
    disk.fail_every(Op::Publish, None);
    let of = format!("chk-{aborted}");
    let copies = below(&memory, Path::new("/near"));
    assert!(copies.iter().all(|copy| !copy.parent().unwrap().ends_with(&of)), "{copies:?}");
    // A subtask has written its part of one more when the process is killed.
    hand.trigger();
    hand.run_all();
    hand.work();
    drop(hand);
    let memory = memory.kill_image();
    let hand = Hand::begin(&env(&job), &memory);
    same(&memory);
    job.source.end();
    hand.finish().unwrap();
    assert_eq!(below(&memory, Path::new("/near")), [] as [PathBuf; 0]);
    assert!(!memory.list(dir().root()).unwrap().iter().any(|entry| entry.name == "chk-1"));
}

/// Where there are to be no copies any more, the next start removes those of an earlier one, and nothing else.
#[test]
fn be_06_a_start_without_copies_removes_those_that_there_are() {
    let memory = MemoryStorage::new();
    let job = Counting::new();
    let mut hand = Hand::begin(&env(&job), &memory);
    job.checkpoint(&mut hand, 5_000);
    drop(hand);
    let memory = memory.kill_image();
    assert!(!below(&memory, Path::new("/near")).is_empty());
    let other = Path::new("/near/other/chk-1");
    memory.create_dir_all(other).unwrap();
    drop(memory.create(&other.join("1-0")).unwrap());
    let without = env(&job);
    without.configure(|settings| settings.recovery.from_local = false);
    let mut hand = Hand::begin(&without, &memory);
    assert_eq!(below(&memory, Path::new("/near")), [other.join("1-0")]);
    job.checkpoint(&mut hand, 5_010);
    assert_eq!(below(&memory, Path::new("/near")).len(), 1);
    job.check(hand, 5_010);
}

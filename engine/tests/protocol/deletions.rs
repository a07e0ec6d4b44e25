//! Older checkpoints are deleted beside everything else (CP-06, RT-01).

use crate::hand::{Hand, INTERVAL, env};
use crate::parts::Fed;
use millstream::connector::CollectSink;
use millstream_io::storage::fault::{Fault, FaultStorage, Op};
use millstream_io::storage::{MemoryStorage, Storage};
use std::path::Path;
use std::sync::Arc;

/// The names in a directory that begin so.
fn names(disk: &impl Storage, dir: &Path, prefix: &str) -> Vec<String> {
    let entries = disk.list(dir).unwrap();
    let names = entries.iter().filter_map(|entry| entry.name.to_str());
    names.filter(|name| name.starts_with(prefix)).map(str::to_owned).collect()
}

/// RT-01: an old checkpoint of which the directory could not be removed, or that somebody removed, is in no restart's way, and
/// goes with the next deletion.
#[test]
fn rt_01_an_old_checkpoint_that_is_half_gone_is_in_no_restarts_way() {
    for by_hand in [false, true] {
        let (disk, source) = (FaultStorage::new(Arc::new(MemoryStorage::new())), Fed::new(10));
        let env = env();
        env.configure(|settings| settings.checkpointing.num_retained = if by_hand { 2 } else { 1 });
        env.source(source.clone()).name("in").sink(CollectSink::new());
        let mut hand = Hand::begin(&env, &disk);
        hand.checkpoint();
        if !by_hand {
            disk.fail_every(Op::RemoveDir, Some(Fault::Before(1)));
        }
        hand.checkpoint();
        disk.fail_every(Op::RemoveDir, None);
        let newest = hand.control.metrics().last_checkpoint.unwrap().path;
        let job = newest.parent().unwrap().to_owned();
        let metadata = job.join("chk-1/_metadata");
        if by_hand {
            disk.remove(&metadata).unwrap();
        }
        assert_eq!(names(&disk, &job, "chk-"), ["chk-1", "chk-2"]);
        assert!(disk.stat(&metadata).is_err(), "its content is gone");
        hand.fail("in");
        hand.finish_restart();
        hand.checkpoint();
        hand.checkpoint();
        hand.settle();
        let left: &[&str] = if by_hand { &["chk-3", "chk-4"] } else { &["chk-4"] };
        assert_eq!(names(&disk, &job, "chk-"), left);
    }
}

/// MS-069: what an attempt that failed wrote into `shared/`, and no checkpoint names, is gone when the next one begins: a
/// disk on which nothing can be completed does not fill up with it.
#[test]
fn ms_069_files_of_an_attempt_that_failed_are_gone_when_the_next_one_begins() {
    let (disk, source) = (MemoryStorage::new(), Fed::new(10));
    let env = env();
    env.source(source.clone()).name("in").sink(CollectSink::new());
    let mut hand = Hand::begin(&env, &disk);
    hand.checkpoint();
    let newest = hand.control.metrics().last_checkpoint.unwrap().path;
    let shared = newest.parent().unwrap().join("shared");
    disk.create_dir_all(&shared).unwrap();
    // Of a checkpoint that failed, of a merge that was not used, of an earlier line, and somebody's.
    for name in ["1-2-0-0", "1-next-0-0m1", "0-9-0-0", "notes"] {
        disk.create(&shared.join(name)).unwrap();
    }
    hand.fail("in");
    hand.finish_restart();
    assert_eq!(names(&disk, &shared, ""), ["0-9-0-0", "notes"]);
}

/// CP-06: old checkpoints are deleted beside everything else. A storage that is slow with it does not hold up the next
/// checkpoint, from its beginning to its end.
#[test]
fn cp_06_a_slow_deletion_holds_up_nobody() {
    let (disk, source) = (FaultStorage::new(Arc::new(MemoryStorage::new())), Fed::new(10));
    let env = env();
    env.source(source.clone()).name("in").sink(CollectSink::new());
    let mut hand = Hand::begin(&env, &disk);
    hand.checkpoint();
    hand.trigger();
    hand.run_all();
    for _ in 0..2 {
        hand.work_on(0);
        hand.turn();
    }
    assert_eq!((hand.completed().map(|id| id.0), hand.waiting()), (Some(2), 1), "the deletion of the first");
    disk.record();
    disk.hold(Op::RemoveDir);
    let deletion = hand.work_aside();
    while !disk.log().iter().any(|(_, op, _)| *op == Op::RemoveDir) {
        std::thread::yield_now();
    }
    hand.trigger();
    hand.run_all();
    for _ in 0..2 {
        hand.work_on(0);
        hand.turn();
    }
    assert_eq!(hand.completed().map(|id| id.0), Some(3));
    disk.let_go(Op::RemoveDir);
    deletion.join().unwrap();
    hand.settle();
    let last = hand.control.metrics().last_checkpoint.unwrap().path;
    let left = disk.list(last.parent().unwrap()).unwrap();
    let mut left: Vec<_> = left.iter().filter_map(|entry| entry.name.to_str()).collect();
    left.retain(|name| name.starts_with("chk-"));
    assert_eq!(left, ["chk-3"]);
}

/// CP-06: no new checkpoint while more completed ones wait for the deletion of older ones than may be taken at a time, so
/// that a slow store is not filled without limit.
#[test]
fn cp_06_checkpoints_wait_for_a_store_that_deletes_slowly() {
    let source = Fed::new(10);
    let env = env();
    env.source(source.clone()).name("in").sink(CollectSink::new());
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    for deletions in 1..=2 {
        hand.trigger();
        hand.run_all();
        // The snapshot, then the metadata; what else waits is a deletion.
        for _ in 0..2 {
            assert_eq!(hand.waiting(), deletions);
            hand.work_on(deletions - 1);
            hand.turn();
        }
        hand.run_all();
    }
    // Both are owed, but one that waits for the other does not take a thread of the background for that.
    assert_eq!((hand.completed().map(|id| id.0), hand.waiting()), (Some(2), 1));
    let taken = |hand: &Hand| hand.control.metrics().checkpoints.counts().total;
    hand.pass(INTERVAL);
    assert_eq!(taken(&hand), 2, "two wait for their deletions, and one checkpoint may be taken at a time");
    hand.work_on(0);
    hand.turn();
    assert_eq!(taken(&hand), 3);
    hand.settle();
    assert_eq!(hand.completed().map(|id| id.0), Some(3));
}

/// RT-01: a job that is stopped leaves as many checkpoints as are to be retained, also when the deletion of older ones
/// waited for its turn in the background.
#[test]
fn rt_01_a_stop_leaves_as_many_checkpoints_as_are_retained() {
    let (disk, source, env) = (MemoryStorage::new(), Fed::new(10), env());
    env.source(source.clone()).name("in").sink(CollectSink::new());
    let mut hand = Hand::begin(&env, &disk);
    hand.checkpoint();
    hand.stop();
    // Of the background work only what comes before the end is done: the snapshot and its metadata.
    for _ in 0..2 {
        hand.run_all();
        assert_eq!(hand.waiting(), 1);
        hand.work_on(0);
        hand.turn();
    }
    hand.run_all();
    hand.turn();
    assert!(hand.is_over() && hand.waiting() == 1, "the deletion has not had its turn");
    let job = std::path::PathBuf::from("/ck").join(millstream::JobId::of("by hand").to_string());
    let left = disk.list(&job).unwrap();
    let left = left.iter().filter(|entry| entry.name.to_string_lossy().starts_with("chk-")).count();
    assert_eq!(left, 1);
}

//! Older checkpoints are deleted beside everything else (CP-06, RT-01).

use crate::hand::{Hand, INTERVAL, env};
use crate::parts::Fed;
use millstream::connector::CollectSink;
use millstream_io::storage::fault::{FaultStorage, Op};
use millstream_io::storage::{MemoryStorage, Storage};
use std::sync::Arc;

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

//! Ends of inputs: some before others (CP-28), and the last checkpoint (CP-31).

use crate::hand::{Hand, env};
use crate::parts::{Fed, Log, Logged};
use millstream::{Env, JobState};
use millstream_io::storage::MemoryStorage;
use millstream_io::storage::fault::{Fault, FaultStorage, Op};
use std::sync::Arc;

/// CP-28: checkpoints go on when one of two inputs has ended, and a restore does not read that one again.
#[test]
fn cp_28_an_input_that_has_ended_is_not_read_again_after_a_restore() {
    let disk = MemoryStorage::new();
    let (short, long, log) = (Fed::new(3), Fed::above(100, 10), Log::default());
    let (sink, seen) = Logged::new(&log);
    let job = || {
        let env = env();
        let stream = env.source(long.clone()).name("long").uid("long");
        env.source(short.clone()).name("short").uid("short").union(stream).sink(sink.clone()).uid("out");
        env
    };
    let mut hand = Hand::begin(&job(), &disk);
    short.end();
    long.allow(2);
    hand.settle();
    hand.checkpoint();
    hand.checkpoint();
    long.allow(4);
    hand.run_all();
    assert_eq!((short.opened(), long.opened()), ("[0]".into(), "[0]".into()));
    drop(hand);

    let mut hand = Hand::begin(&job(), &disk.kill_image());
    assert_eq!((short.opened(), long.opened()), (String::new(), "[2]".into()));
    hand.settle();
    hand.checkpoint();
    long.end();
    assert_eq!(hand.finish().unwrap().records_in, 13);
    let mut all = seen.take();
    all.sort_unstable();
    assert!(all.into_iter().eq((1..=3).chain(101..=110)));
}

fn failing(source: &Fed, sink: &Logged) -> Env {
    let env = env();
    env.source(source.clone()).name("in").uid("in").rebalance().sink(sink.clone()).uid("out");
    env
}

/// CP-31: the last checkpoint comes at once, not at the next tick; when it fails another one is taken, and everything
/// is committed once.
#[test]
fn cp_31_a_last_checkpoint_that_fails_is_taken_again_and_committed_once() {
    let disk = FaultStorage::new(Arc::new(MemoryStorage::new()));
    let (source, log) = (Fed::new(3), Log::default());
    let (sink, seen) = Logged::new(&log);
    let mut hand = Hand::begin(&failing(&source, &sink), &disk);
    const EIO: i32 = 5;
    disk.fail_every(Op::Publish, Some(Fault::Before(EIO)));
    source.end();
    hand.settle();
    assert_eq!(log.take(), "sink:1 sink:2 sink:3 sink:pre-commit-1 sink:aborted-1", "at once");
    assert!(seen.is_empty());
    disk.fail_every(Op::Publish, None);
    let summary = hand.finish().unwrap();
    assert_eq!((summary.checkpoints_failed, summary.checkpoints_completed, summary.restarts), (1, 1, 0));
    assert_eq!(log.take(), "sink:pre-commit-2 sink:commit-2");
    assert_eq!(seen.take(), [1, 2, 3]);
}

/// Ruling 4: a stop takes a last checkpoint. Nothing passes behind its barrier, everything before it is committed, and
/// the next start goes on from there.
#[test]
fn ruling_04_nothing_passes_behind_the_last_barrier() {
    let disk = MemoryStorage::new();
    let (source, log) = (Fed::new(9), Log::default());
    let (sink, seen) = Logged::new(&log);
    let mut hand = Hand::begin(&failing(&source, &sink), &disk);
    source.allow(3);
    hand.run("in");
    hand.control.stop().unwrap();
    hand.turn();
    source.allow(6);
    hand.run_all();
    assert_eq!(log.take(), "sink:1 sink:2 sink:3 sink:pre-commit-1");
    let summary = hand.finish().unwrap();
    assert_eq!((summary.state, summary.records_in, seen.take()), (JobState::Stopped, 3, vec![1, 2, 3]));
    assert_eq!(log.take(), "sink:commit-1");

    source.end();
    let hand = Hand::begin(&failing(&source, &sink), &disk.kill_image());
    assert_eq!(source.opened(), "[0] [3]");
    assert_eq!(hand.finish().unwrap().records_in, 9);
    assert_eq!(seen.take(), [4, 5, 6, 7, 8, 9]);
}

//! Ends of inputs: some before others (CP-28), and the last checkpoint (CP-31).

use crate::hand::{Hand, env};
use crate::jobs::{Pass, joined};
use crate::parts::{Fed, Log, Logged};
use millstream::JobState;
use millstream::config::ByteSize;
use millstream_io::storage::fault::{Fault, FaultStorage, Op};
use millstream_io::storage::{MemoryStorage, Storage};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// CP-28: checkpoints go on when one of two inputs has ended, and a restore does not read that one again.
#[test]
fn cp_28_an_input_that_has_ended_is_not_read_again_after_a_restore() {
    let disk = MemoryStorage::new();
    let (short, long, log) = (Fed::new(3), Fed::above(100, 10), Log::default());
    let (sink, seen) = Logged::new(&log);
    let job = || {
        let env = env();
        joined(&env, ("short", &short), ("long", &long)).sink(sink.clone()).uid("out");
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

/// CP-31: the last checkpoint comes at once, not at the next tick; when it fails another one is taken, and everything
/// is committed once.
#[test]
fn cp_31_a_last_checkpoint_that_fails_is_taken_again_and_committed_once() {
    let disk = FaultStorage::new(Arc::new(MemoryStorage::new()));
    let job = Pass::new(3);
    let mut hand = Hand::begin(&job.env(), &disk);
    const EIO: i32 = 5;
    disk.fail_every(Op::Publish, Some(Fault::Before(EIO)));
    job.source.end();
    hand.settle();
    assert_eq!(job.log.take(), "sink:1 sink:2 sink:3 sink:pre-commit-1 sink:aborted-1", "at once");
    assert!(job.seen.is_empty());
    disk.fail_every(Op::Publish, None);
    let summary = hand.finish().unwrap();
    assert_eq!((summary.checkpoints_failed, summary.checkpoints_completed, summary.restarts), (1, 1, 0));
    assert_eq!(job.log.take(), "sink:pre-commit-2 sink:commit-2");
    assert_eq!(job.seen.take(), [1, 2, 3]);
}

/// Ruling 4: a stop takes a last checkpoint. Nothing passes behind its barrier, everything before it is committed, and
/// the next start goes on from there.
#[test]
fn ruling_04_nothing_passes_behind_the_last_barrier() {
    let disk = MemoryStorage::new();
    let job = Pass::new(9);
    let mut hand = Hand::begin(&job.env(), &disk);
    job.source.allow(3);
    hand.run("in");
    hand.stop();
    job.source.allow(6);
    hand.run_all();
    assert_eq!(job.log.take(), "sink:1 sink:2 sink:3 sink:pre-commit-1");
    let summary = hand.finish().unwrap();
    assert_eq!((summary.state, summary.records_in, job.seen.take()), (JobState::Stopped, 3, vec![1, 2, 3]));
    assert_eq!(job.log.take(), "sink:commit-1");

    job.source.end();
    let hand = Hand::begin(&job.env(), &disk.kill_image());
    assert_eq!(job.source.opened(), "[0] [3]");
    assert_eq!(hand.finish().unwrap().records_in, 9);
    assert_eq!(job.seen.take(), [4, 5, 6, 7, 8, 9]);
}

/// CP-31: a subtask comes to its end while a checkpoint is pending, and is triggered once more, by itself. What others
/// have written for that checkpoint stays.
#[test]
fn cp_31_a_second_trigger_keeps_what_was_written_after_the_first() {
    let (disk, job) = (MemoryStorage::new(), Pass::new(5));
    let env = job.env();
    env.configure(|settings| settings.checkpointing.data_inline_threshold = ByteSize(1));
    let mut hand = Hand::begin(&env, &disk);
    job.source.allow(3);
    hand.run("in");
    hand.trigger();
    hand.run("in");
    hand.work();
    hand.turn();
    job.source.end();
    hand.run("in");
    hand.run("rebalance");
    // The end of the sink is known before its snapshot is written.
    hand.turn();
    hand.settle();
    assert_eq!((hand.failed(), hand.completed().is_some()), (0, true));
    hand.finish().unwrap();
    assert_eq!(job.seen.take(), [1, 2, 3, 4, 5]);
}

/// CP-21, MS-004: the attempt fails while a checkpoint is being stored. Whether that becomes durable is waited for, and
/// then it is what the next attempt goes on from.
#[test]
fn cp_21_a_restart_waits_for_the_checkpoint_that_is_being_stored() {
    let job = Pass::new(5);
    let mut hand = Hand::begin(&job.env(), &MemoryStorage::new());
    job.source.allow(3);
    hand.run("in");
    hand.trigger();
    hand.acknowledge();
    assert_eq!(hand.waiting(), 1, "the metadata");
    hand.fail("in");
    hand.pass(Duration::from_secs(100));
    assert_eq!(
        (hand.names(), job.source.opened()),
        (vec![], "[0]".into()),
        "the restart is due, and does not come"
    );
    hand.work();
    hand.turn();
    hand.settle();
    assert_eq!(job.source.opened(), "[3]");
    job.source.end();
    assert_eq!(hand.finish().unwrap().restarts, 1);
    assert_eq!(job.seen.take(), [1, 2, 3, 4, 5]);
}

/// CP-13, MS-020: a fresh start in a directory with checkpoints: its ids go on above all that are there, also that of an
/// attempt that was never completed, and those that are there stay.
#[test]
fn cp_13_a_fresh_start_goes_on_above_all_ids() {
    let disk = MemoryStorage::new();
    let job = Pass::new(5);
    let mut hand = Hand::begin(&job.env(), &disk);
    hand.checkpoint();
    hand.trigger();
    hand.run_all();
    hand.work();
    drop(hand);
    let disk = disk.kill_image();
    let env = job.env();
    env.configure(|settings| settings.recovery.fresh = true);
    let mut hand = Hand::begin(&env, &disk);
    assert_eq!(hand.start, "starting without state (--fresh)");
    assert_eq!(hand.checkpoint().0, 3);
    drop(hand);
    let job = disk.list(Path::new("/ck")).unwrap().into_iter().next().unwrap();
    assert!(disk.stat(&Path::new("/ck").join(job.name).join("chk-1/_metadata")).is_ok());
}

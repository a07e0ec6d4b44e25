//! CP-16: a checkpoint is aborted while a subtask is in each phase of it. Here it expires.

use crate::hand::{Hand, INTERVAL, env};
use crate::jobs::{Pass, counted, joined};
use crate::parts::{Fed, Log, Logged, Watch};
use millstream::Env;
use millstream::connector::CollectSink;
use millstream_io::storage::{MemoryStorage, Storage};
use std::path::Path;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(2);

fn expiring() -> Env {
    let env = env();
    env.configure(|settings| settings.checkpointing.timeout = TIMEOUT);
    env
}

/// Files and directories of a checkpoint.
fn left(disk: &MemoryStorage, id: u64) -> Vec<String> {
    let job = disk.list(Path::new("/ck")).unwrap().into_iter().next().unwrap();
    let dir = Path::new("/ck").join(job.name).join(format!("chk-{id}"));
    let Ok(entries) = disk.list(&dir) else { return Vec::new() };
    let names = entries.into_iter().map(|entry| entry.name.to_string_lossy().into_owned());
    std::iter::once("chk".to_owned()).chain(names).collect()
}

/// The subtask has not seen the barrier: when it comes there is no snapshot, and the next subtask is told not to wait.
#[test]
fn cp_16_not_seen_there_is_no_snapshot_and_downstream_does_not_wait() {
    let (disk, source, log) = (MemoryStorage::new(), Fed::new(9), Log::default());
    let (other, (sink, _)) = (Fed::above(100, 9), Logged::new(&log));
    let env = expiring();
    let upper =
        env.source(source.clone()).name("in").rebalance().name("middle").apply(Watch::new("op", &log));
    upper.union(env.source(other.clone()).name("other")).sink(sink);
    let mut hand = Hand::begin(&env, &disk);
    hand.trigger();
    source.allow(1);
    hand.run("in");
    // The other way round the barrier is there, and what follows it waits.
    other.allow(1);
    hand.run("other");
    hand.run("union");
    assert_eq!(log.take(), "");
    hand.pass(TIMEOUT);
    hand.run("middle");
    assert_eq!(log.take(), "op:1", "a late barrier, and no snapshot");
    hand.run("union");
    assert_eq!(log.take(), "sink:aborted-1 sink:101 sink:1");
    hand.settle();
    assert_eq!(left(&disk, 1), Vec::<String>::new());
    assert_eq!(hand.checkpoint().0, 2);
    assert_eq!(log.take(), "op:snapshot=1 sink:pre-commit-2 sink:commit-2");
}

/// The same where the abort message itself is slow: the cancel marker ends the wait.
#[test]
fn cp_16_a_cancel_marker_ends_the_wait_downstream() {
    let (disk, source, log) = (MemoryStorage::new(), Fed::new(9), Log::default());
    let (feed, (sink, _)) = (Fed::above(100, 9), Logged::new(&log));
    let env = expiring();
    env.configure(|settings| settings.checkpointing.max_concurrent = 1);
    let upper =
        env.source(source.clone()).name("in").rebalance().name("middle").apply(Watch::new("op", &log));
    upper.union(env.source(feed.clone()).name("other")).sink(sink);
    let mut hand = Hand::begin(&env, &disk);
    hand.trigger();
    hand.run("in");
    hand.pass(TIMEOUT);
    // The abort is in every mailbox; only the one in the middle looks, then the other source injects what it was told
    // first.
    hand.run("middle");
    hand.run("other");
    hand.run("union");
    assert_eq!(log.take(), "sink:aborted-1");
    assert_eq!(hand.checkpoint().0, 2);
}

/// Some barriers have come: what was held is processed at once, the late barrier holds nobody, and the next checkpoint
/// aligns as ever.
#[test]
fn cp_16_aligning_what_was_held_goes_on_at_once() {
    let (disk, log) = (MemoryStorage::new(), Log::default());
    let (fast, slow, (sink, _)) = (Fed::new(9), Fed::above(100, 9), Logged::new(&log));
    let env = expiring();
    joined(&env, ("fast", &fast), ("slow", &slow)).sink(sink);
    let mut hand = Hand::begin(&env, &disk);
    hand.trigger();
    fast.allow(2);
    hand.run("fast");
    hand.run("union");
    assert_eq!(log.take(), "");
    hand.pass(TIMEOUT);
    hand.run("union");
    assert_eq!(log.take(), "sink:aborted-1 sink:1 sink:2");
    slow.allow(1);
    hand.run("slow");
    fast.allow(3);
    hand.run("fast");
    hand.run("union");
    assert_eq!(log.take(), "sink:3 sink:101", "no snapshot, and nothing held");
    hand.settle();
    assert_eq!((hand.failed(), left(&disk, 1)), (1, Vec::new()));
    assert_eq!(hand.checkpoint().0, 2);
    assert_eq!(log.take(), "sink:pre-commit-2 sink:commit-2");
}

/// The state is being encoded: that stops, nothing is written, and the next snapshot has everything.
#[test]
fn cp_16_encoding_stops_and_nothing_is_written() {
    let (disk, source) = (MemoryStorage::new(), Fed::new(40_000));
    let job = |sink| {
        let env = expiring();
        counted(&env, &source, 20_000).sink(sink).uid("out");
        env
    };
    let mut hand = Hand::begin(&job(CollectSink::new()), &disk);
    source.allow(20_000);
    hand.run_all();
    hand.trigger();
    hand.run("in");
    let begun = hand.waiting();
    // The barrier, and a part of 320 KB.
    hand.step("process");
    source.allow(20_100);
    hand.run("in");
    hand.step("process");
    assert_eq!(hand.waiting(), begun, "not handed over yet");
    hand.pass(TIMEOUT);
    hand.run_all();
    assert_eq!(hand.waiting(), begun + 1, "only what removes the checkpoint");
    hand.settle();
    assert_eq!((hand.failed(), left(&disk, 1)), (1, Vec::new()));
    assert_eq!(hand.checkpoint().0, 2);
    drop(hand);

    let sink = CollectSink::new();
    let seen = sink.collected();
    let hand = Hand::begin(&job(sink), &disk.kill_image());
    source.end();
    hand.finish().unwrap();
    let mut rows = seen.take();
    rows.sort_unstable();
    assert!(rows.into_iter().eq((0..20_000).map(|key| (key, 2))));
}

/// A job whose snapshots all go to files; five records are behind the source, and a checkpoint is triggered.
fn triggered(job: &Pass, disk: &MemoryStorage) -> Hand {
    let env = job.env();
    env.configure(|settings| {
        settings.checkpointing.timeout = TIMEOUT;
        settings.checkpointing.data_inline_threshold = millstream::config::ByteSize(1);
    });
    let mut hand = Hand::begin(&env, disk);
    job.source.allow(5);
    hand.run("in");
    hand.trigger();
    hand
}

/// The snapshot waits to be written: it is not, and nobody acknowledges.
#[test]
fn cp_16_what_waits_to_be_written_is_not() {
    let (disk, job) = (MemoryStorage::new(), Pass::new(9));
    let mut hand = triggered(&job, &disk);
    hand.run_all();
    hand.pass(TIMEOUT);
    hand.run_all();
    assert_eq!(job.log.take(), "sink:1 sink:2 sink:3 sink:4 sink:5 sink:pre-commit-1 sink:aborted-1");
    // Oldest first: what waits comes before the removal of its directory, and would be seen here.
    hand.work_on(0);
    hand.work_on(0);
    assert_eq!(left(&disk, 1), ["chk"]);
    hand.settle();
    let record = hand.control.metrics().checkpoints.history().next().cloned().unwrap();
    assert_eq!((record.acknowledged, left(&disk, 1)), (0, Vec::new()));
}

/// One subtask has acknowledged, another has not: what the first one wrote goes, with the directory.
#[test]
fn cp_16_acknowledged_files_go_too() {
    let (disk, job) = (MemoryStorage::new(), Pass::new(9));
    let mut hand = triggered(&job, &disk);
    hand.run("in");
    hand.work();
    hand.turn();
    assert_eq!(left(&disk, 1).len(), 2, "the source's file");
    hand.pass(TIMEOUT);
    hand.settle();
    // The barrier reaches the sink after the abort.
    assert_eq!(job.log.take(), "sink:aborted-1 sink:1 sink:2 sink:3 sink:4 sink:5");
    assert_eq!(left(&disk, 1), Vec::<String>::new());
    hand.pass(INTERVAL);
    hand.settle();
    assert_eq!(job.log.take(), "sink:pre-commit-2 sink:commit-2");
    assert_eq!(left(&disk, 2)[0], "chk");
}

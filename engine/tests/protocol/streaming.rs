//! Snapshots that are written while the state is still being encoded.

use crate::hand::{Hand, INTERVAL, env};
use crate::jobs::counted;
use crate::parts::Fed;
use millstream::config::{ByteSize, StateBackend};
use millstream::connector::CollectSink;
use millstream::runtime::Stepped;
use millstream::{CheckpointId, Env, JobState};
use millstream_io::clock::Clock;
use millstream_io::storage::fault::{Fault, FaultStorage, Op};
use millstream_io::storage::{MemoryStorage, Storage};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(2);

/// Bytes of a chunk; 64 of them may be on their way.
const CHUNK: u64 = 1 << 10;

/// Some 270 KB of pages.
const KEYS: u64 = 10_000;

/// Counts [`KEYS`] keys in pages, which are handed over in small chunks.
fn job(source: &Fed, sink: CollectSink<(u64, u64)>) -> Env {
    let env = env();
    env.configure(|settings| {
        settings.checkpointing.timeout = TIMEOUT;
        settings.pipeline.parallelism = 1;
        settings.state.backend = StateBackend::Paged;
        settings.state.paged_small_state = ByteSize(0);
        settings.state.paged_chunk_size = ByteSize(CHUNK);
    });
    counted(&env, source, KEYS).sink(sink).uid("out");
    env
}

/// Names and lengths of the shared files.
fn shared(disk: &MemoryStorage) -> Vec<(String, u64)> {
    let job = disk.list(Path::new("/ck")).unwrap().into_iter().next().unwrap();
    let dir = PathBuf::from("/ck").join(job.name).join("shared");
    let entries = disk.list(&dir).unwrap().into_iter();
    let file = |name: std::ffi::OsString| {
        let len = disk.stat(&dir.join(&name)).unwrap().len;
        (name.into_string().unwrap(), len)
    };
    let mut files: Vec<_> = entries.map(|entry| file(entry.name)).collect();
    files.sort();
    files
}

/// The job has each key once, and its first checkpoint is triggered: the barrier has passed, nothing was drained.
fn triggered(storage: &(impl Storage + Clone), source: &Fed) -> Hand {
    let mut hand = Hand::begin(&job(source, CollectSink::new()), storage);
    source.allow(KEYS);
    hand.run_all();
    hand.trigger();
    hand.run("in");
    hand.step("process");
    hand
}

/// Goes on from what is left, to the end: each key counts as often as it was read, up to `last`.
fn check(disk: &MemoryStorage, source: &Fed, last: u64) {
    let sink = CollectSink::new();
    let seen = sink.collected();
    let hand = Hand::begin(&job(source, sink), &disk.kill_image());
    source.end();
    hand.finish().unwrap();
    let mut rows = seen.take();
    rows.sort_unstable();
    // The numbers from 1 to the last one.
    let by_hand = (0..KEYS).map(|key| (key, last / KEYS + u64::from((1..=last % KEYS).contains(&key))));
    assert!(rows.into_iter().eq(by_hand));
}

/// CP-24: while half of the state is yet to be encoded, the other half is on the disk; no more is in memory between them
/// than is said; records go on meanwhile, and what they change is not in the snapshot.
#[test]
fn cp_24_a_snapshot_is_written_while_it_is_drained_and_no_more_waits_for_the_disk_than_is_said() {
    let (disk, source) = (MemoryStorage::new(), Fed::new(2 * KEYS));
    let mut hand = triggered(&disk, &source);
    let begun = hand.waiting();
    hand.run("process");
    assert_eq!(hand.waiting(), begun + 1, "one piece of work for all chunks");
    assert_eq!(hand.step("process"), Stepped::Idle(None), "waits for the disk, and is woken");
    assert_eq!(shared(&disk), []);
    hand.work();
    let [(name, first)] = &shared(&disk)[..] else { panic!("one file") };
    // A step goes beyond the bound by one segment at most.
    assert!(
        (64 * CHUNK - 2 * CHUNK..64 * CHUNK + (64 << 10) + CHUNK).contains(first),
        "{first} bytes of {name}"
    );
    source.allow(2 * KEYS - 1);
    hand.run("in");
    while hand.step("process") == Stepped::Worked {}
    hand.work();
    assert!(shared(&disk)[0].1 > *first, "more of the same file");
    hand.settle();
    assert_eq!(hand.completed().map(|id| id.0), Some(1));
    drop(hand);
    assert_eq!(shared(&disk).len(), 1);
    check(&disk, &source, 2 * KEYS);
}

/// The same with two checkpoints at a time, up to the trigger of the second one: the disk has taken nothing.
fn held_back(disk: &MemoryStorage, source: &Fed) -> (Hand, CheckpointId) {
    let env = job(source, CollectSink::new());
    env.configure(|settings| {
        settings.checkpointing.max_concurrent = 2;
        settings.checkpointing.timeout = 3 * INTERVAL;
    });
    let mut hand = Hand::begin(&env, disk);
    source.allow(KEYS);
    hand.run_all();
    hand.trigger();
    hand.run_all();
    let id = hand.trigger();
    source.allow(KEYS + 5);
    (hand, id)
}

/// How many subtasks have acknowledged a checkpoint, and the longest time that one of them took before it went on.
fn answered(hand: &Hand, id: CheckpointId) -> (usize, Duration) {
    let checkpoints = hand.control.metrics().checkpoints;
    let record = checkpoints.history().find(|record| record.id == id).cloned().unwrap();
    (record.acknowledged, record.metrics.sync)
}

/// Ruling 13: a barrier that comes during a drain finishes that first, as the disk takes it: no more waits for the disk than is
/// said, and no record goes by. How long that took is said.
#[test]
fn ruling_13_a_barrier_during_a_drain_waits_until_what_is_left_of_it_fits() {
    let (disk, source) = (MemoryStorage::new(), Fed::new(2 * KEYS));
    let (mut hand, second) = held_back(&disk, &source);
    hand.run_all();
    assert_eq!(hand.step("process"), Stepped::Idle(None), "it is woken when the disk has taken something");
    assert_eq!(shared(&disk), []);
    let begun = hand.clock.now();
    hand.clock.advance(INTERVAL / 4);
    // One piece after the other, and what each of them gives room for.
    let (mut largest, mut before) = (0, 0);
    while answered(&hand, second).0 < 2 {
        hand.work();
        let written = shared(&disk).iter().map(|(_, len)| len).sum();
        largest = largest.max(written - before);
        before = written;
        hand.turn();
        hand.run_all();
    }
    assert!(largest < 64 * CHUNK + (64 << 10) + CHUNK, "{largest} bytes at once");
    assert_eq!(answered(&hand, second).1, hand.clock.now() - begun);
    hand.settle();
    assert_eq!(hand.completed(), Some(second));
    drop(hand);
    check(&disk, &source, 2 * KEYS);
}

/// CP-16: a barrier that waits and whose checkpoint is aborted does not pass, and the job goes on.
#[test]
fn ruling_13_a_barrier_that_waits_goes_with_its_checkpoint() {
    let (disk, source) = (MemoryStorage::new(), Fed::new(2 * KEYS));
    let (mut hand, second) = held_back(&disk, &source);
    hand.run_all();
    hand.clock.advance(3 * INTERVAL);
    hand.turn();
    hand.settle();
    assert_eq!(hand.failed(), 2);
    let id = hand.checkpoint();
    assert!(id > second);
    drop(hand);
    check(&disk, &source, 2 * KEYS);
}

/// Ruling 14, CP-16: what was encoded of it is written to the end, and a link of the chain, and the next one has the rest; the
/// checkpoint's directory goes at once, and nobody acknowledges.
#[test]
fn be_04_a_snapshot_that_is_aborted_while_it_is_written_stays_a_link_of_the_chain() {
    let (disk, source) = (MemoryStorage::new(), Fed::new(2 * KEYS));
    let mut hand = triggered(&disk, &source);
    hand.run("process");
    hand.work();
    let partly = shared(&disk)[0].1;
    source.allow(KEYS + 100);
    hand.pass(TIMEOUT);
    hand.settle();
    let [(name, aborted)] = &shared(&disk)[..] else { panic!("one file") };
    assert!(name.starts_with("1-1-") && (partly..=partly + 4 * CHUNK).contains(aborted), "{name}: {aborted}");
    let counts = hand.control.metrics().checkpoints.history().next().cloned().unwrap();
    assert_eq!((hand.failed(), hand.completed()), (1, None));
    assert!(counts.acknowledged < 3, "the state's subtask does not acknowledge");
    // The next one has what was not encoded, and changes.
    source.allow(KEYS + 200);
    hand.run_all();
    assert_eq!(hand.checkpoint().0, 2);
    let files = shared(&disk);
    assert_eq!(files[0], (name.clone(), *aborted));
    let [_, (_, rest), (_, all)] = &files[..] else {
        panic!("two, and what they are merged into: {files:?}")
    };
    assert!(*aborted < all / 2 && (*all..all + all / 20).contains(&(aborted + rest)), "{files:?}");
    drop(hand);
    check(&disk, &source, 2 * KEYS);
}

/// MS-069: the disk is full in the middle of it: no torn file is left, the checkpoint is declined, and the next one has everything.
#[test]
fn be_04_a_snapshot_that_cannot_be_written_while_it_is_drained_leaves_nothing_and_the_next_is_full() {
    for fault in [Fault::Before(28), Fault::Short(100, 28), Fault::After(5)] {
        let (disk, source) = (MemoryStorage::new(), Fed::new(2 * KEYS));
        let storage = FaultStorage::new(Arc::new(disk.clone()));
        let mut hand = triggered(&storage, &source);
        hand.run("process");
        storage.fail_nth(
            Op::Append,
            storage.coverage().iter().find(|(op, _)| *op == Op::Append).map_or(0, |(_, n)| *n) + 5,
            fault,
        );
        hand.work();
        assert_eq!(shared(&disk), [], "at once, while the state is still being drained");
        hand.settle();
        assert_eq!((hand.failed(), hand.completed()), (1, None));
        assert_eq!(shared(&disk), []);
        source.allow(KEYS + 10);
        hand.run_all();
        assert_eq!(hand.checkpoint().0, 2);
        let [(_, len)] = &shared(&disk)[..] else { panic!("one file") };
        assert!(*len > KEYS * 16, "everything");
        drop(hand);
        check(&disk, &source, 2 * KEYS);
    }
}

/// MS-070.
#[test]
fn ms_070_a_panic_while_a_chunk_is_written_ends_the_attempt_and_leaves_nothing() {
    let (disk, source) = (MemoryStorage::new(), Fed::new(KEYS));
    let storage = FaultStorage::new(Arc::new(disk.clone()));
    let mut hand = triggered(&storage, &source);
    hand.run("process");
    storage.fail_every(Op::Append, Some(Fault::Panic));
    hand.work();
    storage.fail_every(Op::Append, None);
    hand.turn();
    assert_eq!(hand.control.metrics().restarts, 1);
    assert_eq!(hand.control.metrics().state, JobState::Restarting);
    assert_eq!(shared(&disk), []);
}

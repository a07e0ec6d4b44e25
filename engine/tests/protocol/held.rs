//! Data of channels that wait for a barrier (BR-04 in Millstream's form: it stands aside, and its sender goes on).

use crate::hand::{Hand, env};
use crate::jobs::joined;
use crate::parts::{Fed, Log, Logged, Watch};
use millstream::checkpoint::{CheckpointFailure, CheckpointStatus};
use millstream::config::ByteSize;
use millstream::runtime::Stepped;
use millstream::{Env, JobState};
use millstream_io::scratch::MemoryScratch;
use millstream_io::storage::MemoryStorage;
use std::sync::Arc;
use std::time::Duration;

/// Two sources into one subtask, over rings of segments of 1 KiB each, and at most 64 KiB held back in memory, none in
/// files.
fn uneven(
    log: &Log,
    ring_segments: u32,
    slow: u64,
) -> (Env, Fed, Fed, millstream::connector::Collected<u64>) {
    let (fast, slow) = (Fed::new(100_000), Fed::above(1_000_000, slow));
    let (sink, seen) = Logged::new(&Log::default());
    let env = env();
    env.configure(|settings| {
        settings.exchange.segment_size = ByteSize(1024);
        settings.exchange.ring_segments = ring_segments;
        settings.checkpointing.alignment_memory = ByteSize::kb(64);
        settings.checkpointing.alignment_max_spill = ByteSize(0);
    });
    joined(&env, ("fast", &fast), ("slow", &slow)).apply(Watch::new("op", log)).sink(sink);
    (env, fast, slow, seen)
}

/// So many steps of the fast source, and of the subtask behind it.
fn side_by_side(hand: &mut Hand, steps: usize) {
    for _ in 0..steps {
        hand.step("fast");
        hand.step("union");
    }
}

/// Why the newest checkpoint failed.
fn failure(hand: &mut Hand) -> CheckpointFailure {
    hand.turn();
    let metrics = hand.control.metrics();
    let record = metrics.checkpoints.history().next().unwrap();
    let CheckpointStatus::Failed(failure) = &record.status else { panic!("{record:?}") };
    failure.clone()
}

/// The newest checkpoint would hold one segment more than it may.
fn given_up(hand: &mut Hand, may: u64) {
    let given_up = CheckpointFailure::AlignmentLimit { held: may + 1024, limit: may };
    assert_eq!(failure(hand), given_up);
}

/// What was processed since the last look, of the fast source.
fn of_fast(log: &Log) -> Vec<String> {
    log.take().split(' ').filter(|what| what.len() < "op:1000000".len()).map(str::to_owned).collect()
}

fn numbers(of: impl Iterator<Item = u64>) -> Vec<String> {
    of.map(|n| format!("op:{n}")).collect()
}

/// The channel that has delivered its barrier is emptied all the same: its source sends ten times what its ring takes.
/// Nothing of it is processed before the snapshot, everything in order behind it, and the statistics say how much was
/// held.
#[test]
fn br_04_held_records_stand_aside_in_order_and_do_not_stop_their_sender() {
    let log = Log::default();
    let (env, fast, slow, seen) = uneven(&log, 4, 10);
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    hand.trigger();
    fast.allow(5_000);
    side_by_side(&mut hand, 1_000);
    assert_eq!(log.take(), "", "40 KB of records behind a barrier, and not one processed");
    slow.allow(2);
    hand.run("slow");
    hand.run("union");
    let processed = log.take();
    let rest = processed.strip_prefix("op:snapshot=0 ").expect("the snapshot comes first");
    // The slow source met the trigger before it emitted anything: its records are behind the barrier too.
    let (ours, theirs): (Vec<&str>, Vec<&str>) =
        rest.split(' ').partition(|what| what.len() < "op:1000000".len());
    assert!(
        ours.into_iter().eq((1..=5_000).map(|n| format!("op:{n}")).collect::<Vec<_>>()),
        "in order, none lost"
    );
    assert_eq!(theirs, ["op:1000001", "op:1000002"]);
    hand.settle();
    let record = hand.control.metrics().checkpoints.latest_completed().cloned().unwrap();
    assert!((40_000..64 << 10).contains(&record.metrics.held_bytes), "{record:?}");
    fast.end();
    slow.end();
    hand.finish().unwrap();
    assert_eq!(seen.len(), 100_010);
}

/// What is held back has a limit: beyond it the checkpoint is given up, which does not count against the job (ruling
/// 9), and everything that was held is processed in order. The next checkpoint is as good as any.
#[test]
fn br_04_more_than_the_limit_gives_the_checkpoint_up_and_loses_nothing() {
    let log = Log::default();
    let (env, fast, slow, seen) = uneven(&log, 4, 10);
    env.configure(|settings| settings.checkpointing.tolerable_failed = 0);
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    hand.trigger();
    fast.allow(20_000);
    side_by_side(&mut hand, 1_000);
    assert_eq!(of_fast(&log), numbers(1..=20_000));
    given_up(&mut hand, 64 << 10);
    let metrics = hand.control.metrics();
    assert_eq!((metrics.state, metrics.restarts), (JobState::Running, 0));
    // The barrier of the slow source comes too late, and makes nobody wait.
    hand.settle();
    assert_eq!(log.take(), "");
    assert_eq!(hand.checkpoint().0, 2);
    assert_eq!(log.take(), "op:snapshot=20000");
    fast.end();
    slow.end();
    hand.finish().unwrap();
    assert_eq!(seen.len(), 100_010);
}

/// The limit holds also while a channel that is not held always has something: it is looked at after each of its
/// segments.
#[test]
fn br_04_the_limit_is_kept_beside_a_busy_channel() {
    let log = Log::default();
    let (env, fast, slow, _) = uneven(&log, 64, 100_000);
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    slow.allow(8_000);
    hand.run("slow");
    hand.trigger();
    fast.allow(100_000);
    side_by_side(&mut hand, 60);
    given_up(&mut hand, 64 << 10);
}

/// How many steps the fast source needs for the records up to `n`, while the subtask behind it takes its own.
fn steps_to(hand: &mut Hand, fast: &Fed, n: u64) -> usize {
    fast.allow(n);
    let mut steps = 0;
    // The subtask behind it has a step more, so that its ring has room.
    while hand.step("fast") == Stepped::Worked {
        hand.step("union");
        hand.step("union");
        steps += 1;
    }
    steps
}

/// One channel is blocked for ten seconds, and the source of the other one goes on as fast as before: what does not fit
/// into 64 KiB of memory goes into files. By hand: 80,000 bytes a second, of which all are held.
#[test]
fn br_04_a_channel_blocked_for_ten_seconds_does_not_slow_the_others_down() {
    let log = Log::default();
    let (env, fast, slow, seen) = uneven(&log, 4, 10);
    env.configure(|settings| settings.checkpointing.alignment_max_spill = ByteSize::mb(1));
    let scratch = Arc::new(MemoryScratch::with_memory(0));
    let mut hand = Hand::begin_in(&env, &MemoryStorage::new(), &scratch);
    let free = steps_to(&mut hand, &fast, 10_000);
    hand.run("union");
    assert_eq!(of_fast(&log).len(), 10_000);
    assert_eq!(scratch.asked(), 0);
    hand.trigger();
    for second in 1..10 {
        // One more is that of the barrier.
        assert!(steps_to(&mut hand, &fast, 10_000 * (second + 1)) <= free + 1);
        hand.clock.advance(Duration::from_secs(1));
    }
    assert_eq!(log.take(), "", "nothing behind the barrier is processed");
    assert_eq!(scratch.asked(), 1);
    // The source takes no step any more: all that is processed now had left it before.
    hand.run("slow");
    hand.run("union");
    assert_eq!(of_fast(&log), numbers(10_001..=100_000));
    hand.settle();
    // Another one was due meanwhile.
    let metrics = hand.control.metrics().checkpoints.history().last().unwrap().metrics;
    assert_eq!(metrics.alignment, Duration::from_secs(9));
    assert_eq!((metrics.held_bytes, metrics.spilled_bytes), (720_000, 720_000 - (64 << 10)));
    fast.end();
    slow.end();
    hand.finish().unwrap();
    assert_eq!(seen.len(), 100_010);
}

/// Files have a limit, too: beyond it the checkpoint is given up, as with memory alone, and nothing is lost.
#[test]
fn br_04_more_than_the_files_may_have_gives_the_checkpoint_up_and_loses_nothing() {
    let log = Log::default();
    let (env, fast, slow, seen) = uneven(&log, 4, 10);
    env.configure(|settings| {
        settings.checkpointing.tolerable_failed = 0;
        settings.checkpointing.alignment_max_spill = ByteSize::kb(256);
    });
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    hand.trigger();
    fast.allow(100_000);
    side_by_side(&mut hand, 1_000);
    assert_eq!(of_fast(&log), numbers(1..=100_000));
    given_up(&mut hand, 320 << 10);
    hand.settle();
    assert_eq!(hand.checkpoint().0, 2);
    assert_eq!((hand.control.metrics().state, hand.control.metrics().restarts), (JobState::Running, 0));
    fast.end();
    slow.end();
    hand.finish().unwrap();
    assert_eq!(seen.len(), 100_010);
}

/// A full disk: the checkpoint fails with the path and the cause, and what was held back, the segment that found no room
/// among it, is processed in order.
#[test]
fn br_04_a_full_disk_fails_the_checkpoint_and_loses_nothing() {
    let log = Log::default();
    let (env, fast, slow, seen) = uneven(&log, 4, 10);
    env.configure(|settings| settings.checkpointing.alignment_max_spill = ByteSize::gb(1));
    let scratch = Arc::new(MemoryScratch::with_memory(0));
    scratch.full_at(0);
    let mut hand = Hand::begin_in(&env, &MemoryStorage::new(), &scratch);
    hand.trigger();
    fast.allow(50_000);
    side_by_side(&mut hand, 1_000);
    assert_eq!(of_fast(&log), numbers(1..=50_000));
    let failure = failure(&mut hand);
    assert!(matches!(failure, CheckpointFailure::Spill { .. }) && failure.counts(), "{failure:?}");
    let told = failure.to_string();
    assert!(told.contains("allocate scratch/0: No space left on device"), "{told}");
    assert!(told.contains("task.local-dir"), "{told}");
    // With room again the next one is as good as any.
    hand.settle();
    assert_eq!(hand.checkpoint().0, 2);
    fast.end();
    slow.end();
    hand.finish().unwrap();
    assert_eq!((seen.len(), scratch.refused()), (100_010, 1));
}

/// What is processed while a barrier is waited for: two records of 8 bytes of the other channel.
#[test]
fn the_statistics_say_how_much_was_processed_during_the_alignment() {
    let log = Log::default();
    let (env, fast, slow, _) = uneven(&log, 4, 10);
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    // Before the first barrier: not counted.
    slow.allow(3);
    hand.run("slow");
    hand.run("union");
    slow.allow(5);
    hand.run("slow");
    hand.trigger();
    hand.run("fast");
    hand.run("union");
    assert_eq!(log.take().split(' ').count(), 5);
    fast.allow(100);
    hand.settle();
    let record = hand.control.metrics().checkpoints.latest_completed().cloned().unwrap();
    assert_eq!((record.metrics.processed_bytes, record.metrics.persisted_bytes), (16, 0), "{record:?}");
}

//! Data of channels that wait for a barrier (BR-04 in Millstream's form: it stands aside, and its sender goes on).

use crate::hand::{Hand, env};
use crate::jobs::joined;
use crate::parts::{Fed, Log, Logged, Watch};
use millstream::checkpoint::{CheckpointFailure, CheckpointStatus};
use millstream::config::ByteSize;
use millstream::{Env, JobState};
use millstream_io::storage::MemoryStorage;

/// Two sources into one subtask, over rings of segments of 1 KiB each, and at most 64 KiB held back.
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

/// The newest checkpoint holds more than it may, and has been looked at after at most eight segments.
fn given_up(hand: &mut Hand) {
    hand.turn();
    let metrics = hand.control.metrics();
    let record = metrics.checkpoints.history().next().unwrap();
    let CheckpointStatus::Failed(CheckpointFailure::AlignmentLimit { held, limit }) = &record.status else {
        panic!("{record:?}")
    };
    assert!(*limit == 64 << 10 && *held > *limit && *held <= *limit + 9 * 1024, "{held} of {limit}");
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
    assert!(log.take().split(' ').eq((1..=20_000).map(|n| format!("op:{n}")).collect::<Vec<_>>()));
    given_up(&mut hand);
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
    given_up(&mut hand);
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

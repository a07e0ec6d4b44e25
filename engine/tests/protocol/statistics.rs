//! What the statistics say of a checkpoint whose every delay is known (REST-01).

use crate::hand::{Hand, env};
use crate::jobs::joined;
use crate::parts::{Fed, Log, Logged, Watch};
use millstream::JobState;
use millstream::checkpoint::{AckMetrics, CheckpointRecord, CheckpointStatus};
use millstream::config::{ByteSize, CheckpointStorage};
use millstream::connector::CollectSink;
use millstream_io::storage::MemoryStorage;
use std::time::Duration;

const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Two sources, of which the second meets the trigger two seconds behind the first one, and a subtask that takes four
/// seconds to look at its barrier.
fn uneven() -> Hand {
    let (first, second) = (Fed::new(10), Fed::above(100, 10));
    let (sink, _) = Logged::new(&Log::default());
    let env = env();
    joined(&env, ("first", &first), ("second", &second)).apply(Watch::new("op", &Log::default())).sink(sink);
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    hand.trigger();
    hand.pass(seconds(1));
    hand.run("first");
    hand.run("union");
    hand.pass(seconds(2));
    hand.run("second");
    hand.pass(seconds(4));
    hand.run("union");
    hand
}

fn newest(hand: &Hand) -> CheckpointRecord {
    hand.control.metrics().checkpoints.history().next().cloned().expect("one was triggered")
}

fn measured(record: &CheckpointRecord, subtask: usize) -> AckMetrics {
    record.parts[subtask].ack.expect("acknowledged").1
}

/// By hand: triggered at 0, the barrier leaves the first source at 1 s and the second one at 3 s, the subtask behind them
/// takes its snapshot at 7 s, and all snapshots are written at 15 s.
#[test]
fn rest_01_every_delay_is_told_where_it_was() {
    let mut hand = uneven();
    hand.pass(seconds(8));
    // The next one was due meanwhile, and supersedes it.
    hand.settle();
    let statistics = hand.control.metrics().checkpoints;
    let [second, record] = &statistics.history().collect::<Vec<_>>()[..] else { panic!("two") };
    assert_eq!((second.duration, second.discarded), (Duration::ZERO, false));
    assert_eq!((record.status.clone(), record.duration), (CheckpointStatus::Completed, seconds(15)));
    assert_eq!((record.subtasks, record.acknowledged, record.parts.len()), (3, 3, 3));
    let [first, second, union] = [0, 1, 2].map(|subtask| measured(record, subtask));
    assert_eq!([first, second, union].map(|m| m.start_delay), [1, 3, 1].map(seconds));
    assert_eq!([first, second, union].map(|m| m.alignment), [0, 0, 6].map(seconds));
    assert_eq!([first, second, union].map(|m| m.background), [14, 12, 8].map(seconds));
    assert_eq!((record.metrics.start_delay, record.metrics.alignment), (seconds(3), seconds(6)));
    assert_eq!(record.metrics.bytes, first.bytes + second.bytes + union.bytes);
    assert!(first.bytes > 0 && first.full_bytes == first.bytes, "a source writes its position: {first:?}");
    assert!(record.discarded);
    assert_eq!(statistics.summary().duration_us.max(), Some(15_000_000));
}

/// A task is a range of subtasks; what is missing is missing in its own task alone.
#[test]
fn rest_01_a_pending_one_says_who_is_missing() {
    let mut hand = uneven();
    hand.work_on(0);
    hand.turn();
    let record = newest(&hand);
    assert_eq!((record.status.clone(), record.acknowledged), (CheckpointStatus::InProgress, 1));
    let acked: Vec<usize> = (0..3).map(|subtask| record.task(subtask..subtask + 1).acknowledged).collect();
    assert_eq!(acked, [1, 0, 0]);
}

/// A failed one says on whose account, and a restore is counted.
#[test]
fn rest_01_a_failure_of_the_attempt_and_the_restore_that_follows() {
    let mut hand = uneven();
    hand.settle();
    let completed = newest(&hand).id;
    hand.trigger();
    hand.fail("union");
    let metrics = hand.control.metrics();
    let failed = metrics.checkpoints.latest_failed().expect("the pending one");
    assert_eq!((failed.id, failed.failed_subtask), (completed.next(), None), "of the whole attempt");
    assert_eq!(metrics.checkpoints.counts().restored, 0);
    hand.finish_restart();
    let checkpoints = hand.control.metrics().checkpoints;
    assert_eq!(checkpoints.counts().restored, 1);
    assert_eq!(checkpoints.restored().map(|(id, _)| id), Some(completed));
}

/// CS-02: a state that is too large for memory fails the checkpoint, which counts, and harms nothing: once it may be larger
/// the next one has it.
#[test]
fn cs_02_er_15_a_state_too_large_for_memory_fails_the_checkpoint_and_nothing_else() {
    for (most, fits) in [(ByteSize::kb(16), false), (ByteSize::mb(5), true)] {
        let (source, sink, env) = (Fed::new(5_000), CollectSink::new(), env());
        let seen = sink.collected();
        env.configure(|settings| {
            settings.checkpointing.storage = Some(CheckpointStorage::Memory);
            settings.checkpointing.memory_max_state = most;
        });
        env.source(source.clone())
            .name("in")
            .key_by::<u64>(|n| n.get())
            .process::<u64, u64>("count", |_, _, count, _| *count += 1)
            .on_end(|_, count, out| out.emit(*count))
            .uid("count")
            .sink(sink);
        let mut hand = Hand::begin(&env, &MemoryStorage::new());
        source.allow(4_000);
        hand.run_all();
        hand.trigger();
        hand.settle();
        let record = newest(&hand);
        match &record.status {
            CheckpointStatus::Completed => assert!(fits),
            CheckpointStatus::Failed(failure) => {
                let text = failure.to_string();
                assert!(!fits && failure.counts(), "{text}");
                assert!(
                    text.contains("16384") && text.contains("execution.checkpointing.storage=filesystem"),
                    "{text}"
                );
            }
            CheckpointStatus::InProgress => panic!("{record:?}"),
        }
        if fits {
            source.end();
            hand.finish().unwrap();
            assert_eq!(seen.take(), vec![1; 5_000]);
        } else {
            assert_eq!(hand.control.metrics().state, JobState::Running);
        }
    }
}

/// CP-10: what a source says of a backlog comes to the schedule of checkpoints.
#[test]
fn cp_10_a_source_that_is_behind_has_checkpoints_wait() {
    let (source, env) = (Fed::new(10), env());
    env.configure(|settings| settings.checkpointing.interval_during_backlog = Some(Duration::ZERO));
    env.source(source.clone()).name("in").sink(CollectSink::new());
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    hand.checkpoint();
    source.fall_behind(true);
    hand.settle();
    hand.pass(seconds(600));
    hand.settle();
    assert_eq!(hand.completed().map(|id| id.0), Some(1));
    source.fall_behind(false);
    hand.settle();
    hand.checkpoint();
    // The end of its input is the end of its backlog.
    source.fall_behind(true);
    hand.settle();
    source.end();
    hand.finish().unwrap();
}

//! Exactly once and at least once (CP-22), on two inputs of which one is ahead when the process dies.

use crate::hand::{Hand, env};
use crate::jobs::joined;
use crate::parts::{Fed, Log, Logged};
use millstream::config::CheckpointMode;
use millstream_io::storage::MemoryStorage;
use std::time::Duration;

struct Found {
    /// The counts of the records of either input at the end.
    counts: [u64; 2],
    held_bytes: u64,
    alignment: Duration,
}

/// Counts the records of two inputs of ten each. The first one's barrier comes behind its third record, and four more
/// follow it before the barrier of the other one.
fn count(mode: CheckpointMode) -> Found {
    let disk = MemoryStorage::new();
    let (ahead, behind, log) = (Fed::new(10), Fed::above(100, 10), Log::default());
    let job = || {
        let (sink, seen) = Logged::new(&log);
        let env = env();
        env.configure(|settings| settings.checkpointing.mode = mode);
        joined(&env, ("ahead", &ahead), ("behind", &behind))
            .key_by::<u64>(|n| n.get() / 100)
            .process::<u64, u64>("count", |_, _, count, _| *count += 1)
            .on_end(|key, count, out| out.emit(key * 1000 + *count))
            .uid("count")
            .sink(sink)
            .uid("out");
        (env, seen)
    };
    let (env, _) = job();
    let mut hand = Hand::begin(&env, &disk);
    ahead.allow(3);
    behind.allow(2);
    hand.run_all();
    hand.trigger();
    ahead.allow(7);
    // Its barrier, then four records; the other source has not looked at its mailbox yet.
    hand.run("ahead");
    for _ in 0..20 {
        hand.step("union");
        hand.step("process");
    }
    hand.pass(Duration::from_millis(5));
    hand.settle();
    assert_eq!(hand.completed().map(|id| id.0), Some(1));
    let metrics = hand.control.metrics().checkpoints.latest_completed().unwrap().metrics;
    ahead.allow(9);
    hand.run_all();
    drop(hand);

    let (env, seen) = job();
    let hand = Hand::begin(&env, &disk.kill_image());
    assert_eq!(ahead.opened(), "[0] [3]", "behind the barrier");
    assert_eq!(behind.opened(), "[0] [2]");
    ahead.end();
    behind.end();
    assert_eq!(hand.finish().unwrap().records_in, 20);
    let mut rows = seen.take();
    rows.sort_unstable();
    let [first, second] = rows[..] else { panic!("two keys: {rows:?}") };
    Found { counts: [first, second - 1000], held_bytes: metrics.held_bytes, alignment: metrics.alignment }
}

#[test]
fn cp_22_exactly_once_counts_every_record_once() {
    let found = count(CheckpointMode::ExactlyOnce);
    assert_eq!(found.counts, [10, 10]);
    assert!(found.held_bytes > 0);
    assert_eq!(found.alignment, Duration::from_millis(5));
}

/// The four records that overtook the other barrier are in the snapshot, and are read again: counted twice, none lost.
/// Nothing was held for it.
#[test]
fn cp_22_at_least_once_counts_what_overtook_the_barrier_twice_and_loses_nothing() {
    let found = count(CheckpointMode::AtLeastOnce);
    assert_eq!(found.counts, [10 + 4, 10]);
    assert_eq!((found.held_bytes, found.alignment), (0, Duration::ZERO));
}

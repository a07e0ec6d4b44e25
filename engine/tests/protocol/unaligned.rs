//! Barriers that overtake (UC): by hand, so that what is in the way stays there.

use crate::hand::{Hand, env};
use crate::jobs::joined;
use crate::parts::{Fed, Log, Logged, Watch};
use millstream::checkpoint::AckMetrics;
use millstream::connector::{CollectSink, Collected};
use millstream::{Chain, Env, Stream};
use millstream_io::storage::MemoryStorage;
use std::time::Duration;

/// Two sources into one subtask, over rings of four segments of 1 KiB, with barriers that overtake after `timeout`.
fn uneven(log: &Log, fast: &Fed, slow: &Fed, timeout: Duration) -> (Env, Collected<u64>) {
    let (sink, seen) = Logged::new(&Log::default());
    let env = overtaking(timeout);
    joined(&env, ("fast", fast), ("slow", slow))
        .uid("union")
        .apply(Watch::new("op", log))
        .uid("op")
        .sink(sink)
        .uid("out");
    (env, seen)
}

fn overtaking(timeout: Duration) -> Env {
    let env = env();
    env.configure(|settings| {
        settings.checkpointing.unaligned = true;
        settings.checkpointing.aligned_checkpoint_timeout = timeout;
        settings.exchange.segment_size = millstream::config::ByteSize(1024);
        settings.exchange.ring_segments = 4;
    });
    env
}

fn newest(hand: &Hand) -> AckMetrics {
    hand.control.metrics().checkpoints.latest_completed().unwrap().metrics
}

fn numbers(log: &Log) -> Vec<u64> {
    log.take().split(' ').filter_map(|what| what.strip_prefix("op:")?.parse().ok()).collect()
}

/// UC-02 to UC-04: the rings are full, and nothing of it has been processed, when the checkpoint is taken; nothing of it
/// has to be before it is complete. After a crash it is processed first, each record once and in its order.
#[test]
fn uc_02_uc_04_a_checkpoint_does_not_wait_for_what_is_in_its_way_and_loses_nothing_of_it() {
    let (disk, log) = (MemoryStorage::new(), Log::default());
    let (fast, slow) = (Fed::new(10_000), Fed::above(1_000_000, 10));
    let (first, _) = uneven(&log, &fast, &slow, Duration::ZERO);
    let mut hand = Hand::begin(&first, &disk);
    assert_eq!((fast.opened(), slow.opened()), ("[0]".to_owned(), "[0]".to_owned()));
    fast.allow(3_000);
    slow.allow(5);
    hand.run("fast");
    hand.run("slow");
    hand.trigger();
    // Its barrier waits behind what the ring has no room for.
    hand.step("fast");
    hand.step("slow");
    for _ in 0..3 {
        hand.step("union");
        hand.step("fast");
        hand.step("slow");
    }
    hand.step("union");
    let processed = log.take();
    assert!(processed.starts_with("op:snapshot=0"), "{processed}");
    let processed = processed.split(' ').count() - 1;
    hand.work();
    hand.turn();
    hand.work();
    hand.turn();
    assert_eq!(hand.completed().map(|id| id.0), Some(1));
    let metrics = newest(&hand);
    assert!(metrics.unaligned && metrics.alignment.is_zero(), "{metrics:?}");
    assert!(metrics.persisted_bytes >= 4 * 1024 && metrics.persisted_bytes.is_multiple_of(8), "{metrics:?}");
    let in_flight = metrics.persisted_bytes / 8;
    assert!((processed as u64) < in_flight, "{processed} were processed, {in_flight} are in flight");
    drop(hand);

    let (second, seen) = uneven(&log, &fast, &slow, Duration::ZERO);
    let mut hand = Hand::begin(&second, &disk.kill_image());
    let position: u64 = fast.opened().trim_matches(['[', ']']).parse().unwrap();
    assert_eq!((position + 5, slow.opened()), (in_flight, "[5]".to_owned()));
    hand.run("union");
    let again = numbers(&log);
    let (theirs, ours): (Vec<u64>, Vec<u64>) = again.into_iter().partition(|n| *n > 1_000_000);
    assert_eq!(ours, (1..=position).collect::<Vec<_>>(), "before anything new, in order");
    assert_eq!(theirs, (1_000_001..=1_000_005).collect::<Vec<_>>());
    fast.end();
    slow.end();
    assert_eq!(hand.finish().unwrap().records_in, 10_010);
    let mut all = seen.take();
    all.sort_unstable();
    assert!(all.into_iter().eq((1..=10_000).chain(1_000_001..=1_000_010)));
}

/// A checkpoint that is taken while restored records are still in flight has them, too (UC-05).
#[test]
fn uc_05_a_second_crash_before_restored_records_are_processed_loses_none_of_them() {
    let (disk, log) = (MemoryStorage::new(), Log::default());
    let (fast, slow) = (Fed::new(2_000), Fed::above(1_000_000, 10));
    let (first, _) = uneven(&log, &fast, &slow, Duration::ZERO);
    let mut hand = Hand::begin(&first, &disk);
    fast.allow(2_000);
    hand.run("fast");
    hand.checkpoint();
    let first_time = newest(&hand).persisted_bytes;
    drop(hand);
    let (second, _) = uneven(&log, &fast, &slow, Duration::ZERO);
    let disk = disk.kill_image();
    let mut hand = Hand::begin(&second, &disk);
    fast.allow(0);
    hand.step("union");
    hand.trigger();
    for _ in 0..4 {
        hand.step("fast");
        hand.step("slow");
        hand.step("union");
    }
    hand.settle();
    let second_time = newest(&hand).persisted_bytes;
    assert!(second_time > 0 && second_time < first_time, "{second_time} of {first_time}");
    drop(hand);
    log.take();
    let (third, seen) = uneven(&log, &fast, &slow, Duration::ZERO);
    let hand = Hand::begin(&third, &disk.kill_image());
    fast.end();
    slow.end();
    hand.finish().unwrap();
    // What the one before had processed by its checkpoint was committed there.
    let rest = 2_010 - seen.len() as u64;
    assert!(seen.take().into_iter().filter(|n| *n < 1_000_000).eq(rest + 1..=2_000));
}

/// UC-08: barriers wait for their turn as long as that does not take too long.
#[test]
fn uc_08_a_checkpoint_overtakes_only_after_the_timeout() {
    let log = Log::default();
    let (fast, slow) = (Fed::new(10_000), Fed::above(1_000_000, 10));
    let (env, seen) = uneven(&log, &fast, &slow, Duration::from_secs(2));
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    // In time.
    assert_eq!(hand.checkpoint().0, 1);
    assert_eq!((newest(&hand).unaligned, newest(&hand).persisted_bytes), (false, 0));
    log.take();
    // The slow source does not come to it.
    fast.allow(300);
    hand.trigger();
    hand.run("fast");
    hand.run("union");
    hand.pass(Duration::from_millis(1_999));
    hand.run("union");
    assert_eq!(log.take(), "", "behind the barrier");
    slow.allow(3);
    hand.step("slow");
    hand.pass(Duration::from_millis(1));
    hand.step("union");
    assert!(log.take().starts_with("op:snapshot=0"));
    hand.settle();
    let metrics = newest(&hand);
    assert_eq!((hand.completed().map(|id| id.0), metrics.unaligned), (Some(2), true));
    fast.end();
    slow.end();
    hand.finish().unwrap();
    assert_eq!(seen.len(), 10_010);
}

/// UC-07: of a stream that was forked, and of one that goes to all, nothing is in flight.
#[test]
fn uc_07_forked_and_broadcast_records_are_not_overtaken() {
    let persisted = |build: fn(&Env, Fed)| {
        let source = Fed::new(5_000);
        let env = overtaking(Duration::ZERO);
        build(&env, source.clone());
        let mut hand = Hand::begin(&env, &MemoryStorage::new());
        source.allow(3_000);
        hand.run("source");
        hand.checkpoint();
        let metrics = newest(&hand);
        source.end();
        hand.finish().unwrap();
        (metrics.unaligned, metrics.persisted_bytes > 0)
    };
    let forked = persisted(|env, source| {
        let (one, two) = env.source(source).fork();
        one.sink(CollectSink::new());
        two.sink(CollectSink::new());
    });
    assert_eq!(forked, (false, false));
    let to_all = persisted(|env, source| {
        env.source(source).broadcast().parallelism(2).sink(CollectSink::new());
    });
    assert_eq!(to_all, (false, false));
    let balanced = persisted(|env, source| {
        env.source(source).rebalance().parallelism(2).sink(CollectSink::new());
    });
    assert_eq!(balanced, (true, true));
}

/// Numbers over a rebalanced and a keyed exchange, each with as many subtasks: the sums of ten keys.
fn sums(env: &Env, source: &Fed, parallelism: i64) -> Collected<(u64, u64)> {
    let sink = CollectSink::new();
    let seen = sink.collected();
    let numbers = env.source(source.clone()).name("in").uid("in").parallelism(1);
    let middle = numbers.rebalance().uid("middle").map(|n| n).parallelism(parallelism);
    keyed(middle, parallelism).sink(sink).uid("out");
    seen
}

fn keyed(stream: Stream<impl Chain<Out = u64>>, parallelism: i64) -> Stream<impl Chain<Out = (u64, u64)>> {
    stream
        .key_by::<u64>(|n| n.get() % 10)
        .process::<u64, (u64, u64)>("sum", |_, n, sum, _| *sum += n)
        .on_end(|key, sum, out| out.emit((key, *sum)))
        .uid("sums")
        .parallelism(parallelism)
}

/// UC-06: at another parallelism records in flight go where their key is, or to anyone, and each to one.
#[test]
fn uc_06_records_in_flight_are_given_out_anew() {
    for (before, after) in [(2, 3), (7, 2), (3, 1), (2, 2)] {
        let (disk, source) = (MemoryStorage::new(), Fed::new(5_000));
        let env = overtaking(Duration::ZERO);
        sums(&env, &source, before);
        let mut hand = Hand::begin(&env, &disk);
        source.allow(4_000);
        hand.run("in");
        for n in 0..before {
            hand.step(&format!("rebalance -> map [{n}]"));
        }
        hand.checkpoint();
        assert!(newest(&hand).persisted_bytes > 0);
        drop(hand);
        let env = overtaking(Duration::ZERO);
        let seen = sums(&env, &source, after);
        let hand = Hand::begin(&env, &disk.kill_image());
        source.end();
        assert_eq!(hand.finish().unwrap().records_in, 5_000);
        let mut found = seen.take();
        found.sort_unstable();
        let of = |key: u64| (1..=5_000).filter(|n| n % 10 == key).sum::<u64>();
        assert_eq!(found, (0..10).map(|key| (key, of(key))).collect::<Vec<_>>(), "{before} to {after}");
    }
}

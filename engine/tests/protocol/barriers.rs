//! Barriers on their way through real subtasks (BR).

use crate::hand::{Hand, env};
use crate::jobs::joined;
use crate::parts::{Fed, Log, Logged, Watch};
use millstream::connector::CollectSink;
use millstream::{Chain, Env, Stream};
use millstream_io::storage::MemoryStorage;

/// BR-01: a source lets the barrier go between two records, on every output, behind what it has emitted before. What
/// comes later on a channel is not in the snapshot behind it.
#[test]
fn br_01_a_barrier_stands_between_the_records_of_every_output() {
    let (source, log) = (Fed::new(10), Log::default());
    let env = env();
    let stream = env.source(source.clone()).name("in").rebalance();
    stream.apply(Watch::new("", &log)).parallelism(2).sink(CollectSink::new());
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    source.allow(5);
    // One step: the records lie in segments that are not full.
    hand.step("in");
    hand.trigger();
    source.allow(10);
    hand.run("in");
    hand.run("rebalance -> operator -> sink [0]");
    assert_eq!(log.take(), "first:1 first:3 first:5 first:snapshot=3 first:7 first:9");
    hand.run("rebalance -> operator -> sink [1]");
    assert_eq!(log.take(), "second:2 second:4 second:snapshot=2 second:6 second:8 second:10");
}

/// BR-02 as in its example: numbers into the sums of the even and the odd ones. Saved are position 5 and the sums 6
/// and 9; after a crash behind 7 the sums go on as if nothing had been.
#[test]
fn br_02_the_sums_of_odd_and_even_numbers_go_on_from_the_cut() {
    let disk = MemoryStorage::new();
    let (source, log) = (Fed::new(8), Log::default());
    let job = || {
        let (sink, seen) = Logged::new(&log);
        let env = env();
        env.source(source.clone())
            .name("in")
            .uid("in")
            .key_by::<bool>(|n| n.get() % 2 == 0)
            .process::<u64, u64>("sums", |_, n, sum, out| {
                *sum += n;
                out.emit(*sum);
            })
            .uid("sums")
            .sink(sink)
            .uid("out");
        (env, seen)
    };
    let (env, seen) = job();
    let mut hand = Hand::begin(&env, &disk);
    assert_eq!(source.opened(), "[0]");
    source.allow(5);
    hand.run("in");
    hand.checkpoint();
    assert_eq!(seen.take(), [1, 2, 4, 6, 9], "1, 2, 1+3, 2+4, 1+3+5");
    source.allow(7);
    hand.run_all();
    assert!(log.take().ends_with("sink:12 sink:16"), "6 and 7 were processed before the crash");
    drop(hand);

    let (env, seen) = job();
    let mut hand = Hand::begin(&env, &disk.kill_image());
    assert_eq!(source.opened(), "[5]");
    hand.run_all();
    assert_eq!(log.take(), "sink:commit-1 sink:12 sink:16", "6+6 and 9+7 again");
    source.end();
    let summary = hand.finish().unwrap();
    assert_eq!(summary.records_in, 8);
    // The first process has committed its part in a memory of its own.
    assert_eq!(seen.take(), [1, 2, 4, 6, 9, 12, 16, 20]);
}

/// BR-09: a source without a single record still hands the barrier on, and nobody waits for more.
#[test]
fn br_09_an_alignment_completes_with_an_idle_source() {
    let (busy, idle, log) = (Fed::new(9), Fed::new(9), Log::default());
    let env = env();
    joined(&env, ("busy", &busy), ("quiet", &idle)).apply(Watch::new("op", &log)).sink(CollectSink::new());
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    for n in 1..4 {
        busy.allow(2 * n);
        hand.run("busy");
        assert_eq!(hand.checkpoint().0, n);
    }
    assert_eq!(log.take(), "op:1 op:2 op:snapshot=2 op:3 op:4 op:snapshot=4 op:5 op:6 op:snapshot=6");
}

/// BR-10: an input ends while the barrier of the other one has come: its end counts as its barrier, and what it had
/// sent before belongs to the snapshot. Its own barrier, which follows its end, is not taken for another one.
#[test]
fn br_10_the_end_of_an_input_completes_an_alignment() {
    let (left, right, log) = (Fed::new(3), Fed::above(100, 9), Log::default());
    let env = env();
    joined(&env, ("left", &left), ("right", &right)).apply(Watch::new("op", &log)).sink(CollectSink::new());
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    left.end();
    hand.run("left");
    hand.trigger();
    right.allow(1);
    hand.run("right");
    hand.step("union");
    assert_eq!(log.take(), "op:1 op:2 op:3", "from the left");
    hand.step("union");
    assert_eq!(log.take(), "", "the barrier from the right");
    hand.step("union");
    assert_eq!(log.take(), "op:snapshot=3", "the end of the left");
    hand.run("union");
    assert_eq!(log.take(), "op:101");
    hand.settle();
    assert_eq!(hand.completed().map(|id| id.0), Some(1));
    assert_eq!(log.take(), "", "one snapshot");
    assert_eq!(hand.checkpoint().0, 2);
    assert_eq!(log.take(), "op:snapshot=4");
}

/// BR-10, CP-31: all inputs have ended, so the coordinator triggers the subtask itself, while the sources' barriers
/// come in their channels too: one snapshot.
#[test]
fn br_10_a_direct_trigger_and_the_barriers_make_one_snapshot() {
    let (left, right, log) = (Fed::new(2), Fed::above(100, 2), Log::default());
    let (sink, seen) = Logged::new(&log);
    let env = env();
    joined(&env, ("left", &left), ("right", &right)).sink(sink);
    let hand = Hand::begin(&env, &MemoryStorage::new());
    left.end();
    right.end();
    let summary = hand.finish().unwrap();
    assert_eq!(summary.checkpoints_completed, 1);
    let all = log.take();
    assert_eq!(all.matches("pre-commit").count(), 1, "{all}");
    assert_eq!(seen.len(), 4);
}

/// BR-11: what is chained and what is taken apart gives the same results; every output of a chain carries the barrier.
#[test]
fn br_11_chained_and_unchained_plans_give_equal_results() {
    let chained = odd_and_even(|env, source| {
        env.source(source).name("in").map(|n| n * 3).filter(|n| n % 4 != 0).fork()
    });
    let apart = odd_and_even(|env, source| {
        let tripled = env.source(source).name("in").rebalance().map(|n| n * 3);
        tripled.rebalance().filter(|n| n % 4 != 0).rebalance().fork()
    });
    assert_eq!(chained, apart);
    let by_hand = (1..=20).map(|n| n * 3).filter(|n| n % 4 != 0);
    let (odd, even): (Vec<u64>, Vec<u64>) = by_hand.partition(|n| n % 2 == 1);
    assert_eq!(chained, [odd, even]);
}

/// The odd and the even results of a stream that is forked, over two checkpoints and the end.
fn odd_and_even<C: Chain<Out = u64>>(build: impl Fn(&Env, Fed) -> (Stream<C>, Stream<C>)) -> [Vec<u64>; 2] {
    let (source, log) = (Fed::new(20), Log::default());
    let ((odd, odd_seen), (even, even_seen)) = (Logged::new(&log), Logged::new(&log));
    let env = env();
    let (first, second) = build(&env, source.clone());
    first.filter(|n| n % 2 == 1).sink(odd);
    second.filter(|n| n % 2 == 0).sink(even);
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    for n in [7, 15] {
        source.allow(n);
        hand.run("in");
        hand.checkpoint();
    }
    source.end();
    hand.finish().unwrap();
    [odd_seen.take(), even_seen.take()]
}

/// BR-06: two checkpoints under way. The barrier of the second one waits behind what the first one holds, both complete
/// in order, and each holds exactly what came before its barriers.
#[test]
fn br_06_two_checkpoints_under_way_complete_in_order() {
    let (fast, slow, log) = (Fed::new(9), Fed::above(100, 9), Log::default());
    let env = env();
    env.configure(|settings| settings.checkpointing.max_concurrent = 2);
    joined(&env, ("fast", &fast), ("slow", &slow)).apply(Watch::new("op", &log)).sink(CollectSink::new());
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    for n in 1..=2 {
        fast.allow(n);
        hand.run("fast");
        assert_eq!(hand.trigger().0, n);
    }
    fast.allow(3);
    hand.run("fast");
    hand.run("union");
    assert_eq!(log.take(), "op:1", "2 stands between the barriers, 3 behind them");
    slow.allow(1);
    hand.settle();
    assert_eq!(log.take(), "op:snapshot=1 op:2 op:snapshot=2 op:101 op:3");
    let counts = hand.control.metrics().checkpoints.counts();
    assert_eq!((counts.completed, counts.failed), (2, 0));
}

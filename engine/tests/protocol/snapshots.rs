//! What a subtask does at a barrier, and who hears of it (CP-23 to CP-27).

use crate::common::Discard;
use crate::hand::{Hand, env};
use crate::jobs::Pass;
use crate::parts::{Fed, Log, Logged, Watch};
use millstream::connector::CollectSink;
use millstream::{Class, Collector, ConnectorError, Env, JobState, Operator};
use millstream_io::storage::MemoryStorage;
use std::time::Duration;

/// CP-23, BR-11: hooks from head to tail, and what they emit stands before the barrier; then the snapshot from tail to
/// head; no record in between, neither here nor in the next subtask.
#[test]
fn cp_23_hook_then_barrier_then_snapshot_and_no_record_between() {
    let (source, log) = (Fed::new(10), Log::default());
    let (sink, _) = Logged::new(&log);
    let env = env();
    let chain = env.source(source.clone()).name("in").rebalance();
    let chain = chain.apply(Watch::new("a", &log).with_hook(77)).apply(Watch::new("b", &log).with_hook(88));
    chain.rebalance().name("behind").apply(Watch::new("c", &log)).sink(sink);
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    source.allow(1);
    hand.run("in");
    hand.trigger();
    source.allow(2);
    hand.run("in");
    hand.run("rebalance");
    assert_eq!(
        log.take(),
        "a:1 b:1 a:hook b:77 b:hook b:snapshot=2 a:snapshot=1 a:2 b:2",
        "the record that a's hook emits passes through b before the snapshot"
    );
    hand.run("behind");
    assert_eq!(
        log.take(),
        "c:1 sink:1 c:77 sink:77 c:88 sink:88 sink:pre-commit-1 c:snapshot=3 c:2 sink:2",
        "what hooks emit belongs to the checkpoint here too"
    );
}

/// CP-23: a hook that fails is met before the snapshot counts: the attempt fails, whatever is tolerated (CP-19).
#[test]
fn cp_23_a_hook_that_fails_ends_the_attempt_and_leaves_no_checkpoint() {
    #[derive(Clone)]
    struct Failing;
    impl Operator for Failing {
        type In = u64;
        type Out = u64;
        type State = ();

        fn process(&mut self, n: u64, out: &mut Collector<'_, u64>) {
            out.emit(n);
        }

        fn before_barrier(&mut self, out: &mut Collector<'_, u64>) {
            out.fail(ConnectorError::new(Class::Data, "sync", "/rejects", "no room"));
        }
    }
    let (source, log) = (Fed::new(9), Log::default());
    let (sink, seen) = Logged::new(&log);
    let env = env();
    env.source(source.clone()).name("in").rebalance().apply(Failing).sink(sink);
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    source.allow(2);
    hand.run("in");
    hand.trigger();
    hand.settle();
    assert_eq!((hand.completed(), seen.len()), (None, 0));
    let error = hand.finish().unwrap_err();
    assert!(error.to_string().contains("/rejects"), "{error}");
}

/// CP-23: a subtask downstream may be done with a checkpoint before the one above it; it is complete when all are.
#[test]
fn cp_23_a_subtask_may_be_done_before_the_one_above_it() {
    let source = Fed::new(10);
    let env = env();
    env.source(source.clone()).name("in").rebalance().sink(CollectSink::new());
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    hand.trigger();
    hand.run_all();
    assert_eq!(hand.waiting(), 2, "the snapshots of both subtasks, the source's first");
    hand.work_on(1);
    hand.turn();
    let acknowledged =
        |hand: &Hand| hand.control.metrics().checkpoints.history().next().unwrap().acknowledged;
    assert_eq!((acknowledged(&hand), hand.completed()), (1, None));
    hand.settle();
    assert_eq!((acknowledged(&hand), hand.completed().map(|id| id.0)), (2, Some(1)));
}

/// Sums of 10,000 keys: some 160 KB of state, which take several steps to encode.
fn sums(env: &Env, source: &Fed, sink: CollectSink<(u64, u64)>) {
    env.source(source.clone())
        .name("in")
        .uid("in")
        .key_by::<u64>(|n| n.get() % 10_000)
        .process::<u64, (u64, u64)>("sums", |_, n, sum, _| *sum += n)
        .on_end(|key, sum, out| out.emit((key, *sum)))
        .uid("sums")
        .sink(sink)
        .uid("out");
}

/// CP-24: records go on while the state is encoded and while it is written; what they change is not in the snapshot.
#[test]
fn cp_24_what_changes_while_a_snapshot_is_written_is_not_in_it() {
    let disk = MemoryStorage::new();
    let source = Fed::new(30_000);
    let first = env();
    sums(&first, &source, CollectSink::new());
    let mut hand = Hand::begin(&first, &disk);
    source.allow(10_000);
    hand.run_all();
    hand.trigger();
    // The barrier passes, then records change every key before half of the state is encoded.
    source.allow(20_000);
    hand.run("in");
    let begun = hand.waiting();
    while hand.waiting() == begun {
        hand.step("process");
        hand.step("in");
    }
    // Encoded, and not yet written: all keys change again.
    source.allow(29_999);
    hand.run_all();
    hand.settle();
    assert_eq!(hand.completed().map(|id| id.0), Some(1));
    drop(hand);

    let (sink, second) = (CollectSink::new(), env());
    let seen = sink.collected();
    sums(&second, &source, sink);
    let hand = Hand::begin(&second, &disk.kill_image());
    assert_eq!(source.opened(), "[0] [10000]");
    source.end();
    hand.finish().unwrap();
    let mut rows = seen.take();
    rows.sort_unstable();
    // Each key once in each ten thousand.
    let by_hand = (0..10_000).map(|key| (key, if key == 0 { 60_000 } else { 3 * key + 30_000 }));
    assert!(rows.into_iter().eq(by_hand), "each record counts once");
}

/// CP-26, SK-01: the process dies when the checkpoint is durable and nobody has been told, or before the sink has heard
/// it: the effects come at the restore, once.
#[test]
fn cp_26_a_notification_that_a_crash_swallowed_is_made_up_for() {
    for told in [false, true] {
        let (disk, job) = (MemoryStorage::new(), Pass::new(4));
        let mut hand = Hand::begin(&job.env(), &disk);
        job.source.allow(3);
        hand.run("in");
        hand.trigger();
        hand.acknowledge();
        assert_eq!(hand.waiting(), 1, "the metadata");
        hand.work();
        if told {
            hand.turn();
        }
        assert_eq!(job.log.take(), "sink:1 sink:2 sink:3 sink:pre-commit-1");
        assert!(job.seen.is_empty());
        drop(hand);

        let hand = Hand::begin(&job.env(), &disk.kill_image());
        assert_eq!(job.log.take(), "sink:commit-1");
        assert_eq!(job.seen.snapshot(), [1, 2, 3]);
        job.source.end();
        hand.finish().unwrap();
        assert_eq!(job.seen.take(), [1, 2, 3, 4]);
    }
}

/// CP-26: each checkpoint is committed once, in order, and not before its metadata is there.
#[test]
fn cp_26_a_checkpoint_is_committed_once_and_when_it_is_durable() {
    let job = Pass::new(4);
    let mut hand = Hand::begin(&job.env(), &MemoryStorage::new());
    hand.trigger();
    hand.acknowledge();
    hand.run_all();
    assert_eq!(job.log.take(), "sink:pre-commit-1", "all have acknowledged, the metadata is not published");
    assert_eq!(job.source.told(), "");
    hand.settle();
    assert_eq!((job.log.take(), job.source.told()), ("sink:commit-1".into(), "1".into()));
    hand.checkpoint();
    assert_eq!(job.log.take(), "sink:pre-commit-2 sink:commit-2");
    job.source.end();
    hand.finish().unwrap();
    assert_eq!(job.log.take(), "sink:1 sink:2 sink:3 sink:4 sink:pre-commit-3 sink:commit-3");
}

/// CP-27, CP-14: a checkpoint expires. The sink hears so once, and the next one holds its data too.
#[test]
fn cp_27_what_an_aborted_checkpoint_sealed_belongs_to_the_next() {
    let job = Pass::new(4);
    let env = job.env();
    env.configure(|settings| settings.checkpointing.timeout = Duration::from_secs(2));
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    job.source.allow(2);
    hand.run("in");
    hand.trigger();
    hand.run_all();
    hand.pass(Duration::from_secs(2));
    hand.settle();
    assert_eq!(job.log.take(), "sink:1 sink:2 sink:pre-commit-1 sink:aborted-1");
    assert_eq!((hand.failed(), hand.completed()), (1, None));
    job.source.allow(3);
    hand.run("in");
    assert_eq!(hand.checkpoint().0, 2);
    assert_eq!(job.log.take(), "sink:3 sink:pre-commit-2 sink:commit-2");
    assert_eq!(job.seen.take(), [1, 2, 3]);
}

/// A panic in a sink's background work fails the attempt at once, with its text, like one in a function.
#[test]
fn ms_070_a_panic_in_background_work_is_told() {
    let source = Fed::new(10);
    let env = env();
    env.source(source.clone()).name("in").sink(Discard::new(|_| Some(Box::new(|| panic!("on purpose")))));
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    hand.trigger();
    hand.acknowledge();
    assert_eq!(hand.control.metrics().restarts, 1, "at once, and not when the checkpoint is given up");
    assert_eq!(hand.control.metrics().state, JobState::Restarting);
}

//! Records between subtasks: order under pressure, steps that end in the middle of a segment, segments that are not full.

use crate::hand::{Hand, env};
use crate::parts::{Calls, Fed, Log, Logged, Watch};
use millstream::config::ByteSize;
use millstream::connector::CollectSink;
use millstream::runtime::Stepped;
use millstream::source::{Poll, SourceContext};
use millstream::{ConnectorError, Emit, Env, Source};
use millstream_io::storage::MemoryStorage;
use std::time::Duration;

/// Rings of two segments of 1 KiB.
fn narrow() -> Env {
    let env = env();
    env.configure(|settings| {
        settings.exchange.segment_size = ByteSize(1024);
        settings.exchange.ring_segments = 2;
    });
    env
}

/// D5: one record becomes more than the ring takes. What is over waits in order, the subtask takes nothing further
/// until it is handed over, and a barrier does not overtake it.
#[test]
fn d5_overdraft_is_handed_over_in_order_before_anything_else_is_taken() {
    let (source, log) = (Fed::new(3), Log::default());
    let env = narrow();
    let numbers = env.source(source.clone()).name("in").apply(Watch::new("op", &log));
    let many = numbers.flat_map::<u64>(|n, out| (0..1_000).for_each(|i| out.emit(n * 1_000 + i)));
    let (sink, seen) = Logged::new(&Log::default());
    many.rebalance().sink(sink);
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    source.allow(1);
    hand.step("in");
    // Room for one segment: the barrier must not take it.
    hand.step("rebalance");
    source.allow(2);
    hand.trigger();
    for _ in 0..10 {
        hand.step("in");
    }
    // 8,000 bytes and a barrier against 2 KiB.
    assert_eq!(log.take(), "op:1 op:snapshot=1", "messages are heard, but no record is taken");
    hand.settle();
    assert_eq!(log.take(), "op:2");
    assert!(seen.take().into_iter().eq(1_000..2_000), "in order, and the checkpoint holds just these");
    source.end();
    hand.finish().unwrap();
    assert!(seen.take().into_iter().eq(2_000..4_000));
}

/// Ruling 11: a slow function ends its step in the middle of a segment, and the next one goes on there: each record
/// once. A message is heard in between.
#[test]
fn ruling_11_a_step_ends_within_a_segment_and_the_next_goes_on_there() {
    let (source, calls) = (Fed::new(100), Calls::default());
    let (slow, (sink, seen)) = (calls.clone(), Logged::new(&Log::default()));
    let env = narrow();
    let slowly = move |n| {
        slow.call(Duration::from_micros(300));
        n
    };
    env.source(source.clone()).name("in").rebalance().map(slowly).sink(sink);
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    calls.pass_on(&hand.clock);
    source.allow(100);
    hand.run("in");
    // A segment of 100 records of 300 us: three or four of them are a millisecond, once the first few are known.
    let mut steps = 0;
    while hand.step("rebalance") == Stepped::Worked {
        steps += 1;
    }
    assert!((20..=40).contains(&steps), "{steps} steps");
    source.end();
    hand.finish().unwrap();
    assert!(seen.take().into_iter().eq(1..=100));
}

/// Ruling 11: a keyed function, too, is called for no further record once what it has emitted waits for room.
#[test]
fn ruling_11_a_keyed_function_ends_its_step_with_the_record_that_makes_overdraft() {
    let (source, calls) = (Fed::new(50), Calls::default());
    let (called, (sink, seen)) = (calls.clone(), Logged::new(&Log::default()));
    let env = narrow();
    // 2,000 bytes for each record, against 2 KiB; nothing for the odd ones.
    let keyed = env.source(source.clone()).name("in").key_by::<u64>(|n| n.get() % 7);
    let many = keyed.process::<u64, u64>("expand", move |_, n, _, out| {
        called.call(Duration::ZERO);
        (0..if n.is_multiple_of(2) { 250 } else { 0 }).for_each(|i| out.emit(n * 1_000 + i));
    });
    many.rebalance().sink(sink);
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    source.allow(50);
    hand.run("in");
    hand.step("process");
    assert_eq!(calls.count(), 4, "the second of the even ones does not fit");
    source.end();
    hand.finish().unwrap();
    let even = (2..=50_u64).step_by(2);
    assert!(seen.take().into_iter().eq(even.flat_map(|n| (0..250).map(move |i| n * 1_000 + i))));
    assert_eq!(calls.count(), 50);
}

/// Emits one record whenever it is asked, and is never idle.
#[derive(Clone)]
struct Dripping(u64);

impl Source for Dripping {
    type Out = u64;
    type Split = u64;

    fn discover(&mut self, _: &SourceContext) -> Result<Vec<u64>, ConnectorError> {
        Ok(vec![0])
    }

    fn open(&mut self, _: SourceContext, splits: Vec<u64>) -> Result<(), ConnectorError> {
        self.0 = splits[0];
        Ok(())
    }

    fn poll(&mut self, out: &mut impl Emit<u64>) -> Result<Poll, ConnectorError> {
        self.0 += 1;
        out.emit(self.0);
        Ok(Poll::More)
    }

    fn snapshot(&mut self) -> Result<Vec<u64>, ConnectorError> {
        Ok(vec![self.0])
    }
}

/// What is processed behind an exchange.
fn watched(env: &Env, source: impl Source<Out = u64>) -> Log {
    let log = Log::default();
    env.source(source).name("in").rebalance().apply(Watch::new("op", &log)).sink(CollectSink::new());
    log
}

/// A segment is handed on when it has waited for the buffer timeout, however busy its sender is; when the sender has
/// nothing to do, at once.
#[test]
fn a_segment_that_is_not_full_waits_no_longer_than_the_buffer_timeout() {
    let env = env();
    env.configure(|settings| settings.exchange.buffer_timeout = Duration::from_millis(100));
    let log = watched(&env, Dripping(0));
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    hand.clock.advance(Duration::from_millis(100));
    for _ in 0..3 {
        hand.step("in");
    }
    hand.run("rebalance");
    log.take();
    hand.clock.advance(Duration::from_millis(99));
    hand.step("in");
    hand.run("rebalance");
    assert_eq!(log.take(), "", "not yet");
    hand.clock.advance(Duration::from_millis(1));
    hand.step("in");
    hand.run("rebalance");
    assert!(log.take().starts_with("op:"), "now");

    let (source, env) = (Fed::new(9), self::env());
    let log = watched(&env, source.clone());
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    source.allow(2);
    hand.run("in");
    hand.run("rebalance");
    assert_eq!(log.take(), "op:1 op:2", "at once");
}

/// Also behind an exchange, where there is always more to read.
#[test]
fn a_segment_waits_no_longer_than_the_buffer_timeout_behind_a_busy_exchange_too() {
    let (source, log) = (Fed::new(100_000), Log::default());
    let env = env();
    env.configure(|settings| {
        settings.exchange.buffer_timeout = Duration::from_millis(100);
        settings.exchange.segment_size = ByteSize(1024);
    });
    let few = env.source(source.clone()).name("in").rebalance().filter(|n| n % 100 == 0);
    few.broadcast().apply(Watch::new("op", &log)).sink(CollectSink::new());
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    source.allow(2_000);
    hand.run("in");
    hand.step("rebalance");
    hand.run("broadcast");
    assert_eq!(log.take(), "", "one record, and more input");
    hand.clock.advance(Duration::from_millis(100));
    hand.step("rebalance");
    hand.run("broadcast");
    assert_eq!(log.take(), "op:100");
}

/// Every record goes to every subtask, in order.
#[test]
fn broadcast_reaches_every_subtask() {
    let (source, log) = (Fed::new(3), Log::default());
    let env = env();
    let all = env.source(source.clone()).name("in").broadcast().apply(Watch::new("", &log));
    all.parallelism(2).sink(CollectSink::new());
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    source.allow(3);
    hand.run("in");
    hand.run("broadcast -> operator -> sink [1]");
    assert_eq!(log.take(), "second:1 second:2 second:3");
    hand.run("broadcast -> operator -> sink [0]");
    assert_eq!(log.take(), "first:1 first:2 first:3");
}

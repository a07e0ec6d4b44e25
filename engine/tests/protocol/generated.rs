//! A source that emits many records at once ends its step like any other (ruling 11).

use crate::hand::{Hand, env};
use crate::parts::Calls;
use millstream::Env;
use millstream::connector::{CollectSink, Generator};
use millstream_io::storage::MemoryStorage;
use std::time::Duration;

const RECORDS: u64 = 50_000;

/// A function that passes numbers on and takes so long for each.
fn mapped(calls: &Calls, each: Duration) -> impl FnMut(u64) -> u64 + Clone + Send + 'static {
    let calls = calls.clone();
    move |n| {
        calls.call(each);
        n
    }
}

fn two_segments() -> Env {
    let env = env();
    env.configure(|settings| settings.exchange.ring_segments = 2);
    env
}

/// Two segments of 32 KiB are in the ring, a third one waits, which the next record made it do: nothing more is made.
#[test]
fn ruling_11_a_step_ends_as_soon_as_there_is_overdraft() {
    let (env, sink, calls) = (two_segments(), CollectSink::new(), Calls::default());
    let numbers = env.source(Generator::new(RECORDS, |n| n)).name("in").map(mapped(&calls, Duration::ZERO));
    numbers.rebalance().name("behind").sink(sink.clone());
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    hand.run("in");
    assert_eq!(calls.count(), 3 * (32 << 10) / 8 + 1);
    hand.run("behind");
    hand.run("in");
    assert!(calls.count() > 3 * (32 << 10) / 8 + 1);
    hand.finish().unwrap();
    assert_eq!(sink.collected().take(), (0..RECORDS).collect::<Vec<_>>());
    assert_eq!(calls.count(), RECORDS, "what did not fit is neither lost nor made again");
}

/// The same where keys decide which of two rings a record goes to.
#[test]
fn ruling_11_a_step_ends_as_soon_as_one_of_the_rings_has_overdraft() {
    let (env, sink, calls) = (two_segments(), CollectSink::new(), Calls::default());
    let numbers = env.source(Generator::new(RECORDS, |n| n)).name("in").map(mapped(&calls, Duration::ZERO));
    let sums = numbers.key_by::<u64>(|n| n.get()).process::<u64, u64>("sums", |_, n, _, out| out.emit(n));
    sums.parallelism(2).sink(sink.clone());
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    hand.run("in");
    // A record has 8 bytes; of the other ring at most as much is full.
    let segment = (32 << 10) / 8;
    assert!((3 * segment + 1..=6 * segment).contains(&calls.count()), "{}", calls.count());
    let (before, waits) = (calls.count(), hand.step("in"));
    assert_eq!((calls.count(), waits), (before, millstream::runtime::Stepped::Idle(None)));
    hand.finish().unwrap();
    let mut seen = sink.collected().take();
    seen.sort_unstable();
    assert_eq!(seen, (0..RECORDS).collect::<Vec<_>>());
}

/// A millisecond at 100 us a record is ten of them, or nine and the sixteen before the next look.
#[test]
fn ruling_11_a_slow_function_behind_a_generator_takes_a_millisecond_of_a_step() {
    let (env, calls) = (env(), Calls::default());
    let numbers = env.source(Generator::new(1000, |n| n)).name("in");
    numbers.map(mapped(&calls, Duration::from_micros(100))).sink(CollectSink::new());
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    calls.pass_on(&hand.clock);
    while calls.count() < 1000 {
        let before = calls.count();
        hand.step("in");
        assert!(calls.count() - before <= 25, "{} records in one step", calls.count() - before);
    }
    hand.finish().unwrap();
}

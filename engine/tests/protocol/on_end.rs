//! The visit to every key at the end of the input: in steps like all other work (ruling 11).

use crate::hand::{Hand, env};
use crate::parts::{Calls, Fed};
use millstream::Env;
use millstream::connector::CollectSink;
use millstream::runtime::Stepped;
use millstream_io::storage::MemoryStorage;
use std::time::Duration;

const KEYS: u64 = 10_000;

/// A job that emits the sum of every key at the end, to a subtask of its own; each call takes so long.
fn job(calls: &Calls, env: &Env, source: &Fed, each: Duration) -> CollectSink<(u64, u64)> {
    let (sink, calls) = (CollectSink::new(), calls.clone());
    env.source(source.clone())
        .name("in")
        .key_by::<u64>(|n| n.get() % KEYS)
        .process::<u64, (u64, u64)>("sums", |_, n, sum, _| *sum += n)
        .on_end(move |key, sum, out| {
            calls.call(each);
            out.emit((key, *sum));
        })
        .rebalance()
        .name("behind")
        .sink(sink.clone());
    sink
}

/// The job, with all its input processed and the end of it right before the keys.
fn at_the_end(calls: &Calls, env: &Env, source: &Fed) -> Hand {
    let mut hand = Hand::begin(env, &MemoryStorage::new());
    calls.pass_on(&hand.clock);
    source.allow(KEYS);
    hand.run_all();
    assert_eq!(calls.count(), 0);
    source.end();
    hand.run("in");
    hand
}

/// The numbers from 1 to the number of keys were read, each of a key of its own.
fn check(sink: &CollectSink<(u64, u64)>) {
    let mut sums = sink.collected().take();
    sums.sort_unstable();
    assert_eq!(sums, (0..KEYS).map(|key| (key, if key == 0 { KEYS } else { key })).collect::<Vec<_>>());
}

/// A step ends after a millisecond, looked at every 16 records at least: at 100 us a key after ten, or after nine and
/// sixteen more.
#[test]
fn ruling_11_a_slow_function_at_the_end_takes_a_millisecond_of_a_step() {
    let (calls, env, source) = (Calls::default(), env(), Fed::new(KEYS));
    let sink = job(&calls, &env, &source, Duration::from_micros(100));
    let mut hand = at_the_end(&calls, &env, &source);
    let (mut most, mut steps) = (Vec::new(), 0);
    while calls.count() < KEYS {
        let before = calls.count();
        assert_ne!(hand.step("process"), Stepped::Gone);
        most.push(calls.count() - before);
        steps += 1;
        hand.run("behind");
    }
    assert!(most.iter().all(|calls| *calls <= 25), "{most:?}");
    assert!(steps >= KEYS / 12, "{steps} steps");
    hand.finish().unwrap();
    check(&sink);
}

/// A step ends as soon as there is overdraft, and goes on where it stopped once there is room.
#[test]
fn ruling_11_the_function_at_the_end_waits_for_room() {
    let (calls, env, source) = (Calls::default(), env(), Fed::new(KEYS));
    env.configure(|settings| settings.exchange.ring_segments = 2);
    let sink = job(&calls, &env, &source, Duration::ZERO);
    let mut hand = at_the_end(&calls, &env, &source);
    hand.run("process");
    let stopped = calls.count();
    // Of 32 KiB, 16 bytes a record: two segments are in the ring, a third one waits, which the next record made it do.
    assert_eq!(stopped, 3 * (32 << 10) / 16 + 1);
    hand.run("process");
    assert_eq!(calls.count(), stopped, "no key more while there is no room");
    hand.run("behind");
    hand.run("process");
    assert!(calls.count() > stopped);
    hand.finish().unwrap();
    check(&sink);
}

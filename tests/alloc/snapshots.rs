//! What a snapshot on its way to the disk takes, when the disk does not proceed.

use crate::counting::Counts;
use crate::hand::{Hand, env};
use millstream::Env;
use millstream::config::{ByteSize, StateBackend};
use millstream::connector::Generator;
use millstream::runtime::Stepped;
use millstream_io::storage::MemoryStorage;
use millstream_tests::CountSink;
use std::time::Duration;

/// Keys: some 5 MB of pages, all of which a snapshot has.
const KEYS: u64 = 200_000;

/// Bytes of a chunk.
const CHUNK: u64 = 16 << 10;

/// 64 chunks on their way, and as much again for copies of what was changed before its turn.
const BOUND: u64 = 2 * 64 * CHUNK;

/// Beyond it: what a step of the task copies, before anybody looks again, and that a chunk's buffer has room for a page more.
const BEYOND: u64 = (128 << 10) + 2 * 64 * (4 << 10);

const TIMEOUT: Duration = Duration::from_secs(2);

/// Counts each of the keys three times, in so many key groups.
fn job(groups: u32, sink: CountSink<(u64, u64)>) -> Env {
    let env = env();
    env.configure(|settings| {
        settings.checkpointing.timeout = TIMEOUT;
        settings.pipeline.parallelism = 1;
        settings.pipeline.max_parallelism = Some(groups);
        settings.exchange.segment_size = ByteSize::kb(1);
        settings.state.backend = StateBackend::Paged;
        settings.state.paged_small_state = ByteSize(0);
        settings.state.paged_memory = Some(ByteSize::mb(1));
        settings.state.paged_chunk_size = ByteSize(CHUNK);
    });
    env.source(Generator::new(3 * KEYS, |i| i))
        .name("in")
        .uid("in")
        .key_by::<u64>(|n| n.get() % KEYS)
        .process::<u64, (u64, u64)>("count", |_, _, count, _| *count += 1)
        .on_end(|key, count, out| out.emit((key, *count)))
        .uid("count")
        .sink(sink)
        .uid("out");
    env
}

/// The job has each key once, and the barrier of its first checkpoint is behind that.
fn triggered(env: &Env) -> Hand {
    let mut hand = Hand::begin(env, &MemoryStorage::new());
    while hand.control.metrics().records_in < KEYS {
        hand.step("in");
        hand.run("process");
    }
    hand.trigger();
    hand.step("in");
    hand.step("process");
    hand
}

/// Every key is counted three times, whatever happened.
fn check(hand: Hand, sink: &CountSink<(u64, u64)>) {
    assert_eq!(hand.finish().unwrap().records_in, 3 * KEYS);
    assert_eq!(sink.total(), KEYS, "each key counts three times");
}

fn sink() -> CountSink<(u64, u64)> {
    CountSink::new(|(_, count)| u64::from(*count == 3))
}

/// CP-24: once so much is kept records wait for the disk, and go on with it; also where it is always the turn of the group that
/// changes.
#[test]
fn cp_24_what_a_snapshot_keeps_in_memory_is_bounded_though_the_disk_does_not_proceed() {
    let counts = Counts::take();
    for groups in [128, 1] {
        let sink = sink();
        let mut hand = triggered(&job(groups, sink.clone()));
        let ((), peak) = counts.peak(|| {
            hand.run_all();
        });
        let read = hand.control.metrics().records_in;
        assert!(peak <= BOUND + BEYOND, "{groups} groups: {peak} bytes");
        assert!(peak > BOUND / 2, "{groups} groups: {peak} bytes: it is this that held the records back");
        assert!(read < 2 * KEYS, "{groups} groups: {read} records");
        assert_eq!(hand.step("process"), Stepped::Idle(None), "nothing but the disk can help");
        hand.work();
        hand.run_all();
        assert!(hand.control.metrics().records_in > read, "with the disk records go on");
        hand.settle();
        assert_eq!(hand.failed(), 0);
        check(hand, &sink);
    }
}

/// CP-16: an abort frees what waited for its turn, and records go on although the disk still does not proceed.
#[test]
fn cp_16_an_abort_frees_what_a_snapshot_keeps_and_lets_records_go_on() {
    let counts = Counts::take();
    let sink = sink();
    let mut hand = triggered(&job(128, sink.clone()));
    let before = counts.live();
    hand.run_all();
    let read = hand.control.metrics().records_in;
    assert!(read < 2 * KEYS && counts.live() > before + BOUND * 3 / 4, "records wait");
    hand.pass(TIMEOUT);
    assert_eq!(hand.failed(), 1);
    hand.step("process");
    let live = counts.live() - before;
    assert!(live < BOUND / 2 + BEYOND, "{live} bytes: what was on its way already");
    hand.run_all();
    assert_eq!(hand.control.metrics().records_in, 3 * KEYS, "all records");
    hand.settle();
    check(hand, &sink);
}

//! Keyed state that a program does not have any more stays in its checkpoints (ST-03).

use crate::hand::{Hand, env};
use crate::parts::Fed;
use millstream::Env;
use millstream::config::{ByteSize, StateBackend};
use millstream::connector::{CollectSink, Collected};
use millstream_io::storage::MemoryStorage;
use std::collections::BTreeMap;

const KEYS: u64 = 1_000;

struct Job {
    source: Fed,
    sink: CollectSink<(u64, u64)>,
    seen: Collected<(u64, u64)>,
}

impl Job {
    fn new() -> Self {
        let sink = CollectSink::new();
        Self { source: Fed::new(KEYS * 100), seen: sink.collected(), sink }
    }

    /// The operator is always the same; what it is called is what its state is called.
    fn env(&self, state: &str, backend: StateBackend, parallelism: i64) -> Env {
        let env = env();
        env.configure(|settings| {
            settings.state.backend = backend;
            settings.state.paged_small_state = ByteSize(0);
            settings.checkpointing.data_inline_threshold = ByteSize(0);
        });
        env.source(self.source.clone())
            .name("in")
            .uid("in")
            .key_by::<u64>(|n| n.get() % KEYS)
            .process::<u64, (u64, u64)>(state, |cx, _, count, out| {
                *count += 1;
                out.emit((cx.key(), *count));
            })
            .uid("operator")
            .max_parallelism(8)
            .parallelism(parallelism)
            .sink(self.sink.clone())
            .uid("out");
        env
    }
}

/// Every key once; the last count of each that comes out.
#[track_caller]
fn round(job: &Job, hand: &mut Hand, rounds: u64) -> BTreeMap<u64, u64> {
    job.seen.take();
    job.source.allow(KEYS * rounds);
    hand.run_all();
    hand.checkpoint();
    let mut last = BTreeMap::new();
    for (key, count) in job.seen.take() {
        let last = last.entry(key).or_default();
        *last = count.max(*last);
    }
    assert_eq!(last.len() as u64, KEYS);
    last
}

/// A program that does not know state "a" takes checkpoints, at other parallelisms, is killed and fails; the old program then
/// finds "a" as it left it, and the other one its own.
fn survives(backend: StateBackend) {
    let job = Job::new();
    let mut disk = MemoryStorage::new();
    let mut rounds = 0;
    let next = |disk: &mut MemoryStorage,
                state: &str,
                parallelism: i64,
                rounds: &mut u64,
                expected: &[u64],
                fails: bool| {
        *disk = disk.kill_image();
        let mut hand = Hand::begin(&job.env(state, backend, parallelism), &*disk);
        for count in expected {
            *rounds += 1;
            let counts = round(&job, &mut hand, *rounds);
            assert!(counts.values().all(|found| found == count), "{state} at {parallelism}: {counts:?}");
            if fails {
                hand.fail("process");
                hand.finish_restart();
            }
        }
    };
    next(&mut disk, "a", 2, &mut rounds, &[1, 2], false);
    next(&mut disk, "b", 2, &mut rounds, &[1, 2], false);
    next(&mut disk, "b", 1, &mut rounds, &[3, 4, 5], true);
    next(&mut disk, "b", 4, &mut rounds, &[6], true);
    next(&mut disk, "c", 3, &mut rounds, &[1, 2], false);
    next(&mut disk, "a", 3, &mut rounds, &[3, 4], false);
    next(&mut disk, "b", 1, &mut rounds, &[7], false);
    next(&mut disk, "c", 2, &mut rounds, &[3], false);
}

#[test]
fn st_03_unused_state_in_pages_survives() {
    survives(StateBackend::Paged);
}

#[test]
fn st_03_unused_state_on_the_heap_survives() {
    survives(StateBackend::Hashmap);
}

/// A write that fails loses what states that are used had changed, and nothing of one that is not used.
#[test]
fn st_03_unused_state_survives_a_lost_snapshot() {
    use millstream_io::storage::fault::{Fault, FaultStorage, Op};
    let job = Job::new();
    let disk = MemoryStorage::new();
    let mut hand = Hand::begin(&job.env("a", StateBackend::Paged, 1), &disk);
    round(&job, &mut hand, 1);
    drop(hand);
    let disk = disk.kill_image();
    let faulty = FaultStorage::new(std::sync::Arc::new(disk.clone()));
    let mut hand = Hand::begin(&job.env("b", StateBackend::Paged, 1), &faulty);
    faulty.fail_every(Op::Append, Some(Fault::Before(28)));
    job.source.allow(KEYS + 10);
    hand.run_all();
    hand.trigger();
    hand.settle();
    assert_eq!(hand.failed(), 1);
    faulty.fail_every(Op::Append, None);
    round(&job, &mut hand, 2);
    drop(hand);
    let mut hand = Hand::begin(&job.env("a", StateBackend::Paged, 1), &disk.kill_image());
    assert!(round(&job, &mut hand, 3).values().all(|count| *count == 2));
}

/// With `--allow-non-restored-state` it is left behind, as it was asked for.
#[test]
fn st_03_unused_state_is_left_behind_where_that_is_allowed() {
    let job = Job::new();
    let disk = MemoryStorage::new();
    let mut hand = Hand::begin(&job.env("a", StateBackend::Paged, 1), &disk);
    round(&job, &mut hand, 1);
    drop(hand);
    let disk = disk.kill_image();
    let env = job.env("b", StateBackend::Paged, 1);
    env.configure(|settings| settings.recovery.ignore_unclaimed_state = true);
    let mut hand = Hand::begin(&env, &disk);
    round(&job, &mut hand, 2);
    drop(hand);
    let mut hand = Hand::begin(&job.env("a", StateBackend::Paged, 1), &disk.kill_image());
    assert!(round(&job, &mut hand, 3).values().all(|count| *count == 1));
}

//! Loops (IT): by hand, so that records are in the loop at the moment that a rule is about.

use crate::hand::{Hand, INTERVAL, env};
use crate::parts::Fed;
use millstream::checkpoint::AckMetrics;
use millstream::config::{ByteSize, Settings};
use millstream::connector::{CollectSink, Collected};
use millstream::{Class, Env};
use millstream_io::storage::{MemoryStorage, Storage};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A job with a loop: each number goes round as often as its last digit says, and leaves then.
struct Turns {
    source: Fed,
    sink: CollectSink<u64>,
    seen: Collected<u64>,
}

impl Turns {
    fn new(last: u64) -> Self {
        let sink = CollectSink::new();
        Self { source: Fed::new(last), seen: sink.collected(), sink }
    }

    fn env(&self, parallelism: i64, change: impl FnOnce(&mut Settings)) -> Env {
        let env = allowed();
        env.configure(change);
        let numbers = env.source(self.source.clone()).name("in").uid("in").parallelism(1);
        let begun = numbers.rebalance().uid("middle").map(|n| (n, n % 10)).parallelism(parallelism);
        let ended = begun.iterate(|numbers| {
            let (back, out) = numbers.name("head").uid("head").fork();
            let back = back.name("back").filter(|(_, left)| left > 0).map(|(n, left)| (n, left - 1));
            (back, out.name("out").filter(|(_, left)| left == 0))
        });
        ended.map(|(n, _)| n).sink(self.sink.clone()).uid("sink");
        env
    }

    /// All numbers, each once.
    #[track_caller]
    fn assert_exact(&self, last: u64) {
        let mut all = self.seen.take();
        all.sort_unstable();
        assert!(all.iter().copied().eq(1..=last), "{} numbers", all.len());
    }
}

/// An environment in which checkpoints of loops are taken, with short rings.
fn allowed() -> Env {
    let env = env();
    env.configure(|settings| {
        settings.checkpointing.iterations_forced = true;
        settings.checkpointing.unaligned_forced = true;
        settings.exchange.segment_size = ByteSize(1024);
        settings.exchange.ring_segments = 4;
    });
    env
}

fn newest(hand: &Hand) -> AckMetrics {
    hand.control.metrics().checkpoints.latest_completed().unwrap().metrics
}

/// IT-01, ER-13, ER-14: refused, with the reason and the switch, and nothing is begun.
#[test]
fn it_01_checkpoints_of_a_loop_are_refused_unless_they_are_forced() {
    let (disk, job) = (MemoryStorage::new(), Turns::new(10));
    let refusal = |change: fn(&mut Settings)| {
        let error = Hand::try_launch(&job.env(1, change), &disk).err().expect("it is refused");
        assert_eq!((error.class(), error.at()), (Class::Refuse, "head"));
        format!("{}: {} / {}", error.what(), error.cause(), error.hint().unwrap())
    };
    let first = refusal(|settings| settings.checkpointing.iterations_forced = false);
    assert!(first.contains("in flight in the loop are lost at a failure"), "{first}");
    assert!(first.contains("execution.checkpointing.iterations.forced = true"), "{first}");
    let second = refusal(|settings| {
        settings.checkpointing.unaligned = true;
        settings.checkpointing.unaligned_forced = false;
    });
    assert!(second.contains("execution.checkpointing.unaligned.forced = true"), "{second}");
    assert!(disk.list(Path::new("/ck")).is_err(), "nothing was made");
    // Without checkpoints nobody needs to be asked.
    let env = job.env(1, |settings| {
        settings.checkpointing.interval = None;
        settings.checkpointing.dir = None;
        settings.checkpointing.iterations_forced = false;
    });
    job.source.end();
    Hand::begin(&env, &disk).finish().unwrap();
    job.assert_exact(10);
}

#[test]
fn it_01_what_is_fed_back_comes_from_the_loop() {
    let env = allowed();
    let other = env.source(Fed::new(3)).rebalance();
    let numbers = env.source(Fed::new(3)).rebalance();
    numbers.iterate(|numbers| (other, numbers)).sink(CollectSink::new());
    let error = Hand::try_launch(&env, &MemoryStorage::new()).err().expect("it is refused");
    assert!(error.to_string().contains("does not come from this loop"), "{error}");
}

/// IT-02 in this engine's form: what is fed back when the head takes its snapshot is part of it, and nothing is lost. Of the
/// numbers that were read, those that had not left by then were, each with what is left of its turns (two words).
#[test]
fn it_02_records_in_the_loop_are_part_of_an_aligned_checkpoint() {
    let (disk, job) = (MemoryStorage::new(), Turns::new(500));
    let mut hand = Hand::begin(&job.env(1, |_| {}), &disk);
    assert_eq!(job.source.opened(), "[0]");
    job.source.allow(300);
    for name in ["in", "rebalance", "head", "back"] {
        hand.run(name);
    }
    hand.checkpoint();
    let metrics = newest(&hand);
    assert!(!metrics.unaligned, "nothing was overtaken but what is fed back");
    let left = job.seen.len() as u64;
    assert!(left < 300, "some were in the loop");
    assert_eq!(metrics.persisted_bytes, (300 - left) * 16);
    drop(hand);
    let hand = Hand::begin(&job.env(1, |_| {}), &disk.kill_image());
    assert_eq!(job.source.opened(), "[300]");
    job.source.end();
    assert_eq!(hand.finish().unwrap().records_in, 500);
    job.assert_exact(500);
}

/// IT-02, UC-06: at another parallelism they are given out anew, and with barriers that overtake so is everything in the loop.
#[test]
fn it_02_records_in_the_loop_are_given_out_anew() {
    for (before, after, unaligned) in [(2, 3, false), (3, 1, false), (2, 3, true), (3, 1, true), (1, 2, true)]
    {
        let (disk, job) = (MemoryStorage::new(), Turns::new(900));
        let overtake = |settings: &mut Settings| settings.checkpointing.unaligned = unaligned;
        let mut hand = Hand::begin(&job.env(before, overtake), &disk);
        job.source.allow(600);
        hand.run("in");
        for name in ["rebalance", "head", "back"] {
            (0..before).for_each(|n| hand.run(&names(&hand, name)[n as usize]));
        }
        hand.checkpoint();
        assert_eq!(newest(&hand).unaligned, unaligned);
        assert!(newest(&hand).persisted_bytes > 0, "{before} to {after}");
        drop(hand);
        let hand = Hand::begin(&job.env(after, overtake), &disk.kill_image());
        job.source.end();
        assert_eq!(hand.finish().unwrap().records_in, 900, "{before} to {after}, {unaligned}");
        job.assert_exact(900);
    }
}

/// The subtasks whose name begins so.
fn names(hand: &Hand, begin: &str) -> Vec<String> {
    hand.names().into_iter().filter(|name| name.starts_with(begin)).collect()
}

/// IT-02: keys whose records go round find their state, at any parallelism.
#[test]
fn it_02_what_is_fed_back_goes_to_its_key() {
    let job = |source: &Fed, sink: &CollectSink<(u64, u64)>, parallelism: i64| {
        let env = allowed();
        let numbers = env.source(source.clone()).name("in").uid("in").parallelism(1);
        let counted = numbers.map(|n| n % 10).key_by::<u64>(|n| n.get()).iterate(|numbers| {
            let visits = numbers
                .process::<u64, (bool, u64, u64)>("visits", |_, n, visits, out| {
                    *visits += 1;
                    out.emit((false, n, 0));
                })
                .on_end(|key, visits, out| out.emit((true, key, *visits)))
                .uid("visits")
                .max_parallelism(128)
                .parallelism(parallelism);
            let (back, out) = visits.fork();
            let back = back.name("back").filter(|(end, n, _)| !end && n > 0).map(|(_, n, _)| n - 1);
            (back, out.name("out").filter(|(end, ..)| end))
        });
        counted.map(|(_, key, visits)| (key, visits)).sink(sink.clone()).uid("sink");
        env
    };
    for (before, after) in [(1, 2), (3, 2), (2, 2)] {
        let (disk, source, sink) = (MemoryStorage::new(), Fed::new(1_000), CollectSink::new());
        let seen = sink.collected();
        let mut hand = Hand::begin(&job(&source, &sink, before), &disk);
        source.allow(700);
        hand.run("in");
        for name in ["process", "back"] {
            (0..before).for_each(|n| hand.run(&names(&hand, name)[n as usize]));
        }
        hand.checkpoint();
        assert!(newest(&hand).persisted_bytes > 0);
        drop(hand);
        let hand = Hand::begin(&job(&source, &sink, after), &disk.kill_image());
        source.end();
        hand.finish().unwrap();
        let mut visits = seen.take();
        visits.sort_unstable();
        // A number comes by itself and all below it; there are a hundred of each last digit.
        assert_eq!(
            visits,
            (0..10).map(|key| (key, (10 - key) * 100)).collect::<Vec<_>>(),
            "{before} to {after}"
        );
    }
}

/// Two checkpoints at a time: the head takes the second snapshot when the first one has come round, and each has what was
/// in the loop then.
#[test]
fn it_02_the_next_checkpoint_begins_its_turn_when_the_one_before_has_come_back() {
    let (disk, job) = (MemoryStorage::new(), Turns::new(400));
    let two = |settings: &mut Settings| settings.checkpointing.max_concurrent = 2;
    let mut hand = Hand::begin(&job.env(1, two), &disk);
    job.source.allow(200);
    for name in ["in", "rebalance", "head", "back"] {
        hand.run(name);
    }
    let first = hand.trigger();
    for name in ["in", "rebalance", "head"] {
        hand.run(name);
    }
    let second = hand.trigger();
    hand.settle();
    assert_eq!((hand.completed(), hand.failed()), (Some(second), 0));
    assert!(first < second);
    assert_eq!(hand.control.metrics().checkpoints.counts().completed, 2);
    drop(hand);
    let hand = Hand::begin(&job.env(1, two), &disk.kill_image());
    job.source.end();
    hand.finish().unwrap();
    job.assert_exact(400);
}

/// A checkpoint that expires while its barrier goes round is in nobody's way, nor is the barrier.
#[test]
fn it_02_a_checkpoint_that_expires_on_its_way_round_is_in_nobodys_way() {
    let (disk, job) = (MemoryStorage::new(), Turns::new(400));
    let brief = |settings: &mut Settings| settings.checkpointing.timeout = Duration::from_secs(3);
    let mut hand = Hand::begin(&job.env(1, brief), &disk);
    job.source.allow(200);
    for name in ["in", "rebalance", "head", "back"] {
        hand.run(name);
    }
    hand.trigger();
    for name in ["in", "rebalance", "head"] {
        hand.run(name);
    }
    hand.pass(Duration::from_secs(3));
    assert_eq!((hand.completed(), hand.failed()), (None, 1));
    hand.run("head");
    hand.clock.advance(INTERVAL - Duration::from_secs(3));
    hand.turn();
    hand.settle();
    assert_eq!(hand.completed().map(|id| id.0), Some(2));
    drop(hand);
    let hand = Hand::begin(&job.env(1, brief), &disk.kill_image());
    job.source.end();
    hand.finish().unwrap();
    job.assert_exact(400);
}

/// IT-03: a loop may go on for long when its input has ended, and checkpoints with it, also when the sources are gone.
#[test]
fn it_03_checkpoints_go_on_when_only_the_loop_does() {
    let (disk, source, sink) = (MemoryStorage::new(), Fed::new(3), CollectSink::<u64>::new());
    let enough = Arc::new(AtomicBool::new(false));
    let (seen, leave) = (sink.collected(), enough.clone());
    let env = allowed();
    let numbers = env.source(source.clone()).name("in").uid("in");
    let ended = numbers.iterate(move |numbers| {
        let marked = numbers.name("head").map(move |n| (leave.load(Ordering::Relaxed), n));
        let (back, out) = marked.fork();
        let back = back.name("back").filter(|(leaves, _)| !leaves).map(|(_, n)| n);
        (back, out.name("out").filter(|(leaves, _)| leaves).map(|(_, n)| n))
    });
    ended.sink(sink);
    let mut hand = Hand::begin(&env, &disk);
    source.end();
    // The numbers never rest.
    let turns = |hand: &mut Hand, turns: usize| {
        for _ in 0..turns {
            for name in hand.names() {
                hand.step(&name);
            }
            hand.work();
            hand.turn();
        }
    };
    turns(&mut hand, 10);
    for expected in 1..=3 {
        hand.trigger();
        turns(&mut hand, 20);
        assert_eq!(hand.completed().map(|id| id.0), Some(expected));
        assert_eq!(newest(&hand).persisted_bytes, 3 * 8, "all three are fed back");
    }
    assert!(names(&hand, "in").is_empty(), "the source is gone");
    assert_eq!(seen.len(), 0);
    enough.store(true, Ordering::Relaxed);
    hand.finish().unwrap();
    let mut seen = seen.take();
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 3]);
}

/// IT-03: nobody takes what is fed back when the input has ended, and whoever does that is told.
#[test]
fn it_03_what_is_fed_back_at_the_end_fails_the_job() {
    let (env, source) = (allowed(), Fed::new(20));
    let numbers = env.source(source.clone());
    let ended = numbers.key_by::<u64>(|n| n.get() % 3).iterate(|numbers| {
        let counted = numbers
            .process::<u64, u64>("count", |_, _, count, _| *count += 1)
            .on_end(|_, count, out| out.emit(*count));
        counted.fork()
    });
    ended.sink(CollectSink::new());
    let hand = Hand::begin(&env, &MemoryStorage::new());
    source.end();
    let error = hand.finish().unwrap_err();
    assert_eq!(error.class(), Class::Data, "{error}");
    assert!(error.to_string().contains("fed back after the loop had ended"), "{error}");
}

/// A job that is stopped has what is in its loop in its final checkpoint.
#[test]
fn it_02_a_stop_keeps_what_is_in_the_loop() {
    let (disk, job) = (MemoryStorage::new(), Turns::new(400));
    let mut hand = Hand::begin(&job.env(2, |_| {}), &disk);
    job.source.allow(300);
    hand.run("in");
    for name in ["rebalance", "head", "back"] {
        (0..2).for_each(|n| hand.run(&names(&hand, name)[n]));
    }
    hand.stop();
    hand.settle();
    assert!(hand.is_over());
    hand.outcome().unwrap();
    assert!(job.seen.len() < 300);
    let hand = Hand::begin(&job.env(3, |_| {}), &disk.kill_image());
    job.source.end();
    hand.finish().unwrap();
    job.assert_exact(400);
}

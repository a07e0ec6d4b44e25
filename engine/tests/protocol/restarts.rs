//! Restart strategies as a job has them, on a clock that the test moves: when the next attempt begins, and when none does.

use crate::hand::{Hand, env};
use crate::parts::Fed;
use millstream::JobState;
use millstream::config::{Restart, RestartKind};
use millstream::connector::CollectSink;
use millstream_io::storage::MemoryStorage;
use std::time::Duration;

const TENTH: Duration = Duration::from_millis(100);

fn job(change: impl FnOnce(&mut Restart)) -> Hand {
    let env = env();
    env.configure(|settings| change(&mut settings.restart));
    env.source(Fed::new(10)).name("in").sink(CollectSink::new());
    Hand::begin(&env, &MemoryStorage::new())
}

/// The job fails. After how many tenths of a second does the next attempt begin? None: it has failed for good.
fn fails(hand: &mut Hand) -> Option<u32> {
    hand.fail("in");
    let mut tenths = 0;
    while !hand.is_over() {
        if hand.control.metrics().state == JobState::Starting {
            hand.settle();
            assert_eq!(hand.control.metrics().state, JobState::Running);
            return Some(tenths);
        }
        assert_eq!(hand.control.metrics().state, JobState::Restarting);
        hand.pass(TENTH);
        tenths += 1;
    }
    None
}

/// What the job says when it has failed for good.
fn said(hand: Hand) -> String {
    hand.outcome().unwrap_err().to_string()
}

#[test]
fn rs_01_none_on_the_clock() {
    let mut hand = job(|restart| restart.kind = RestartKind::None);
    assert_eq!(fails(&mut hand), None);
    let text = said(hand);
    assert!(text.contains("failed by hand") && !text.contains("strategy"), "{text}");
}

#[test]
fn rs_02_fixed_delay_on_the_clock() {
    let mut hand = job(|restart| {
        restart.kind = RestartKind::FixedDelay;
        (restart.fixed_delay.attempts, restart.fixed_delay.delay) = (3, Duration::from_secs(10));
    });
    let after = [(); 4].map(|()| {
        // However long it runs in between.
        hand.pass(Duration::from_secs(3600));
        hand.settle();
        fails(&mut hand)
    });
    assert_eq!(after, [Some(100), Some(100), Some(100), None]);
    let text = said(hand);
    assert!(text.contains("fixed-delay, attempts 3, delay 10s") && text.contains("failed by hand"), "{text}");
}

#[test]
fn rs_03_failure_rate_on_the_clock() {
    let rate = |restart: &mut Restart| {
        restart.kind = RestartKind::FailureRate;
        let rate = &mut restart.failure_rate;
        (rate.max_failures_per_interval, rate.interval, rate.delay) =
            (2, Duration::from_secs(60), Duration::from_secs(5));
    };
    let mut close = job(rate);
    assert_eq!([(); 3].map(|()| fails(&mut close)), [Some(50), Some(50), None]);
    assert!(said(close).contains("failure-rate"));
    let mut apart = job(rate);
    for _ in 0..5 {
        assert_eq!(fails(&mut apart), Some(50));
        apart.pass(Duration::from_secs(30));
        apart.settle();
    }
}

#[test]
fn rs_04_exponential_delay_on_the_clock() {
    let mut hand = job(|restart| {
        restart.kind = RestartKind::ExponentialDelay;
        restart.exponential_delay.jitter_factor = 0.0;
        restart.exponential_delay.backoff_multiplier = 2.0;
        restart.exponential_delay.max_backoff = Duration::from_secs(5);
        restart.exponential_delay.reset_backoff_threshold = Duration::from_secs(600);
        restart.exponential_delay.attempts_before_reset = Some(5);
    });
    assert_eq!([(); 4].map(|()| fails(&mut hand)), [10, 20, 40, 50].map(Some));
    // Ten quiet minutes.
    hand.pass(Duration::from_secs(600));
    hand.settle();
    assert_eq!([(); 6].map(|()| fails(&mut hand)), [Some(10), Some(20), Some(40), Some(50), Some(50), None]);
    assert!(said(hand).contains("attempts-before-reset-backoff 5"));
}

/// RS-13, and what a restart is for: each one is counted, and goes on from the newest completed checkpoint.
#[test]
fn rs_13_restores_are_counted_and_the_first_start_is_none() {
    let mut hand = job(|restart| restart.kind = RestartKind::FixedDelay);
    let id = hand.checkpoint();
    assert_eq!(hand.control.metrics().checkpoints.counts().restored, 0);
    fails(&mut hand);
    let metrics = hand.control.metrics();
    assert_eq!((metrics.restarts, metrics.checkpoints.counts().restored), (1, 1));
    assert_eq!(metrics.checkpoints.restored().map(|(restored, _)| restored), Some(id));
}

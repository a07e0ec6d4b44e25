//! The strategies by arithmetic: RS-01 to RS-07.

use super::{Decision, GaveUp, Restart, RestartStrategy};
use crate::config::{Config, ExponentialDelay, FailureRate, FixedDelay, Origin, RestartKind, Settings};
use millstream_io::error::Class;
use proptest::prelude::*;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

fn fail(restart: &mut Restart, now: Duration) -> Option<Duration> {
    match restart.on_failure(now, Class::Restart) {
        Decision::RestartAfter(delay) => Some(delay),
        Decision::GiveUp(_) => None,
    }
}

fn fixed(attempts: u32, delay: Duration) -> Restart {
    Restart::new(RestartStrategy::FixedDelay(FixedDelay { attempts, delay }), 1)
}

fn rate(max_failures_per_interval: u32, interval: Duration, delay: Duration) -> Restart {
    Restart::new(RestartStrategy::FailureRate(FailureRate { max_failures_per_interval, interval, delay }), 1)
}

fn exponential(change: impl FnOnce(&mut ExponentialDelay), seed: u64) -> Restart {
    let mut settings = ExponentialDelay::default();
    change(&mut settings);
    Restart::new(RestartStrategy::ExponentialDelay(settings), seed)
}

#[test]
fn rs_01_none_gives_up_at_the_first_failure() {
    assert_eq!(fail(&mut Restart::new(RestartStrategy::None, 1), SECOND), None);
}

#[test]
fn rs_02_a_job_may_restart_so_many_times_in_all() {
    let mut restart = fixed(3, 10 * SECOND);
    // However long it ran in between.
    for day in 1..=3 {
        assert_eq!(fail(&mut restart, Duration::from_secs(day * 86_400)), Some(10 * SECOND));
    }
    assert_eq!(fail(&mut restart, Duration::from_secs(4 * 86_400)), None);
}

#[test]
fn rs_03_the_fourth_failure_within_the_interval_is_too_many() {
    let at = |times: [u64; 4]| {
        let mut restart = rate(3, 5 * MINUTE, 10 * SECOND);
        times.map(|t| fail(&mut restart, Duration::from_secs(t)))
    };
    let go_on = Some(10 * SECOND);
    assert_eq!(at([0, 60, 120, 180]), [go_on, go_on, go_on, None]);
    // Exactly an interval after the first it still lies in the window, a second later not.
    assert_eq!(at([0, 60, 120, 300]), [go_on, go_on, go_on, None]);
    assert_eq!(at([0, 60, 120, 301]), [go_on; 4]);
}

#[test]
fn rs_03_failures_spread_wider_than_the_rate_never_end_the_job() {
    let mut restart = rate(3, 5 * MINUTE, 10 * SECOND);
    for n in 0..1000 {
        assert_eq!(fail(&mut restart, n * 101 * SECOND), Some(10 * SECOND));
    }
}

#[test]
fn rs_04_the_delays_grow_to_the_longest() {
    let mut restart = exponential(|s| s.jitter_factor = 0.0, 1);
    let mut now = SECOND;
    let mut delays = Vec::new();
    for _ in 0..13 {
        let delay = fail(&mut restart, now).expect("without limit");
        delays.push(delay.as_secs_f64());
        now += delay;
    }
    // 1.5^n by hand; 1.5^11 = 86.5 is above a minute.
    let expected = [
        1.0,
        1.5,
        2.25,
        3.375,
        5.0625,
        7.59375,
        11.390625,
        17.0859375,
        25.62890625,
        38.443359375,
        57.6650390625,
    ];
    for (delay, expected) in delays.iter().zip(expected) {
        assert!((delay - expected).abs() < 1e-6, "{delay} for {expected}");
    }
    assert_eq!(delays[11..], [60.0, 60.0]);
}

#[test]
fn rs_04_chance_stays_within_a_tenth_and_below_the_longest() {
    let mut seen_low = false;
    let mut seen_high = false;
    for seed in 0..200 {
        let mut restart = exponential(|_| {}, seed);
        let mut now = SECOND;
        for k in 0..20 {
            let delay = fail(&mut restart, now).expect("without limit");
            let plain = 1.5f64.powi(k).min(60.0);
            let part = delay.as_secs_f64() / plain;
            assert!((0.9 - 1e-6..=1.1 + 1e-6).contains(&part), "{part}");
            assert!(delay <= MINUTE);
            seen_low |= part < 0.91;
            seen_high |= part > 1.09;
            now += delay;
        }
    }
    assert!(seen_low && seen_high, "chance uses its whole range");
}

#[test]
fn rs_04_a_job_that_ran_long_enough_since_its_restart_was_due_begins_anew() {
    let mut restart = exponential(|s| (s.jitter_factor, s.attempts_before_reset) = (0.0, Some(3)), 1);
    let hour = 60 * MINUTE;
    assert_eq!(fail(&mut restart, SECOND), Some(SECOND));
    let due = 2 * SECOND;
    assert_eq!(fail(&mut restart, due + hour - SECOND), Some(SECOND + SECOND / 2), "a second too early");
    let due = due + hour + SECOND / 2;
    assert_eq!(fail(&mut restart, due + hour), Some(SECOND), "the delay begins anew");
    let due = due + hour + SECOND;
    // And so does the count: two more are allowed, the fourth without a reset is not.
    assert_eq!(fail(&mut restart, due), Some(SECOND + SECOND / 2));
    assert_eq!(fail(&mut restart, due + 10 * SECOND), Some(Duration::from_millis(2250)));
    assert_eq!(fail(&mut restart, due + 20 * SECOND), None);
}

#[test]
fn rs_04_failures_while_a_restart_is_scheduled_belong_to_it() {
    for mut restart in [
        exponential(|s| (s.jitter_factor, s.attempts_before_reset) = (0.0, Some(1)), 1),
        fixed(1, SECOND),
        rate(1, MINUTE, SECOND),
    ] {
        assert_eq!(fail(&mut restart, 10 * SECOND), Some(SECOND));
        assert_eq!(fail(&mut restart, 10 * SECOND), Some(SECOND), "the same restart");
        assert_eq!(fail(&mut restart, 10 * SECOND + SECOND / 4), Some(SECOND * 3 / 4), "the same moment");
        assert_eq!(fail(&mut restart, 11 * SECOND), None, "the restart has begun: this is another failure");
    }
}

/// The strategy that configuration entries come to.
fn configured(entries: &[(&str, &str)], checkpointing: bool) -> RestartStrategy {
    let config = Config::from_pairs(entries.iter().copied(), Origin::Code).expect("allowed");
    config.validate().expect("allowed");
    RestartStrategy::of(&config.restart, checkpointing)
}

#[test]
fn rs_05_by_default_a_job_restarts_for_ever_with_checkpoints_and_never_without() {
    let default = ExponentialDelay {
        initial_backoff: SECOND,
        max_backoff: MINUTE,
        backoff_multiplier: 1.5,
        reset_backoff_threshold: 60 * MINUTE,
        jitter_factor: 0.1,
        attempts_before_reset: None,
    };
    assert_eq!(configured(&[], true), RestartStrategy::ExponentialDelay(default));
    assert_eq!(configured(&[], false), RestartStrategy::None);
    // A strategy that was asked for always holds.
    assert_eq!(configured(&[("restart-strategy.type", "none")], true), RestartStrategy::None);
    let fixed = RestartStrategy::FixedDelay(FixedDelay { attempts: 1, delay: SECOND });
    assert_eq!(configured(&[("restart-strategy.type", "fixed-delay")], false), fixed);
    let rate = FailureRate { max_failures_per_interval: 1, interval: MINUTE, delay: SECOND };
    assert_eq!(
        configured(&[("restart-strategy.type", "failure-rate")], true),
        RestartStrategy::FailureRate(rate)
    );
}

#[test]
fn rs_06_names() {
    for (names, kind) in [
        (&["none", "off", "disable"][..], RestartKind::None),
        (&["fixed-delay", "fixeddelay"], RestartKind::FixedDelay),
        (&["failure-rate", "failurerate"], RestartKind::FailureRate),
        (&["exponential-delay", "exponentialdelay"], RestartKind::ExponentialDelay),
    ] {
        for name in names {
            let config = Config::from_pairs([("restart-strategy.type", name)], Origin::Code).expect("a name");
            assert_eq!(config.restart.kind, kind, "{name}");
        }
    }
    let refused =
        Config::from_pairs([("restart-strategy.type", "sometimes")], Origin::Code).unwrap_err().to_string();
    assert!(refused.contains("restart-strategy.type") && refused.contains("sometimes"), "{refused}");
}

#[test]
fn rs_03_and_rs_04_values_out_of_range_are_refused_by_key() {
    for (key, value) in [
        ("restart-strategy.exponential-delay.initial-backoff", "2min"),
        ("restart-strategy.exponential-delay.backoff-multiplier", "1.0"),
        ("restart-strategy.exponential-delay.jitter-factor", "1.5"),
        ("restart-strategy.exponential-delay.jitter-factor", "-0.1"),
        ("restart-strategy.exponential-delay.attempts-before-reset-backoff", "0"),
        ("restart-strategy.failure-rate.max-failures-per-interval", "0"),
        ("restart-strategy.failure-rate.failure-rate-interval", "0s"),
    ] {
        let read = Config::from_pairs([(key, value)], Origin::Code);
        let refused = read.and_then(|config| config.validate()).expect_err(key).to_string();
        assert!(refused.contains(key), "{refused}");
    }
}

#[test]
fn rs_07_an_error_that_a_restart_would_meet_again_ends_the_job_under_any_strategy() {
    for class in [Class::Data, Class::Refuse, Class::Fatal] {
        for mut restart in [fixed(9, SECOND), rate(9, MINUTE, SECOND), exponential(|_| {}, 1)] {
            assert_eq!(restart.on_failure(SECOND, class), Decision::GiveUp(GaveUp::NotRestartable));
        }
    }
}

#[test]
fn er_24_giving_up_names_the_strategy_and_its_parameters() {
    let mut restart = fixed(0, 10 * SECOND);
    let Decision::GiveUp(why) = restart.on_failure(SECOND, Class::Restart) else {
        panic!("no restart is left")
    };
    assert_eq!(why.to_string(), "no restart left: restart strategy fixed-delay, attempts 0, delay 10s");
    let shown = RestartStrategy::of(&Settings::default().restart, true).to_string();
    for part in
        ["exponential-delay", "initial-backoff 1s", "max-backoff 1min", "backoff-multiplier 1.5", "1h", "0.1"]
    {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn extreme_settings_neither_overflow_nor_panic() {
    let mut restart = exponential(
        |s| (s.initial_backoff, s.max_backoff, s.backoff_multiplier) = (SECOND, Duration::MAX, 1e300),
        1,
    );
    let mut now = SECOND;
    for _ in 0..10 {
        let delay = fail(&mut restart, now).expect("without limit");
        now = now.saturating_add(delay).min(Duration::MAX - SECOND);
    }
}

proptest! {
    /// Against the definition: a failure is one too many when more than `m` lie within the interval up to it.
    #[test]
    fn rs_03_is_its_definition(m in 1u32..5, interval in 1u64..100, gaps in prop::collection::vec(1u64..60, 1..40)) {
        let mut restart = rate(m, Duration::from_secs(interval), Duration::ZERO);
        let mut times: Vec<u64> = Vec::new();
        let mut now = 0;
        for gap in gaps {
            now += gap;
            times.push(now);
            let within = times.iter().filter(|t| now - **t <= interval).count();
            let goes_on = fail(&mut restart, Duration::from_secs(now)).is_some();
            prop_assert_eq!(goes_on, within <= m as usize);
            if !goes_on {
                break;
            }
        }
    }

    /// Against repeated multiplication, with resets where the job ran long enough.
    #[test]
    fn rs_04_is_its_arithmetic(
        initial in 1u64..100,
        max in 100u64..5000,
        multiplier in 1.1f64..3.0,
        reset in 1u64..10_000,
        attempts in prop::option::of(1u32..8),
        runs in prop::collection::vec(0u64..20_000, 1..30),
    ) {
        let ms = Duration::from_millis;
        let mut restart = exponential(|s| {
            *s = ExponentialDelay {
                initial_backoff: ms(initial),
                max_backoff: ms(max),
                backoff_multiplier: multiplier,
                reset_backoff_threshold: ms(reset),
                jitter_factor: 0.0,
                attempts_before_reset: attempts,
            }
        }, 1);
        let (mut now, mut count, mut plain) = (ms(0), 0u32, 0.0f64);
        for run in runs {
            now += ms(run);
            if count == 0 || run >= reset {
                (count, plain) = (1, initial as f64);
            } else {
                (count, plain) = (count + 1, plain * multiplier);
            }
            match fail(&mut restart, now) {
                None => {
                    prop_assert!(attempts.is_some_and(|attempts| count > attempts));
                    break;
                }
                Some(delay) => {
                    prop_assert!(attempts.is_none_or(|attempts| count <= attempts));
                    let expected = plain.min(max as f64);
                    let found = delay.as_secs_f64() * 1000.0;
                    prop_assert!((found - expected).abs() < 1e-3 * expected, "{} for {}", found, expected);
                    now += delay;
                }
            }
        }
    }
}

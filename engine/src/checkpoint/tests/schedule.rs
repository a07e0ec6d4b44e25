//! When periodic checkpoints are triggered: CP-01 to CP-06.

use super::story::{Story, every_second, ms, tell};
use crate::checkpoint::{Coordinator, Input, SubtaskId, TaskInfo};
use crate::config::{Checkpointing, Config, Origin};
use std::time::Duration;

fn refused(key: &str, value: &str) -> Option<String> {
    let mut config = Config::new();
    let set = config.set(key, value, Origin::Code);
    set.and_then(|()| config.validate()).err().map(|error| error.to_string())
}

#[test]
fn cp_01_values_out_of_range_are_refused_with_key_and_limit() {
    for key in ["execution.checkpointing.interval", "execution.checkpointing.timeout"] {
        let message = refused(key, "9ms").expect("9 ms is refused");
        assert!(message.contains(key) && message.contains("10ms"), "{message}");
        assert_eq!(refused(key, "10ms"), None);
    }
    let pause = refused("execution.checkpointing.min-pause", "-1ms").expect("a negative pause is refused");
    assert!(pause.contains("execution.checkpointing.min-pause"), "{pause}");
    let concurrent =
        refused("execution.checkpointing.max-concurrent-checkpoints", "0").expect("none is refused");
    assert!(concurrent.contains("at least 1"), "{concurrent}");
    assert!(refused("execution.checkpointing.tolerable-failed-checkpoints", "-1").is_some());
    assert_eq!(refused("execution.checkpointing.tolerable-failed-checkpoints", "0"), None);
}

#[test]
fn cp_01_without_an_interval_nothing_is_triggered_and_the_counts_are_there() {
    let mut story = tell(&Checkpointing::default(), "start s0 1");
    assert_eq!(story.due(), None);
    story.tell(
        "5000 tick
         3600000 tick",
    );
    assert_eq!(story.statistics.counts(), Default::default());
}

#[test]
fn cp_02_the_interval_is_from_start_to_start() {
    tell(
        &every_second(),
        "start s0 1
         0    tick     => trigger 1 [0]
         50   ack 1 0
         90   ack 1 1  => store 1 [0 1]
         100  stored 1 => complete 1 [0 1]
         999  tick
         1000 tick     => trigger 2 [0]
         1300 ack 2 0
         1300 ack 2 1  => store 2 [0 1]
         1301 stored 2 => complete 2 [0 1]
         2000 tick     => trigger 3 [0]",
    );
}

/// The first trigger after a start, for a seed.
fn first_delay(config: &Checkpointing, seed: u64) -> Duration {
    let mut coordinator = Coordinator::<()>::new(config);
    let tasks = vec![TaskInfo { subtask: SubtaskId(0), task: 0, source: true, finished: false }];
    coordinator.on(ms(500), Input::Started { tasks, seed }, &mut Vec::new());
    coordinator.due().expect("planned") - ms(500)
}

#[test]
fn cp_02_the_first_delay_is_drawn_from_pause_to_interval() {
    let config = Checkpointing { min_pause: ms(200), ..every_second() };
    let delays: Vec<Duration> = (0..1000).map(|seed| first_delay(&config, seed)).collect();
    assert!(delays.iter().all(|delay| (ms(200)..=ms(1000)).contains(delay)));
    // A thousand draws from 800 ms leave no tenth of it out.
    for tenth in 0..10 {
        let within = ms(200 + tenth * 80)..ms(200 + (tenth + 1) * 80);
        assert!(delays.iter().any(|delay| within.contains(delay)), "none in {within:?}");
    }
    assert_eq!(first_delay(&config, 3), first_delay(&config, 3));
}

#[test]
fn cp_02_an_interval_below_the_pause_is_the_pause() {
    let config = Checkpointing { interval: Some(ms(100)), min_pause: ms(5000), ..Checkpointing::default() };
    assert_eq!(first_delay(&config, 1), ms(5000));
    assert_eq!(config.effective().interval, Some(ms(5000)));
}

#[test]
fn cp_02_a_restart_begins_a_new_schedule_and_forgets_the_old_one() {
    let mut story = tell(
        &every_second(),
        "start s0
         0    tick     => trigger 1 [0]
         100  fail     => abort 1 [] AttemptEnded
         1000 tick
         2000 tick
         5000 tick",
    );
    assert_eq!(story.due(), None);
    story.tell(
        "start s0
         0    tick     => trigger 2 [0]
         1    ack 2 0  => store 2 [0]
         2    stored 2 => complete 2 [0]
         1000 tick     => trigger 3 [0]",
    );
    // A pause as long as the interval leaves nothing to chance: the first point is one interval after the start.
    let mut story = tell(
        &Checkpointing { min_pause: ms(1000), ..every_second() },
        "start s0
         0    tick     => trigger 1 [0]
         300  fail     => abort 1 [] AttemptEnded",
    );
    let begun = story.now;
    story.tell("start s0");
    assert_eq!(
        story.coordinator.due(),
        Some(begun + ms(1000)),
        "not 700 ms, where the old one's next point is"
    );
}

#[test]
fn cp_03_a_blocked_tick_waits_for_the_end_and_only_one_of_them() {
    tell(
        &every_second(),
        "start s0
         0    tick     => trigger 1 [0]
         1000 tick
         2000 tick
         3000 tick
         3200 ack 1 0  => store 1 [0]
         3210 stored 1 => complete 1 [0]; trigger 2 [0]
         3220 ack 2 0  => store 2 [0]
         3230 stored 2 => complete 2 [0]
         3999 tick
         4000 tick     => trigger 3 [0]",
    );
}

#[test]
fn cp_03_a_blocked_tick_starts_after_a_failure_too() {
    let config = Checkpointing { tolerable_failed: 5, ..every_second() };
    tell(
        &config,
        "start s0
         0    tick                 => trigger 1 [0]
         1500 tick
         1600 decline 1 0 snapshot => abort 1 [0] Snapshot; trigger 2 [0]
         2000 tick
         2100 decline 2 0 limit    => abort 2 [0] AlignmentLimit; trigger 3 [0]",
    );
}

#[test]
fn cp_04_the_pause_is_from_end_to_start_and_moves_the_grid() {
    // Interval 100 ms, pause 5 s, a checkpoint of 1 s: the period is 6 s.
    let config = Checkpointing { interval: Some(ms(100)), min_pause: ms(5000), ..Checkpointing::default() };
    tell(
        &config,
        "start s0
         0     tick     => trigger 1 [0]
         990   ack 1 0  => store 1 [0]
         1000  stored 1 => complete 1 [0]
         5000  tick
         5999  tick
         6000  tick     => trigger 2 [0]
         6990  ack 2 0  => store 2 [0]
         7000  stored 2 => complete 2 [0]
         11000 tick
         12000 tick     => trigger 3 [0]",
    );
}

#[test]
fn cp_04_failed_checkpoints_do_not_move_the_pause_and_requested_ones_do_not_wait_for_it() {
    let config = Checkpointing { min_pause: ms(1000), tolerable_failed: 5, ..every_second() };
    tell(
        &config,
        "start s0
         0    tick                 => trigger 1 [0]
         900  decline 1 0 snapshot => abort 1 [0] Snapshot
         1000 tick                 => trigger 2 [0]
         1100 ack 2 0              => store 2 [0]
         1100 stored 2             => complete 2 [0]
         1200 ask 7                => trigger 3 [0]
         1300 ack 3 0              => store 3 [0]
         1300 stored 3             => complete 3 [0]; answer 7 ok 3
         2000 tick
         2100 tick
         2299 tick
         2300 tick                 => trigger 4 [0]",
    );
}

#[test]
fn cp_04_a_pause_of_centuries_is_a_year() {
    let config = Checkpointing { min_pause: Duration::MAX, ..every_second() };
    assert_eq!(config.effective().min_pause, Duration::from_secs(365 * 24 * 3600));
    assert_eq!(first_delay(&config, 1), Duration::from_secs(365 * 24 * 3600));
}

#[test]
fn cp_05_a_pause_leaves_one_at_a_time() {
    let config = Checkpointing { min_pause: ms(500), max_concurrent: 2, ..every_second() };
    let story = tell(
        &config,
        "start s0
         0    tick => trigger 1 [0]
         1000 tick
         2000 tick",
    );
    assert_eq!(story.statistics.counts().in_progress, 1);
    assert_eq!(story.coordinator.config().max_concurrent, 1);
}

#[test]
fn cp_06_at_most_k_are_pending() {
    let config = Checkpointing { max_concurrent: 2, ..every_second() };
    tell(
        &config,
        "start s0 1
         0    tick     => trigger 1 [0]
         1000 tick     => trigger 2 [0]
         2000 tick
         3000 ack 1 0
         3000 ack 1 1  => store 1 [0 1]
         3001 stored 1 => complete 1 [0 1]; trigger 3 [0]
         3002 tick
         4000 tick",
    );
}

#[test]
fn cp_06_slow_deletion_holds_back_new_ones() {
    tell(
        &every_second(),
        "start s0
         0    tick       => trigger 1 [0]
         1    ack 1 0    => store 1 [0]
         2    stored 1   => complete 1 [0]
         3    deleting 2
         1000 tick
         2000 tick
         2100 deleting 1 => trigger 2 [0]",
    );
}

#[test]
fn a_tick_that_comes_early_or_twice_does_nothing() {
    let mut story = Story::new(&every_second());
    story.tell(
        "start s0
         0 tick => trigger 1 [0]
         0 tick
         0 ack 1 0 => store 1 [0]
         0 stored 1 => complete 1 [0]
         0 tick
         500 tick",
    );
    assert_eq!(story.due(), Some(1000));
    assert_eq!(story.feed("1000 tick").len(), 1);
    assert!(story.feed("1000 tick").is_empty());
}

fn slower_in_backlog(during: i64) -> Checkpointing {
    Checkpointing { interval_during_backlog: Some(ms(during)), ..every_second() }
}

/// CP-10: while any source is behind the longer interval holds; when none is any more a nearer tick is planned.
#[test]
fn cp_10_checkpoints_are_further_apart_while_a_source_is_behind() {
    let mut story = tell(
        &slower_in_backlog(5000),
        "start s0 s0
         0    tick          => trigger 1 [0 1]
         100  decline 1 0 limit => abort 1 [0 1] AlignmentLimit
         200  backlog 1 on
         1000 tick          => trigger 2 [0 1]
         1100 decline 2 0 limit => abort 2 [0 1] AlignmentLimit",
    );
    assert_eq!(story.due(), Some(6000), "five seconds behind the last one");
    story.tell("1200 backlog 0 on\n1300 backlog 1 off");
    assert_eq!(story.due(), Some(6000), "one is behind still");
    story.tell("1400 backlog 0 off");
    assert_eq!(story.due(), Some(2400), "a second from now");
    story.tell("2400 tick => trigger 3 [0 1]");
}

/// CP-10: with nought there are none meanwhile, but those that are asked for.
#[test]
fn cp_10_with_nought_there_are_no_periodic_ones_meanwhile() {
    let mut story = tell(&slower_in_backlog(0), "start s0\n10 backlog 0 on");
    assert_eq!(story.due(), None);
    story.tell(
        "60000 ask 7       => trigger 1 [0]
         60001 ack 1 0     => store 1 [0]
         60002 stored 1    => complete 1 [0]; answer 7 ok 1
         70000 backlog 0 off",
    );
    assert_eq!(story.due(), Some(71_000));
}

/// CP-10: the last word counts, also one from before the whole attempt runs, and none outlives its attempt.
#[test]
fn cp_10_what_is_said_of_a_backlog_is_of_one_attempt() {
    let mut story = tell(&slower_in_backlog(0), "backlog 0 on\nstart s0");
    assert_eq!(story.due(), None, "said before the start");
    story.tell("fail");
    story.tell("start s0");
    assert!(story.due().is_some(), "nothing was said in this attempt");
}

/// CP-10: a nearer tick stays where it is when a backlog begins, and a pause is kept as ever.
#[test]
fn cp_10_an_interval_below_the_pause_is_the_pause_in_a_backlog_too() {
    let config = Checkpointing { min_pause: ms(3000), ..slower_in_backlog(1000) };
    let effective = config.effective();
    assert_eq!((effective.interval, effective.interval_during_backlog), (Some(ms(3000)), Some(ms(3000))));
    let none = Checkpointing { min_pause: ms(3000), ..slower_in_backlog(0) };
    assert_eq!(none.effective().interval_during_backlog, Some(ms(0)));
}

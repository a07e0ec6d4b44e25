//! What users ask for: CP-07, CP-09, CP-12, and requests where checkpoints are off (ruling 7).

use super::story::{Story, every_second, tell};
use crate::checkpoint::{Action, CheckpointFailure};
use crate::config::Checkpointing;

#[test]
fn cp_07_a_stop_goes_before_a_request_and_that_before_a_tick() {
    let config = Checkpointing { tolerable_failed: 5, ..every_second() };
    tell(
        &config,
        "start s0
         0    tick                 => trigger 1 [0]
         1000 tick
         1100 ask 7
         1200 ask 8 full
         1300 stop 9               => trigger 2 last [0]
         1400 decline 2 0 snapshot => abort 2 [0] Snapshot; answer 9 Snapshot
         1500 ack 1 0              => store 1 [0]
         1500 stored 1             => complete 1 [0]; trigger 3 [0]
         1600 ack 3 0              => store 3 [0]
         1600 stored 3             => complete 3 [0]; answer 7 ok 3; trigger 4 full [0]
         1700 ack 4 0              => store 4 [0]
         1700 stored 4             => complete 4 [0]; answer 8 ok 4; trigger 5 [0]",
    );
}

#[test]
fn cp_07_the_queue_is_bounded() {
    let mut story = tell(
        &every_second(),
        "start s0
         0 tick => trigger 1 [0]",
    );
    for ticket in 0..1000 {
        assert!(story.feed(&format!("ask {ticket}")).is_empty());
    }
    story.tell(
        "1 ask 1000  => answer 1000 TooManyRequests
         2 tick
         3 ack 1 0   => store 1 [0]
         3 stored 1  => complete 1 [0]; trigger 2 [0]
         3 ask 1001
         3 ask 1002  => answer 1002 TooManyRequests",
    );
    // The attempt ends: each is answered, once.
    let answers = story.feed("4 fail").into_iter().filter(|a| matches!(a, Action::Answer { .. })).count();
    assert_eq!(answers, 1 + 1000);
}

#[test]
fn cp_09_between_attempts_a_request_is_refused_and_no_id_is_used() {
    let story = tell(
        &every_second(),
        "0 ask 1 => answer 1 NotAllTasksRunning
         0 stop 2 => answer 2 NotAllTasksRunning
         start s0
         0 tick => trigger 1 [0]
         1 fail => abort 1 [] AttemptEnded
         2 ask 3 => answer 3 NotAllTasksRunning
         start s0
         0 tick => trigger 2 [0]",
    );
    assert_eq!(story.statistics.counts().failed, 1);
}

#[test]
fn cp_12_a_requested_checkpoint_ignores_interval_and_pause() {
    let config = Checkpointing { min_pause: every_second().timeout, ..every_second() };
    let story = tell(
        &config,
        "start s0 1
         ask 5        => trigger 1 [0]
         ack 1 0
         ack 1 1      => store 1 [0 1]
         stored 1     => complete 1 [0 1]; answer 5 ok 1
         ask 6 full   => trigger 2 full [0]",
    );
    assert_eq!(story.statistics.counts().total, 2);
}

#[test]
fn cp_12_every_request_gets_a_checkpoint_of_its_own() {
    tell(
        &every_second(),
        "start s0
         ask 5     => trigger 1 [0]
         ask 6
         ack 1 0   => store 1 [0]
         stored 1  => complete 1 [0]; answer 5 ok 1; trigger 2 [0]
         ack 2 0   => store 2 [0]
         stored 2  => complete 2 [0]; answer 6 ok 2",
    );
}

#[test]
fn with_checkpointing_off_a_checkpoint_is_refused_by_the_key_and_a_stop_keeps_nothing() {
    let mut story = Story::new(&Checkpointing::default());
    story.tell(
        "start s0
         ask 1  => answer 1 CheckpointingOff
         stop 2 => answer 2 nothing",
    );
    assert!(CheckpointFailure::CheckpointingOff.to_string().contains("execution.checkpointing.interval"));
}

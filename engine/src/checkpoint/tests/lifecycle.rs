//! From trigger to complete or aborted: CP-13 to CP-17, CP-25, CP-26.

use super::story::{Story, every_second, tell};
use crate::checkpoint::Action;
use crate::config::Checkpointing;
use millstream_io::id::CheckpointId;

fn two_at_once() -> Checkpointing {
    Checkpointing { max_concurrent: 2, ..every_second() }
}

#[test]
fn cp_13_ids_grow_over_failures_and_restarts() {
    tell(
        &Checkpointing { tolerable_failed: 5, ..every_second() },
        "start s0
         0    tick                 => trigger 1 [0]
         1    decline 1 0 snapshot => abort 1 [0] Snapshot
         1000 tick                 => trigger 2 [0]
         1001 ack 2 0              => store 2 [0]
         1002 stored 2             => complete 2 [0]
         2000 tick                 => trigger 3 [0]
         2001 fail                 => abort 3 [] AttemptEnded
         restored 2
         start s0
         0    tick                 => trigger 4 [0]",
    );
}

#[test]
fn cp_13_a_restored_checkpoint_sets_the_next_id() {
    tell(
        &every_second(),
        "restored 7
         start s0
         0 tick => trigger 8 [0]",
    );
}

#[test]
fn cp_13_ids_go_on_above_the_highest_found() {
    let mut story = Story::new(&every_second());
    story.coordinator.continue_from(CheckpointId(12));
    story.tell(
        "restored 7
         start s0
         0 tick => trigger 12 [0]",
    );
}

#[test]
fn cp_14_a_checkpoint_expires_and_the_job_goes_on() {
    let config = Checkpointing { timeout: super::story::ms(2500), tolerable_failed: 1, ..every_second() };
    let story = tell(
        &config,
        "start s0 1
         0    tick     => trigger 1 [0]
         10   ack 1 0
         2499 tick
         2500 tick     => abort 1 [0 1] Expired; discard 1 [0]; trigger 2 [0]
         2501 ack 1 1  => discard 1 [1]
         2600 ack 2 0
         2600 ack 2 1  => store 2 [0 1]
         2600 stored 2 => complete 2 [0 1]",
    );
    let failed = story.statistics.history().nth(1).expect("remembered");
    assert!(format!("{:?}", failed.status).contains("Expired"));
}

#[test]
fn cp_14_expiry_and_the_last_ack_race_and_one_wins() {
    let config = Checkpointing { timeout: super::story::ms(500), tolerable_failed: 1, ..every_second() };
    // The tick was first.
    tell(
        &config,
        "start s0
         0    tick     => trigger 1 [0]
         500  tick     => abort 1 [0] Expired
         500  ack 1 0  => discard 1 [0]",
    );
    // The acknowledgement was first: storing cannot expire.
    tell(
        &config,
        "start s0
         0    tick     => trigger 1 [0]
         500  ack 1 0  => store 1 [0]
         500  tick
         900  tick
         950  stored 1 => complete 1 [0]",
    );
}

#[test]
fn cp_15_an_abort_discards_what_was_acknowledged_and_what_comes_later() {
    tell(
        &Checkpointing { tolerable_failed: 9, ..every_second() },
        "start s0 1 1
         0    tick                 => trigger 1 [0]
         1    ack 1 0
         2    ack 1 2
         3    decline 1 1 snapshot => abort 1 [0 1 2] Snapshot; discard 1 [0 2]
         4    decline 1 2 snapshot
         5    ack 1 1              => discard 1 [1]
         6    stored 1
         1000 tick                 => trigger 2 [0]",
    );
}

#[test]
fn cp_15_an_abort_names_the_newest_checkpoint_completed_here_but_never_a_restored_one() {
    let mut story = tell(
        &Checkpointing { tolerable_failed: 9, ..every_second() },
        "restored 4
         start s0
         0 tick => trigger 5 [0]",
    );
    let latest = |actions: Vec<Action<_>>| match &actions[..] {
        [Action::Abort { latest, .. }, ..] => *latest,
        other => panic!("an abort first: {other:?}"),
    };
    assert_eq!(latest(story.feed("1 decline 5 0 snapshot")), None);
    story.tell(
        "1000 tick => trigger 6 [0]
         1001 ack 6 0 => store 6 [0]
         1002 stored 6 => complete 6 [0]
         2000 tick => trigger 7 [0]",
    );
    assert_eq!(latest(story.feed("2001 decline 7 0 snapshot")), Some(CheckpointId(6)));
}

#[test]
fn cp_17_a_newer_one_that_completes_subsumes_older_pending_ones() {
    let story = tell(
        &two_at_once(),
        "start s0 1
         0    tick     => trigger 1 [0]
         1    ack 1 0
         1000 tick     => trigger 2 [0]
         1001 ack 2 0
         1002 ack 2 1  => store 2 [0 1]
         1003 stored 2 => abort 1 [0 1] Subsumed; discard 1 [0]; complete 2 [0 1]
         1004 ack 1 1  => discard 1 [1]",
    );
    let counts = story.statistics.counts();
    assert_eq!((counts.completed, counts.failed, counts.in_progress), (1, 1, 0));
}

#[test]
fn cp_17_an_older_one_that_is_being_stored_comes_first() {
    tell(
        &two_at_once(),
        "start s0
         0    tick     => trigger 1 [0]
         1000 tick     => trigger 2 [0]
         1001 ack 1 0  => store 1 [0]
         1002 ack 2 0
         1003 stored 1 => complete 1 [0]; store 2 [0]
         1004 stored 2 => complete 2 [0]",
    );
}

#[test]
fn cp_17_one_acknowledged_while_a_newer_is_being_stored_lives_on_only_if_that_fails() {
    let config = Checkpointing { tolerable_failed: 9, ..two_at_once() };
    let begin = "start s0
         0    tick           => trigger 1 [0]
         1000 tick           => trigger 2 [0]
         1001 ack 2 0        => store 2 [0]
         1002 ack 1 0";
    tell(&config, begin).tell("1003 stored 2 => abort 1 [0] Subsumed; discard 1 [0]; complete 2 [0]");
    tell(&config, begin).tell(
        "1003 store-failed 2 => abort 2 [0] Store; discard 2 [0]; store 1 [0]
         1004 stored 1       => complete 1 [0]",
    );
}

#[test]
fn cp_25_a_second_ack_is_ignored_and_a_stranger_s_is_discarded() {
    tell(
        &every_second(),
        "start s0 1
         0 tick     => trigger 1 [0]
         1 ack 1 0
         2 ack 1 0
         3 ack 1 9  => discard 1 [9]
         4 ack 3 0  => discard 3 [0]
         5 ack 1 1  => store 1 [0 1]
         6 ack 1 1",
    );
}

#[test]
fn cp_26_nobody_is_told_before_the_metadata_is_durable() {
    tell(
        &Checkpointing { tolerable_failed: 1, ..every_second() },
        "start s0 1
         0    tick           => trigger 1 [0]
         1    ack 1 1
         2    stored 1
         3    ack 1 0        => store 1 [0 1]
         9    store-failed 1 => abort 1 [0 1] Store; discard 1 [0 1]
         10   stored 1",
    );
}

#[test]
fn a_decline_comes_too_late_when_all_have_acknowledged() {
    tell(
        &every_second(),
        "start s0
         0 tick                        => trigger 1 [0]
         1 ack 1 0                     => store 1 [0]
         2 decline 1 0 snapshot
         3 trigger-failed 1 trigger-io
         4 stored 1                    => complete 1 [0]",
    );
}

#[test]
fn cp_26_a_subtask_that_is_gone_is_not_told() {
    tell(
        &every_second(),
        "start s0 1
         0 tick       => trigger 1 [0]
         1 ack 1 0
         1 ack 1 1    => store 1 [0 1]
         2 finished 0
         3 stored 1   => complete 1 [1]",
    );
}

//! Failures that count and failures that do not: CP-18, CP-19, CP-21.

use super::story::{every_second, failure, tell};
use crate::checkpoint::{Action, CheckpointFailure, SubtaskId};
use crate::config::Checkpointing;
use millstream_io::id::CheckpointId;
use std::time::Duration;

fn tolerating(tolerable_failed: u32) -> Checkpointing {
    Checkpointing { tolerable_failed, ..every_second() }
}

#[test]
fn cp_18_one_failure_too_many_in_a_row_fails_the_job() {
    let mut story = tell(
        &tolerating(2),
        "start s0
         0    tick                 => trigger 1 [0]
         1    decline 1 0 snapshot => abort 1 [0] Snapshot
         1000 tick                 => trigger 2 [0]
         1001 decline 2 0 snapshot => abort 2 [0] Snapshot
         2000 tick                 => trigger 3 [0]",
    );
    let actions = story.feed("2001 decline 3 0 snapshot");
    let Some(Action::FailJob { reason }) = actions.last() else { panic!("{actions:?}") };
    let text = reason.to_string();
    assert!(text.contains("execution.checkpointing.tolerable-failed-checkpoints = 2"), "{text}");
    assert!(text.contains("disk full"), "{text}");
    // The attempt is over, and the count begins anew with the next.
    story.tell(
        "3000 tick
         3001 fail
         start s0
         0    tick                 => trigger 4 [0]
         1    decline 4 0 snapshot => abort 4 [0] Snapshot",
    );
}

#[test]
fn cp_18_a_success_in_between_starts_the_count_again() {
    tell(
        &tolerating(2),
        "start s0
         0    tick                 => trigger 1 [0]
         1    decline 1 0 snapshot => abort 1 [0] Snapshot
         1000 tick                 => trigger 2 [0]
         1001 decline 2 0 snapshot => abort 2 [0] Snapshot
         2000 tick                 => trigger 3 [0]
         2001 ack 3 0              => store 3 [0]
         2002 stored 3             => complete 3 [0]
         3000 tick                 => trigger 4 [0]
         3001 decline 4 0 snapshot => abort 4 [0] Snapshot
         4000 tick                 => trigger 5 [0]
         4001 decline 5 0 snapshot => abort 5 [0] Snapshot",
    );
}

#[test]
fn cp_18_two_subtasks_that_decline_one_checkpoint_count_once() {
    tell(
        &tolerating(1),
        "start s0 1
         0    tick                 => trigger 1 [0]
         1    decline 1 0 snapshot => abort 1 [0 1] Snapshot
         1    decline 1 1 snapshot
         1000 tick                 => trigger 2 [0]",
    );
}

#[test]
fn cp_18_by_default_none_is_tolerated() {
    tell(
        &every_second(),
        "start s0
         0 tick                 => trigger 1 [0]
         1 ask 5
         1 decline 1 0 snapshot => abort 1 [0] Snapshot; fail job; answer 5 AttemptEnded",
    );
}

#[test]
fn cp_18_failing_the_job_ends_what_else_is_pending() {
    tell(
        &Checkpointing { max_concurrent: 2, ..every_second() },
        "start s0 1
         0    tick                 => trigger 1 [0]
         1    ack 1 0
         1000 tick                 => trigger 2 [0]
         1001 decline 2 0 snapshot => abort 2 [0 1] Snapshot; fail job; abort 1 [] AttemptEnded; discard 1 [0]
         1002 ack 1 1              => discard 1 [1]
         1003 fail",
    );
}

#[test]
fn cp_20_a_job_that_tolerates_all_failures_survives_them() {
    let mut story = tell(&tolerating(u32::MAX), "start s0");
    for n in 1..=20 {
        let at = (n - 1) * 1000;
        story.tell(&format!("{at} tick => trigger {n} [0]"));
        story.tell(&format!("{at} decline {n} 0 snapshot => abort {n} [0] Snapshot"));
    }
    assert_eq!(story.statistics.counts().failed, 20);
}

/// Whether a failure of this kind fails a job that tolerates none, when a subtask declines with it.
fn fails_the_job(name: &str) -> bool {
    let mut story = tell(&every_second(), "start s0\n0 tick => trigger 1 [0]");
    let actions = story.feed(&format!("1 decline 1 0 {name}"));
    actions.iter().any(|action| matches!(action, Action::FailJob { .. }))
}

#[test]
fn cp_19_the_reason_table() {
    for counted in ["snapshot", "spill", "trigger-io"] {
        assert!(failure(counted, SubtaskId(0)).counts() && fails_the_job(counted), "{counted}");
    }
    for ignored in ["trigger", "sync", "newer", "cancel", "input-ended", "limit", "closing"] {
        assert!(!failure(ignored, SubtaskId(0)).counts() && !fails_the_job(ignored), "{ignored}");
    }
    assert!(CheckpointFailure::Expired { timeout: Duration::ZERO, missing: 1 }.counts());
    assert!(CheckpointFailure::Store { cause: String::new() }.counts());
    let ignored = [
        CheckpointFailure::Subsumed { by: CheckpointId(2) },
        CheckpointFailure::NotAllTasksRunning,
        CheckpointFailure::AttemptEnded,
        CheckpointFailure::TooManyRequests { limit: 1000 },
        CheckpointFailure::CheckpointingOff,
    ];
    assert!(ignored.iter().all(|failure| !failure.counts()));
}

#[test]
fn cp_19_expiry_a_failed_trigger_and_a_failed_store_count() {
    tell(
        &Checkpointing { timeout: super::story::ms(500), ..every_second() },
        "start s0
         0   tick => trigger 1 [0]
         500 tick => abort 1 [0] Expired; fail job",
    );
    tell(
        &every_second(),
        "start s0
         0 tick                        => trigger 1 [0]
         1 trigger-failed 1 trigger-io => abort 1 [0] TriggerIo; fail job",
    );
    tell(
        &every_second(),
        "start s0
         0 tick           => trigger 1 [0]
         1 ack 1 0        => store 1 [0]
         2 store-failed 1 => abort 1 [0] Store; discard 1 [0]; fail job",
    );
}

#[test]
fn ms_007_a_failed_checkpoint_is_counted_and_the_next_one_completes() {
    let story = tell(
        &tolerating(1),
        "start s0 1
         0    tick                 => trigger 1 [0]
         1    ack 1 0
         2    decline 1 1 snapshot => abort 1 [0 1] Snapshot; discard 1 [0]
         1000 tick                 => trigger 2 [0]
         1001 ack 2 0
         1001 ack 2 1              => store 2 [0 1]
         1002 stored 2             => complete 2 [0 1]",
    );
    let counts = story.statistics.counts();
    assert_eq!((counts.completed, counts.failed), (1, 1));
}

#[test]
fn cp_21_a_failover_aborts_what_is_pending_and_waiting_and_counts_nothing() {
    tell(
        &Checkpointing { max_concurrent: 2, ..every_second() },
        "start s0 1
         0    tick     => trigger 1 [0]
         1000 tick     => trigger 2 [0]
         1001 ack 2 0
         1002 ask 5
         1003 fail     => abort 1 [] AttemptEnded; abort 2 [] AttemptEnded; discard 2 [0]; answer 5 AttemptEnded
         1004 ack 1 0  => discard 1 [0]
         1005 ack 2 1  => discard 2 [1]
         9000 tick
         start s0 1
         0    tick     => trigger 3 [0]",
    );
}

#[test]
fn cp_21_what_is_being_stored_may_be_durable_and_is_waited_for() {
    let mut story = tell(
        &every_second(),
        "start s0
         0 ask 5   => trigger 1 [0]
         1 ack 1 0 => store 1 [0]
         2 fail",
    );
    assert_eq!(story.coordinator.storing(), Some(CheckpointId(1)));
    story.tell("3 stored 1 => complete 1 []; answer 5 ok 1");
    assert_eq!(story.coordinator.storing(), None);
    assert_eq!(story.coordinator.latest(), Some(CheckpointId(1)));
    // Had it failed, that would be a side effect of the failover.
    tell(
        &every_second(),
        "start s0
         0 ask 5          => trigger 1 [0]
         1 ack 1 0        => store 1 [0]
         2 fail
         3 store-failed 1 => abort 1 [] Store; answer 5 Store; discard 1 [0]
         start s0
         0 tick           => trigger 2 [0]",
    );
}

//! How a job ends: finished subtasks (CP-28 to CP-30), the final checkpoint (CP-31), a stop (rulings 3, 4 and 7).

use super::story::{Story, every_second, tell};
use crate::config::Checkpointing;

#[test]
fn cp_28_checkpoints_go_on_when_some_subtasks_have_finished() {
    // Tasks 0 (bounded) and 1 (unbounded) feed task 2.
    let mut story = tell(
        &every_second(),
        "start s0 s1 2
         0    tick           => trigger 1 [0 1]
         1    ack 1 0
         1    ack 1 1
         1    ack 1 2        => store 1 [0 1 2]
         2    stored 1       => complete 1 [0 1 2]
         100  end 0
         1000 tick           => trigger 2 [0 1]
         1001 ack 2 0 ended
         1001 ack 2 1
         1001 ack 2 2        => store 2 [0 1 2]
         1002 stored 2       => complete 2 [0 1 2]; may finish [0]
         1003 finished 0
         2000 tick           => trigger 3 [1]
         2001 ack 3 1
         2001 ack 3 2        => store 3 [1 2] finished [0]
         2002 stored 3       => complete 3 [1 2]",
    );
    // The next attempt knows that it has finished.
    story.tell(
        "2003 fail
         restored 3
         start xs0 s1 2
         0    tick           => trigger 4 [1]
         1    ack 4 1
         1    ack 4 2        => store 4 [1 2] finished [0]",
    );
}

#[test]
fn cp_28_a_subtask_that_was_allowed_to_finish_takes_part_no_more() {
    tell(
        &every_second(),
        "start s0 s1 2
         0    end 0
         0    tick          => trigger 1 [0 1]
         1    ack 1 0 ended
         1    ack 1 1
         1    ack 1 2       => store 1 [0 1 2]
         2    stored 1      => complete 1 [0 1 2]; may finish [0]
         1000 tick          => trigger 2 [1]
         1001 finished 0
         1002 ack 2 1
         1002 ack 2 2       => store 2 [1 2] finished [0]",
    );
}

/// What subtask 0 had written for checkpoint 1 is committed when it closes. Checkpoint 2 does not name it, and takes checkpoint 1
/// away: a crash in between would lose it.
#[test]
fn cp_28_a_checkpoint_is_stored_once_those_that_it_leaves_out_have_closed() {
    tell(
        &every_second(),
        "start s0 s1 2
         0    end 0
         0    tick          => trigger 1 [0 1]
         1    ack 1 0 ended
         1    ack 1 1
         1    ack 1 2       => store 1 [0 1 2]
         2    stored 1      => complete 1 [0 1 2]; may finish [0]
         1000 tick          => trigger 2 [1]
         1001 ack 2 1
         1001 ack 2 2
         1500 finished 0    => store 2 [1 2] finished [0]
         1501 stored 2      => complete 2 [1 2]
         2000 tick          => trigger 3 [1]",
    );
}

#[test]
fn cp_28_off_nothing_is_taken_until_all_have_ended() {
    let config = Checkpointing { after_tasks_finish: false, ..every_second() };
    tell(
        &config,
        "start s0 s1
         0    end 0
         0    tick
         1    ask 5         => answer 5 NotAllTasksRunning
         1000 tick
         1500 end 1         => trigger 1 last [0 1]
         1501 ack 1 0 ended
         1501 ack 1 1 ended => store 1 [0 1]
         1502 stored 1      => complete 1 [0 1]; may finish [0 1]",
    );
}

#[test]
fn cp_29_the_subtasks_of_a_task_finish_together() {
    tell(
        &every_second(),
        "start s0 s0 s1
         0    end 0
         0    tick           => trigger 1 [0 1 2]
         1    ack 1 0 ended
         1    ack 1 1
         1    ack 1 2        => store 1 [0 1 2]
         2    stored 1       => complete 1 [0 1 2]
         3    end 1
         1000 tick           => trigger 2 [0 1 2]
         1001 ack 2 0 ended
         1001 ack 2 1 ended
         1001 ack 2 2        => store 2 [0 1 2]
         1002 stored 2       => complete 2 [0 1 2]; may finish [0 1]",
    );
}

#[test]
fn cp_31_the_final_checkpoint_is_triggered_at_once() {
    let config = Checkpointing { interval: Some(super::story::ms(600_000)), ..Checkpointing::default() };
    let story = tell(
        &config,
        "start s0 s0 1
         end 0
         end 1
         end 2         => trigger 1 last [0 1 2]
         ack 1 0 ended
         ack 1 1 ended
         ack 1 2 ended => store 1 [0 1 2]
         stored 1      => complete 1 [0 1 2]; may finish [0 1 2]
         finished 0
         finished 1
         finished 2",
    );
    assert_eq!(story.due(), None);
}

#[test]
fn cp_31_a_subtask_may_reach_its_end_before_the_whole_attempt_runs() {
    tell(
        &every_second(),
        "end 0
         end 1
         start s0 1    => trigger 1 last [0 1]
         ack 1 0 ended
         fail          => abort 1 [] AttemptEnded; discard 1 [0]
         end 1
         fail
         end 0
         start s0 1
         end 1         => trigger 2 last [0 1]",
    );
}

#[test]
fn cp_31_a_snapshot_from_before_the_end_does_not_cover_it() {
    // The barrier passed before the end, its acknowledgement comes after it.
    tell(
        &every_second(),
        "start s0
         0 tick        => trigger 1 [0]
         1 end 0       => trigger 2 last [0]
         2 ack 1 0     => store 1 [0]
         3 stored 1    => complete 1 [0]
         4 ack 2 0 ended => store 2 [0]
         5 stored 2    => complete 2 [0]; may finish [0]",
    );
}

#[test]
fn cp_31_a_failed_final_checkpoint_is_taken_again_and_committed_once() {
    let mut story = tell(
        &Checkpointing { tolerable_failed: 9, ..every_second() },
        "start s0
         0    end 0                => trigger 1 last [0]
         10   decline 1 0 snapshot => abort 1 [0] Snapshot",
    );
    assert_eq!(story.due(), Some(110), "100 ms later");
    story.tell(
        "109  tick
         110  tick                 => trigger 2 last [0]
         110  ack 2 0 ended        => store 2 [0]
         120  store-failed 2       => abort 2 [0] Store; discard 2 [0]",
    );
    assert_eq!(story.due(), Some(320), "then 200 ms later");
    story.tell(
        "320  tick                 => trigger 3 last [0]
         321  ack 3 0 ended        => store 3 [0]
         322  stored 3             => complete 3 [0]; may finish [0]
         1000 tick
         9000 tick",
    );
}

#[test]
fn cp_31_the_wait_before_another_final_checkpoint_is_bounded() {
    let mut story = tell(
        &Checkpointing { tolerable_failed: 99, ..every_second() },
        "start s0\n0 end 0 => trigger 1 last [0]",
    );
    let mut waits = Vec::new();
    let mut at = 0;
    for n in 1..=10 {
        story.tell(&format!("{at} decline {n} 0 snapshot => abort {n} [0] Snapshot"));
        let due = story.due().expect("it is tried again");
        waits.push(due - at);
        at = due;
        story.tell(&format!("{at} tick => trigger {} last [0]", n + 1));
    }
    assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000]);
}

#[test]
fn cp_31_a_subtask_that_ended_meanwhile_is_triggered_directly() {
    // Subtask 1 saw no barrier of 1: its upstream had ended before the trigger reached it (BR-10).
    tell(
        &every_second(),
        "start s0 1 s2
         0 tick          => trigger 1 [0 2]
         1 end 0
         2 ack 1 0 ended
         3 end 1         => trigger 1 [1]
         4 end 1
         5 ack 1 1 ended
         6 ack 1 2       => store 1 [0 1 2]
         7 stored 1      => complete 1 [0 1 2]; may finish [0 1]",
    );
}

#[test]
fn cp_31_a_subtask_that_has_answered_is_not_triggered_again() {
    tell(
        &every_second(),
        "start s0 1
         0 tick    => trigger 1 [0]
         1 ack 1 1
         2 end 1",
    );
}

#[test]
fn cp_31_with_checkpointing_off_everything_commits_when_all_have_ended() {
    tell(
        &Checkpointing::default(),
        "start s0 s0 1
         end 0
         end 1
         end 2 => commit, may finish [0 1 2]
         finished 0
         finished 1
         finished 2",
    );
}

/// Ruling 7 in a line of checkpoints: none but the one that the job ends with, and only so is anything committed.
#[test]
fn ruling_07_a_line_ends_with_a_checkpoint_also_without_an_interval() {
    let mut story = Story::new(&Checkpointing { tolerable_failed: 1, ..Checkpointing::default() });
    story.coordinator.end_with_a_checkpoint();
    story.tell("start s0 1");
    assert_eq!(story.due(), None);
    story.tell(
        "ask 1             => answer 1 CheckpointingOff
         stop 2            => answer 2 nothing
         0 end 0
         1 end 1           => trigger 1 last [0 1]
         2 decline 1 0 snapshot => abort 1 [0 1] Snapshot
         102 tick          => trigger 2 last [0 1]
         103 ack 2 0 ended
         104 ack 2 1 ended => store 2 [0 1]
         105 stop 3
         106 stored 2      => complete 2 [0 1]; answer 3 ok 2; may finish [0 1]
         107 finished 0
         107 finished 1",
    );
}

#[test]
fn a_released_subtask_is_never_awaited_by_a_pending_checkpoint() {
    // Two at once: 1 covers the end of subtask 0 while 2 still waits for it.
    tell(
        &Checkpointing { max_concurrent: 2, ..every_second() },
        "start s0 s1
         0    end 0
         0    tick           => trigger 1 [0 1]
         1    ack 1 0 ended
         1000 tick           => trigger 2 [0 1]
         1001 ack 1 1        => store 1 [0 1]
         1002 stored 1       => complete 1 [0 1]
         1003 ack 2 0 ended  => may finish [0]
         1004 ack 2 1        => store 2 [0 1]
         1005 stored 2       => complete 2 [0 1]",
    );
}

#[test]
fn a_subtask_that_finishes_unasked_takes_its_snapshot_with_it() {
    tell(
        &every_second(),
        "start s0 s1
         0 tick       => trigger 1 [0 1]
         1 ack 1 1
         2 finished 0 => abort 1 [0 1] TaskClosing; discard 1 [1]",
    );
}

#[test]
fn a_stop_commits_and_ends_the_job() {
    let story = tell(
        &every_second(),
        "start s0 1
         0    stop 5     => trigger 1 last [0]
         500  stop 6
         600  ask 7
         1000 tick
         1001 ack 1 0
         1002 ack 1 1    => store 1 [0 1]
         1003 stored 1   => complete 1 [0 1]; answer 5 ok 1; answer 6 ok 1; may finish [0 1]; answer 7 NotAllTasksRunning
         1004 stop 8     => answer 8 NotAllTasksRunning
         1005 finished 0
         1005 finished 1
         2000 tick",
    );
    assert_eq!(story.due(), None);
}

#[test]
fn a_stop_does_not_wait_for_a_pending_checkpoint() {
    tell(
        &every_second(),
        "start s0
         0 tick     => trigger 1 [0]
         1 stop 5   => trigger 2 last [0]
         2 ack 1 0  => store 1 [0]
         3 ack 2 0
         4 stored 1 => complete 1 [0]; store 2 [0]
         5 stored 2 => complete 2 [0]; answer 5 ok 2; may finish [0]",
    );
}

#[test]
fn cp_33_after_a_failed_stop_the_job_goes_on() {
    tell(
        &Checkpointing { tolerable_failed: 1, ..every_second() },
        "start s0
         0    stop 5               => trigger 1 last [0]
         500  decline 1 0 snapshot => abort 1 [0] Snapshot; answer 5 Snapshot
         1000 tick                 => trigger 2 [0]",
    );
}

#[test]
fn a_stop_at_the_end_of_input_is_served_by_the_final_checkpoint() {
    tell(
        &every_second(),
        "start s0
         0 end 0         => trigger 1 last [0]
         1 stop 5
         2 ack 1 0 ended => store 1 [0]
         3 stored 1      => complete 1 [0]; answer 5 ok 1; may finish [0]",
    );
}

#[test]
fn the_end_of_input_during_a_stop_needs_no_other_checkpoint() {
    tell(
        &every_second(),
        "start s0 1
         0 stop 5        => trigger 1 last [0]
         1 ack 1 0
         2 end 0
         3 end 1         => trigger 1 last [1]
         4 ack 1 1 ended => store 1 [0 1]
         5 stored 1      => complete 1 [0 1]; answer 5 ok 1; may finish [0 1]",
    );
}

/// The sources of a loop may be gone while it goes on: its head is triggered as they were, and is not at its end.
#[test]
fn it_03_the_head_of_a_loop_is_triggered_when_nobody_else_sends_it_barriers() {
    tell(
        &every_second(),
        "start s0 1 2
         0    tick          => trigger 1 [0]
         5    input-ended 1 => trigger 1 [1]
         10   ack 1 0
         10   ack 1 1
         10   ack 1 2       => store 1 [0 1 2]
         20   stored 1      => complete 1 [0 1 2]
         1000 tick          => trigger 2 [0 1]
         1010 end 1
         1020 end 2         => trigger 2 [2]",
    );
    tell(
        &every_second(),
        "input-ended 1
         start s0 1 2
         0    tick          => trigger 1 [0 1]",
    );
}

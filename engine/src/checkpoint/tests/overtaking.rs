//! When barriers overtake: UC-02, UC-08.

use super::story::{every_second, ms, tell};
use crate::config::{CheckpointMode, Checkpointing};

fn unaligned(timeout: i64) -> Checkpointing {
    Checkpointing { unaligned: true, aligned_checkpoint_timeout: ms(timeout), ..every_second() }
}

#[test]
fn uc_02_every_subtask_is_triggered_at_once() {
    tell(
        &unaligned(0),
        "start s0 1 2
         0   tick     => trigger 1 [0 1 2]
         5   end 0
         10  ack 1 0
         10  ack 1 1
         10  ack 1 2  => store 1 [0 1 2]
         20  stored 1 => complete 1 [0 1 2]",
    );
}

/// Those that have acknowledged need no second trigger, and nobody a third.
#[test]
fn uc_08_those_that_are_late_are_triggered_when_the_timeout_is_over() {
    tell(
        &unaligned(200),
        "start s0 1 2
         0    tick     => trigger 1 [0]
         100  ack 1 1
         199  tick
         200  tick     => trigger 1 [2]
         300  tick
         300  ack 1 0
         300  ack 1 2  => store 1 [0 1 2]
         310  stored 1 => complete 1 [0 1 2]
         1000 tick     => trigger 2 [0]
         1100 ack 2 0
         1100 ack 2 1
         1100 ack 2 2  => store 2 [0 1 2]
         1200 tick",
    );
}

/// What a job ends with is not in flight, however long it takes.
#[test]
fn uc_10_the_last_checkpoint_waits_for_its_turn() {
    for timeout in [0, 10] {
        tell(
            &unaligned(timeout),
            "start s0 1
             0   stop 7   => trigger 1 last [0]
             500 tick",
        );
    }
}

#[test]
fn uc_01_at_least_once_no_barrier_overtakes() {
    let config = Checkpointing { mode: CheckpointMode::AtLeastOnce, ..unaligned(0) };
    tell(&config, "start s0 1\n0 tick => trigger 1 [0]\n500 tick");
}

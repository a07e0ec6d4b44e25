//! One test for each row of the table and each rule beside it, told as lines of `event => what the gate does`.

use crate::alignment::{Aligner, Alignment};
use crate::checkpoint::{Barrier, CheckpointFailure, CheckpointKind};
use crate::config::CheckpointMode::{self, AtLeastOnce, ExactlyOnce};
use millstream_io::id::CheckpointId;
use std::time::Duration;

pub(super) fn barrier(id: u64) -> Barrier {
    let kind = CheckpointKind::Checkpoint;
    Barrier { id: CheckpointId(id), kind, timestamp: Duration::from_millis(id), close: false, last: false }
}

fn feed(aligner: &mut Aligner, event: &str) -> Alignment {
    let words: Vec<&str> = event.split_whitespace().collect();
    let n = |at: usize| words[at].parse::<u64>().expect("a number");
    match words[0] {
        "barrier" => aligner.barrier(n(2) as usize, barrier(n(1))),
        "cancel" => aligner.cancel(n(2) as usize, CheckpointId(n(1))),
        "end" => aligner.end(n(1) as usize),
        "abort" => aligner.abort(CheckpointId(n(1))),
        "trigger" => aligner.trigger(barrier(n(1))),
        "overflow" => aligner.give_up(CheckpointFailure::AlignmentLimit { held: 9, limit: 8 }),
        other => panic!("no such event: {other}"),
    }
}

fn show(out: &Alignment, held: &[usize]) -> String {
    let mut words = Vec::new();
    for aborted in &out.aborted {
        let why = match &aborted.decline {
            None => "",
            Some(CheckpointFailure::NewerBarrier { .. }) => ", decline newer",
            Some(CheckpointFailure::CancelMarker) => ", decline cancelled",
            Some(CheckpointFailure::InputEnded) => ", decline ended",
            Some(CheckpointFailure::AlignmentLimit { held: 9, limit: 8 }) => ", decline limit",
            Some(other) => panic!("not a reason of an aligner: {other}"),
        };
        words.push(format!("cancel {}{why}", aborted.id));
    }
    words.extend(out.begun.map(|id| format!("begin {id}")));
    words.extend(out.complete.map(|barrier| {
        assert_eq!(barrier, self::barrier(barrier.id.0), "the barrier goes on as it came");
        let over =
            if out.overtaken.is_empty() { String::new() } else { format!(" over {:?}", out.overtaken) };
        format!("snapshot {}{over}", barrier.id)
    }));
    if !held.is_empty() {
        words.push(format!("hold {held:?}"));
    }
    words.join("; ")
}

#[track_caller]
fn tell(mut aligner: Aligner, channels: usize, text: &str) {
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (event, expected) = line.split_once("=>").unwrap_or((line, ""));
        let out = feed(&mut aligner, event.trim());
        let held: Vec<usize> = (0..channels).filter(|channel| aligner.is_held(*channel)).collect();
        assert_eq!(show(&out, &held), expected.trim(), "in the line: {line}");
    }
}

#[track_caller]
fn story(channels: usize, mode: CheckpointMode, text: &str) {
    tell(Aligner::new(channels, mode, true), channels, text);
}

#[test]
fn br_03_channels_are_held_until_the_last_barrier() {
    story(
        3,
        ExactlyOnce,
        "barrier 1 1 => begin 1; hold [1]
         barrier 1 0 => hold [0, 1]
         barrier 1 2 => snapshot 1
         barrier 2 0 => begin 2; hold [0]
         barrier 2 1 => hold [0, 1]
         barrier 2 2 => snapshot 2",
    );
}

#[test]
fn br_05_a_single_channel_never_waits() {
    for mode in [ExactlyOnce, AtLeastOnce] {
        story(
            1,
            mode,
            "barrier 1 0 => begin 1; snapshot 1
             barrier 2 0 => begin 2; snapshot 2",
        );
    }
}

#[test]
fn br_03_a_late_barrier_is_ignored_and_its_channel_goes_on() {
    story(
        2,
        ExactlyOnce,
        "barrier 3 0 => begin 3; hold [0]
         barrier 2 1 => hold [0]
         barrier 3 1 => snapshot 3
         barrier 3 0
         barrier 1 0",
    );
}

#[test]
fn br_06_a_newer_barrier_aborts_the_alignment_and_begins_its_own() {
    story(
        2,
        ExactlyOnce,
        "barrier 1 0 => begin 1; hold [0]
         barrier 2 1 => cancel 1, decline newer; begin 2; hold [1]
         barrier 1 1 => hold [1]
         barrier 2 0 => snapshot 2",
    );
}

#[test]
fn br_03_a_cancel_marker_ends_the_alignment_and_is_passed_on_once() {
    story(
        3,
        ExactlyOnce,
        "barrier 1 0 => begin 1; hold [0]
         cancel 1 1  => cancel 1, decline cancelled
         cancel 1 2
         barrier 1 2
         barrier 2 0 => begin 2; hold [0]",
    );
}

#[test]
fn br_03_a_cancel_marker_may_come_before_any_barrier_and_aborts_an_older_alignment_too() {
    story(
        2,
        ExactlyOnce,
        "cancel 1 0  => cancel 1, decline cancelled
         barrier 1 1
         barrier 2 0 => begin 2; hold [0]
         cancel 3 1  => cancel 2, decline newer; cancel 3, decline cancelled
         cancel 2 1
         barrier 3 0",
    );
}

#[test]
fn br_07_after_an_abort_late_barriers_are_dropped_and_the_next_aligns() {
    story(
        3,
        ExactlyOnce,
        "barrier 1 0 => begin 1; hold [0]
         abort 1     => cancel 1
         abort 1
         barrier 1 1
         barrier 1 2
         barrier 2 2 => begin 2; hold [2]
         barrier 2 0 => hold [0, 2]
         barrier 2 1 => snapshot 2",
    );
}

#[test]
fn br_10_an_ended_channel_counts_as_its_barrier() {
    story(
        2,
        ExactlyOnce,
        "barrier 1 0 => begin 1; hold [0]
         end 1       => snapshot 1
         barrier 2 0 => begin 2; snapshot 2
         end 0",
    );
    story(
        3,
        ExactlyOnce,
        "end 0
         barrier 1 1 => begin 1; hold [1]
         barrier 1 2 => snapshot 1",
    );
}

#[test]
fn br_10_with_the_feature_off_an_end_aborts_the_alignment() {
    tell(
        Aligner::new(2, ExactlyOnce, false),
        2,
        "barrier 1 0 => begin 1; hold [0]
         end 1       => cancel 1, decline ended
         end 0
         trigger 2   => begin 2; snapshot 2",
    );
}

#[test]
fn br_10_a_direct_trigger_and_a_barrier_give_one_snapshot() {
    story(
        2,
        ExactlyOnce,
        "end 0
         barrier 1 1 => begin 1; snapshot 1
         end 1
         trigger 1
         trigger 2   => begin 2; snapshot 2
         trigger 2",
    );
}

#[test]
fn a_source_snapshots_when_it_is_triggered() {
    story(
        0,
        ExactlyOnce,
        "trigger 1 => begin 1; snapshot 1
         abort 2
         trigger 2 => cancel 2
         trigger 3 => begin 3; snapshot 3",
    );
}

#[test]
fn cp_16_an_abort_of_something_not_seen_yet_is_remembered() {
    story(
        2,
        ExactlyOnce,
        "abort 2
         barrier 1 0 => begin 1; hold [0]
         barrier 1 1 => snapshot 1
         barrier 2 0 => cancel 2
         barrier 2 1
         barrier 3 0 => begin 3; hold [0]
         abort 1     => hold [0]
         abort 4     => hold [0]
         barrier 3 1 => snapshot 3
         cancel 4 0  => cancel 4
         cancel 4 1",
    );
}

#[test]
fn cp_16_only_so_many_aborts_are_remembered_the_newest() {
    let mut aligner = Aligner::new(1, ExactlyOnce, true);
    for id in 10..100 {
        assert!(aligner.abort(CheckpointId(id)).is_nothing());
    }
    assert!(aligner.barrier(0, barrier(10)).complete.is_some(), "forgotten");
    assert!(aligner.barrier(0, barrier(99)).complete.is_none(), "remembered");
}

#[test]
fn d6_holding_back_too_much_declines_the_checkpoint_and_releases_everything() {
    story(
        2,
        ExactlyOnce,
        "overflow
         barrier 1 0 => begin 1; hold [0]
         overflow    => cancel 1, decline limit
         barrier 1 1
         barrier 2 1 => begin 2; hold [1]
         barrier 2 0 => snapshot 2",
    );
}

#[test]
fn cp_22_at_least_once_holds_nothing_and_follows_several_at_once() {
    story(
        2,
        AtLeastOnce,
        "barrier 1 0 => begin 1
         barrier 2 0 => begin 2
         barrier 1 1 => snapshot 1
         barrier 2 1 => snapshot 2
         barrier 2 1",
    );
}

#[test]
fn cp_22_at_least_once_a_completed_one_drops_all_older_ones() {
    story(
        2,
        AtLeastOnce,
        "barrier 1 0 => begin 1
         barrier 2 0 => begin 2
         barrier 2 1 => cancel 1, decline newer; snapshot 2
         barrier 1 1",
    );
}

#[test]
fn cp_22_at_least_once_an_end_that_completes_two_takes_the_newer() {
    story(
        2,
        AtLeastOnce,
        "barrier 1 0 => begin 1
         barrier 2 0 => begin 2
         end 1       => cancel 1, decline newer; snapshot 2
         barrier 3 0 => begin 3; snapshot 3",
    );
}

#[test]
fn cp_22_at_least_once_cancel_abort_and_end() {
    story(
        3,
        AtLeastOnce,
        "barrier 1 0 => begin 1
         barrier 2 0 => begin 2
         barrier 3 0 => begin 3
         cancel 1 1  => cancel 1, decline cancelled
         abort 2     => cancel 2
         barrier 2 1
         barrier 3 1
         overflow
         end 2       => snapshot 3",
    );
}

#[test]
fn cp_22_at_least_once_follows_fifty_at_most() {
    let mut aligner = Aligner::new(2, AtLeastOnce, true);
    for id in 1..=50 {
        assert_eq!(aligner.barrier(0, barrier(id)).aborted, []);
    }
    let out = aligner.barrier(0, barrier(51));
    assert_eq!(out.aborted.iter().map(|a| a.id.0).collect::<Vec<_>>(), [1]);
}

/// UC-02: the coordinator reaches the subtask before any barrier does.
#[test]
fn uc_02_a_barrier_overtakes_what_channels_bring_before_theirs() {
    story(
        3,
        ExactlyOnce,
        "trigger 1   => begin 1; snapshot 1 over [0, 1, 2]
         barrier 1 0
         barrier 1 2
         trigger 1
         end 1
         trigger 2   => begin 2; snapshot 2 over [0, 2]",
    );
}

/// UC-08: what is held goes on, and the rest is overtaken.
#[test]
fn uc_08_an_alignment_under_way_is_switched() {
    story(
        3,
        ExactlyOnce,
        "barrier 1 1 => begin 1; hold [1]
         trigger 1   => snapshot 1 over [0, 2]
         barrier 1 0
         barrier 1 2
         barrier 2 0 => begin 2; hold [0]
         barrier 2 1 => hold [0, 1]
         barrier 2 2 => snapshot 2
         trigger 2",
    );
}

/// UC-07: the barriers of some channels are waited for in any case, and meanwhile others are held as ever.
#[test]
fn uc_07_excluded_channels_are_waited_for() {
    let mut aligner = Aligner::new(3, ExactlyOnce, true);
    aligner.never_overtaken(1);
    tell(
        aligner,
        3,
        "trigger 1   => begin 1
         barrier 1 0 => hold [0]
         barrier 1 1 => snapshot 1 over [2]
         trigger 2   => begin 2
         end 1       => snapshot 2 over [0, 2]
         trigger 3   => begin 3; snapshot 3 over [0, 2]",
    );
}

#[test]
fn uc_02_what_the_coordinator_has_aborted_overtakes_nothing() {
    story(
        2,
        ExactlyOnce,
        "abort 1
         trigger 1   => cancel 1
         trigger 2   => begin 2; snapshot 2 over [0, 1]
         cancel 2 0
         abort 2",
    );
}

#[test]
fn uc_01_at_least_once_nothing_is_overtaken() {
    story(
        2,
        AtLeastOnce,
        "trigger 1   => begin 1
         barrier 1 0
         barrier 1 1 => snapshot 1",
    );
}

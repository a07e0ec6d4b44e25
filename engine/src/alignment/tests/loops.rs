//! Barriers of a loop's head (IT-02).

use super::rows::barrier;
use crate::alignment::Aligner;
use crate::config::CheckpointMode::{AtLeastOnce, ExactlyOnce};
use millstream_io::id::CheckpointId;

/// Channel 0 comes from outside, channel 1 is fed back.
fn head() -> Aligner {
    let mut aligner = Aligner::new(2, ExactlyOnce, true);
    aligner.feeds_back(1);
    aligner
}

#[test]
fn it_02_a_barrier_does_not_wait_until_it_has_come_round_and_the_next_one_does() {
    let mut head = head();
    let first = head.barrier(0, barrier(1));
    assert_eq!((first.complete, first.overtaken), (Some(barrier(1)), vec![1]));
    let second = head.barrier(0, barrier(2));
    assert_eq!((second.begun, second.complete), (Some(CheckpointId(2)), None));
    assert!(head.is_held(0) && !head.is_held(1), "what is fed back goes on");
    assert!(head.came_round(CheckpointId(2)).is_nothing(), "it is not that one");
    let second = head.came_round(CheckpointId(1));
    assert_eq!((second.complete, second.overtaken), (Some(barrier(2)), vec![1]));
    assert!(head.barrier(1, barrier(1)).is_nothing() && head.barrier(1, barrier(2)).is_nothing());
    assert!(!head.is_held(0) && !head.is_held(1));
}

/// Of three that wait for the first one to come round the newest is taken, as ever where nobody waits.
#[test]
fn it_02_at_least_once_the_next_one_waits_too() {
    let mut head = Aligner::new(2, AtLeastOnce, true);
    head.feeds_back(1);
    assert!(head.barrier(0, barrier(1)).complete.is_some());
    assert_eq!([2, 3].map(|id| head.barrier(0, barrier(id)).complete), [None, None]);
    let next = head.came_round(CheckpointId(1));
    assert_eq!((next.complete, next.aborted.len()), (Some(barrier(3)), 1));
}

/// Nothing holds triggers back: they wait as well.
#[test]
fn it_03_triggers_wait_until_the_one_before_has_come_round() {
    let mut head = head();
    assert!(head.end(0).is_nothing());
    assert_eq!(head.trigger(barrier(1)).complete, Some(barrier(1)));
    assert!([2, 3, 4].into_iter().all(|id| head.trigger(barrier(id)).is_nothing()));
    assert!(head.abort(CheckpointId(2)).is_nothing());
    assert_eq!(head.next_trigger(), None);
    assert!(head.came_round(CheckpointId(1)).is_nothing());
    let given_up = head.next_trigger().expect("it goes on");
    assert_eq!((given_up.aborted[0].id.0, given_up.aborted[0].decline.as_ref()), (2, None));
    assert_eq!(head.next_trigger().and_then(|next| next.complete), Some(barrier(3)));
    assert_eq!(head.next_trigger(), None);
    assert!(head.came_round(CheckpointId(3)).is_nothing());
    assert_eq!(head.next_trigger().and_then(|next| next.complete), Some(barrier(4)));
}

/// A barrier that overtakes may be back before this subtask has heard of it: what follows it waits for the snapshot.
#[test]
fn it_02_what_follows_a_barrier_that_was_quicker_round_is_held() {
    let mut head = head();
    assert_eq!(head.barrier(1, barrier(1)).complete, None);
    assert!(head.is_held(1) && !head.is_held(0));
    let taken = head.trigger(barrier(1));
    assert_eq!((taken.complete, taken.overtaken), (Some(barrier(1)), vec![0]));
    assert!(head.came_round(CheckpointId(1)).is_nothing(), "nothing goes round");
}

/// The end of the loop is not overtaken: what is emitted at the end belongs to the snapshot.
#[test]
fn it_02_the_end_of_the_loop_is_waited_for() {
    let mut head = head();
    assert!(head.end(0).is_nothing());
    head.never_overtaken(1);
    assert_eq!(head.trigger(barrier(1)).complete, None);
    assert!(head.trigger(barrier(2)).is_nothing(), "the next one waits for the first");
    assert_eq!(head.end(1).complete, Some(barrier(1)));
    assert_eq!(head.next_trigger().and_then(|next| next.complete), Some(barrier(2)));
}

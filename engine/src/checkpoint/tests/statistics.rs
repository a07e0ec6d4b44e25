//! Counts and history.

use super::story::{every_second, ms, tell};
use crate::checkpoint::{CheckpointCounts, CheckpointKind, CheckpointStatus};
use crate::config::Checkpointing;

#[test]
fn the_history_keeps_the_last_ten_and_what_is_in_progress() {
    let mut story =
        tell(&Checkpointing { max_concurrent: 2, ..every_second() }, "start s0\nask 100 => trigger 1 [0]");
    for n in 2..=20 {
        story.feed(&format!("ask {n}"));
        story.feed(&format!("decline {n} 0 limit"));
    }
    let ids: Vec<u64> = story.coordinator.statistics().history().map(|record| record.id.0).collect();
    assert_eq!(ids, [20, 19, 18, 17, 16, 15, 14, 13, 12, 1]);
    let counts = story.coordinator.statistics().counts();
    assert_eq!(counts, CheckpointCounts { total: 20, in_progress: 1, completed: 0, failed: 19, restored: 0 });
}

#[test]
fn a_record_says_when_how_long_and_how_much() {
    let story = tell(
        &every_second(),
        "restored 3
         start s0 1
         0   ask 5 full => trigger 4 full [0]
         20  ack 4 0
         70  ack 4 1    => store 4 [0 1]
         90  stored 4   => complete 4 [0 1]; answer 5 ok 4",
    );
    let statistics = story.coordinator.statistics();
    let record = statistics.latest_completed().expect("there is one");
    assert_eq!((record.id.0, record.kind), (4, CheckpointKind::FullCheckpoint));
    assert_eq!(record.status, CheckpointStatus::Completed);
    // From the trigger to the last acknowledgement; ten bytes from each subtask.
    assert_eq!((record.duration, record.metrics.bytes), (ms(70), 20));
    assert_eq!((record.acknowledged, record.subtasks), (2, 2));
    assert_eq!(statistics.restored().map(|(id, _)| id.0), Some(3));
    assert_eq!(statistics.counts().restored, 1);
}

//! What is collected from events: counts, history, the latest of each kind, and what they have in common (REST-01).

use super::story::{every_second, ms, tell};
use crate::checkpoint::{
    AckMetrics, Barrier, CheckpointCounts, CheckpointEvent, CheckpointFailure, CheckpointKind,
    CheckpointStatistics, CheckpointStatus, Distribution, SubtaskId,
};
use crate::config::Checkpointing;
use millstream_io::id::CheckpointId;
use std::time::Duration;

#[test]
fn the_history_keeps_the_last_ten_and_what_is_in_progress() {
    let mut story =
        tell(&Checkpointing { max_concurrent: 2, ..every_second() }, "start s0\nask 100 => trigger 1 [0]");
    for n in 2..=20 {
        story.feed(&format!("ask {n}"));
        story.feed(&format!("decline {n} 0 limit"));
    }
    let ids: Vec<u64> = story.statistics.history().map(|record| record.id.0).collect();
    assert_eq!(ids, [20, 19, 18, 17, 16, 15, 14, 13, 12, 1]);
    let counts = story.statistics.counts();
    assert_eq!(counts, CheckpointCounts { total: 20, in_progress: 1, completed: 0, failed: 19, restored: 0 });
}

#[test]
fn rest_01_a_record_says_when_how_long_and_how_much() {
    let story = tell(
        &every_second(),
        "restored 3
         start s0 1
         0   ask 5 full => trigger 4 full [0]
         20  ack 4 0
         70  ack 4 1    => store 4 [0 1]
         90  stored 4   => complete 4 [0 1]; answer 5 ok 4",
    );
    let record = story.statistics.latest_completed().expect("there is one");
    assert_eq!((record.id.0, record.kind), (4, CheckpointKind::FullCheckpoint));
    assert_eq!(record.status, CheckpointStatus::Completed);
    // From the trigger to the last acknowledgement; ten bytes from each subtask.
    assert_eq!((record.duration, record.metrics.bytes), (ms(70), 20));
    let since = |moment: Option<Duration>| moment.map(|moment| moment - record.triggered);
    assert_eq!((since(record.latest_ack), since(record.ended)), (Some(ms(70)), Some(ms(90))));
    assert_eq!((record.acknowledged, record.subtasks, record.failed_subtask), (2, 2, None));
    assert_eq!(story.statistics.restored().map(|(id, _)| id.0), Some(3));
    assert_eq!(story.statistics.counts().restored, 1);
}

/// One that was declined says by whom, also where the reason itself names nobody; one that expired was nobody's.
#[test]
fn rest_01_a_failed_record_names_the_subtask_and_keeps_who_had_acknowledged() {
    let config = Checkpointing { tolerable_failed: 9, timeout: ms(500), ..every_second() };
    let story = tell(
        &config,
        "start s0 1 1
         0   tick         => trigger 1 [0]
         20  ack 1 1
         30  decline 1 2 limit => abort 1 [0 1 2] AlignmentLimit; discard 1 [1]
         1000 tick        => trigger 2 [0]
         1500 tick        => abort 2 [0 1 2] Expired",
    );
    let first = story.statistics.record(CheckpointId(1)).expect("remembered");
    assert_eq!((first.failed_subtask, first.duration), (Some(SubtaskId(2)), ms(30)));
    assert_eq!(first.latest_ack.map(|at| at - first.triggered), Some(ms(20)));
    let acked: Vec<bool> = first.parts.iter().map(|part| part.ack.is_some()).collect();
    assert_eq!(acked, [false, true, false]);
    let last = story.statistics.latest_failed().expect("there is one");
    assert_eq!((last.id.0, last.failed_subtask, last.acknowledged), (2, None, 0));
    assert!(story.statistics.latest_completed().is_none());
}

/// A collector by hand: what each checkpoint writes, and how it ends.
struct Told(CheckpointStatistics);

impl Told {
    fn trigger(&mut self, id: u64, subtasks: u32) {
        let barrier = Barrier {
            id: CheckpointId(id),
            kind: CheckpointKind::Checkpoint,
            timestamp: ms(1000 * id as i64),
            close: false,
            last: false,
        };
        let subtasks = (0..subtasks).map(SubtaskId).collect();
        self.0.take(&CheckpointEvent::Triggered { barrier, subtasks });
    }

    fn ack(&mut self, id: u64, subtask: u32, after: i64, metrics: AckMetrics) {
        let (id, at) = (CheckpointId(id), ms(1000 * id as i64 + after));
        self.0.take(&CheckpointEvent::Acknowledged { id, subtask: SubtaskId(subtask), metrics, at });
    }

    fn complete(&mut self, id: u64) {
        self.0.take(&CheckpointEvent::Completed { id: CheckpointId(id), at: ms(1000 * id as i64 + 500) });
    }
}

#[test]
fn rest_01_tasks_and_subtasks_of_a_checkpoint() {
    let mut told = Told(CheckpointStatistics::new(10));
    told.trigger(1, 4);
    let metrics = |bytes, alignment| AckMetrics {
        bytes,
        full_bytes: 10 * bytes,
        alignment: ms(alignment),
        ..AckMetrics::default()
    };
    told.ack(1, 3, 40, metrics(7, 5));
    told.ack(1, 1, 60, metrics(2, 9));
    told.ack(1, 2, 80, metrics(4, 1));
    let record = told.0.record(CheckpointId(1)).expect("pending");
    // A task of subtasks 1 to 3, and one of subtask 0, which has not acknowledged.
    let task = record.task(1..4);
    assert_eq!((task.subtasks, task.acknowledged, task.latest_ack), (3, 3, Some(ms(1080))));
    assert_eq!((task.metrics.bytes, task.metrics.full_bytes, task.metrics.alignment), (13, 130, ms(9)));
    let missing = record.task(0..1);
    assert_eq!((missing.subtasks, missing.acknowledged, missing.latest_ack), (1, 0, None));
    let parts: Vec<u32> = record.parts_of(2..9).iter().map(|part| part.subtask.0).collect();
    assert_eq!(parts, [2, 3]);
    assert_eq!(record.parts[3].ack.map(|(at, m)| (at, m.bytes)), Some((ms(1040), 7)));
}

/// The latest of each kind stay when the history has forgotten them, and failed ones are in no summary.
#[test]
fn rest_01_the_latest_of_each_kind_and_what_completed_ones_have_in_common() {
    let mut told = Told(CheckpointStatistics::new(2));
    for (id, bytes) in [(1, 30), (2, 10), (3, 20)] {
        told.trigger(id, 1);
        told.ack(id, 0, 100 * id as i64, AckMetrics { bytes, full_bytes: 100, ..AckMetrics::default() });
        told.complete(id);
    }
    for id in 4..8 {
        told.trigger(id, 1);
        told.ack(id, 0, 1, AckMetrics { bytes: 999, ..AckMetrics::default() });
        let failure = CheckpointFailure::CancelMarker;
        let (id, at) = (CheckpointId(id), ms(10_000));
        told.0.take(&CheckpointEvent::Failed { id, failure, subtask: None, at });
    }
    let statistics = &told.0;
    assert_eq!(statistics.history().map(|record| record.id.0).collect::<Vec<_>>(), [7, 6]);
    assert_eq!(statistics.latest_completed().map(|record| record.id.0), Some(3));
    assert_eq!(statistics.latest_failed().map(|record| record.id.0), Some(7));
    assert_eq!(statistics.record(CheckpointId(3)).map(|record| record.metrics.bytes), Some(20));
    assert!(statistics.record(CheckpointId(2)).is_none());
    let bytes = &statistics.summary().checkpointed_bytes;
    assert_eq!((bytes.count(), bytes.min(), bytes.max(), bytes.mean()), (3, Some(10), Some(30), Some(20)));
    let duration = &statistics.summary().duration_us;
    assert_eq!(
        (duration.min(), duration.quantile(0.5), duration.max()),
        (Some(100_000), Some(200_000), Some(300_000))
    );
    assert_eq!(statistics.summary().full_bytes.mean(), Some(100));
}

/// A deletion says what is kept: older ones are gone, one that completes meanwhile is not.
#[test]
fn rest_01_a_completed_one_that_was_deleted_says_so() {
    let mut told = Told(CheckpointStatistics::new(10));
    for id in 1..=4 {
        told.trigger(id, 0);
        told.complete(id);
    }
    told.trigger(5, 1);
    told.0.take(&CheckpointEvent::Retained { ids: vec![CheckpointId(2), CheckpointId(3)] });
    let discarded: Vec<(u64, bool)> =
        told.0.history().map(|record| (record.id.0, record.discarded)).collect();
    assert_eq!(discarded, [(5, false), (4, false), (3, false), (2, false), (1, true)]);
    told.0.take(&CheckpointEvent::Retained { ids: vec![CheckpointId(4)] });
    let discarded: Vec<u64> =
        told.0.history().filter(|record| record.discarded).map(|record| record.id.0).collect();
    assert_eq!(discarded, [3, 2, 1]);
}

/// By hand, with nearest ranks: of 1..=1000 the value at a share is the share of a thousand.
#[test]
fn rest_01_quantiles_are_of_the_newest_thousand_values() {
    let mut values = Distribution::default();
    assert_eq!((values.min(), values.mean(), values.quantile(0.5)), (None, None, None));
    values.take(7);
    let all = [0.0, 0.5, 0.999, 1.0].map(|share| values.quantile(share));
    assert_eq!((all, values.min(), values.max()), ([Some(7); 4], Some(7), Some(7)));
    let mut values = Distribution::default();
    for value in (1..=1000).rev() {
        values.take(value);
    }
    let quantiles = [0.5, 0.9, 0.95, 0.99, 0.999].map(|share| values.quantile(share));
    assert_eq!(quantiles, [500, 900, 950, 990, 999].map(Some));
    // A thousand more push these out of the quantiles, and of nothing else.
    (0..1000).for_each(|_| values.take(5000));
    assert_eq!((values.quantile(0.0), values.quantile(0.5)), (Some(5000), Some(5000)));
    assert_eq!((values.min(), values.max(), values.mean()), (Some(1), Some(5000), Some(2750)));
}

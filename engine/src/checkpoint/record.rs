//! One checkpoint as the history remembers it.

use super::failure::CheckpointFailure;
use super::message::{AckMetrics, Barrier, CheckpointKind, SubtaskId};
use millstream_io::clock::Moment;
use millstream_io::id::CheckpointId;
use std::ops::Range;
use std::time::Duration;

/// How a checkpoint stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointStatus {
    /// Pending.
    InProgress,
    /// Durable.
    Completed,
    /// Will never complete.
    Failed(CheckpointFailure),
}

/// One checkpoint (REST-01).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointRecord {
    /// Its number.
    pub id: CheckpointId,
    /// What was taken.
    pub kind: CheckpointKind,
    /// How it stands.
    pub status: CheckpointStatus,
    /// When it was triggered.
    pub triggered: Moment,
    /// When the last acknowledgement so far came.
    pub latest_ack: Option<Moment>,
    /// When it became durable, or failed.
    pub ended: Option<Moment>,
    /// From the trigger to the last acknowledgement so far; of one that failed, to its failure.
    pub duration: Duration,
    /// How many subtasks take part.
    pub subtasks: usize,
    /// How many have acknowledged.
    pub acknowledged: usize,
    /// Sizes are sums over the subtasks, times the longest of them.
    pub metrics: AckMetrics,
    /// The subtask on account of which it failed, where it was one.
    pub failed_subtask: Option<SubtaskId>,
    /// Whether it was completed and has been deleted since.
    pub discarded: bool,
    /// The subtasks that take part, in ascending order.
    pub parts: Vec<SubtaskRecord>,
}

/// What one subtask has to do with a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubtaskRecord {
    /// The subtask.
    pub subtask: SubtaskId,
    /// When its acknowledgement came, and what it measured; nothing while it is missing.
    pub ack: Option<(Moment, AckMetrics)>,
}

/// What the subtasks of one task have to do with a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskRecord {
    /// How many take part.
    pub subtasks: usize,
    /// How many have acknowledged.
    pub acknowledged: usize,
    /// When the last of these acknowledgements came.
    pub latest_ack: Option<Moment>,
    /// Sizes are sums over the subtasks, times the longest of them.
    pub metrics: AckMetrics,
}

impl CheckpointRecord {
    pub(super) fn new(barrier: &Barrier, subtasks: &[SubtaskId]) -> Self {
        Self {
            id: barrier.id,
            kind: barrier.kind,
            status: CheckpointStatus::InProgress,
            triggered: barrier.timestamp,
            latest_ack: None,
            ended: None,
            duration: Duration::ZERO,
            subtasks: subtasks.len(),
            acknowledged: 0,
            metrics: AckMetrics::default(),
            failed_subtask: None,
            discarded: false,
            parts: subtasks.iter().map(|subtask| SubtaskRecord { subtask: *subtask, ack: None }).collect(),
        }
    }

    pub(super) fn acknowledge(&mut self, subtask: SubtaskId, metrics: AckMetrics, at: Moment) {
        self.acknowledged += 1;
        self.latest_ack = Some(at);
        self.duration = at.saturating_sub(self.triggered);
        self.metrics.add(&metrics);
        if let Ok(place) = self.parts.binary_search_by_key(&subtask, |part| part.subtask) {
            self.parts[place].ack = Some((at, metrics));
        }
    }

    /// Those of its subtasks that are in this range, together: a task's subtasks are numbered one behind the other.
    pub fn task(&self, subtasks: Range<u32>) -> TaskRecord {
        let mut task = TaskRecord::default();
        for part in self.parts_of(subtasks) {
            task.subtasks += 1;
            if let Some((at, metrics)) = &part.ack {
                task.acknowledged += 1;
                task.latest_ack = task.latest_ack.max(Some(*at));
                task.metrics.add(metrics);
            }
        }
        task
    }

    /// Those of its subtasks that are in this range.
    pub fn parts_of(&self, subtasks: Range<u32>) -> &[SubtaskRecord] {
        let place = |end: u32| self.parts.partition_point(|part| part.subtask.0 < end);
        &self.parts[place(subtasks.start)..place(subtasks.end)]
    }
}

impl AckMetrics {
    fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.full_bytes += other.full_bytes;
        self.held_bytes += other.held_bytes;
        self.spilled_bytes += other.spilled_bytes;
        self.processed_bytes += other.processed_bytes;
        self.unaligned |= other.unaligned;
        self.persisted_bytes += other.persisted_bytes;
        self.alignment = self.alignment.max(other.alignment);
        self.start_delay = self.start_delay.max(other.start_delay);
        self.sync = self.sync.max(other.sync);
        self.background = self.background.max(other.background);
    }
}

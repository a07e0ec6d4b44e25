//! What became of the checkpoints of this process.

use super::failure::CheckpointFailure;
use super::message::{AckMetrics, Barrier, CheckpointKind};
use millstream_io::clock::Moment;
use millstream_io::id::CheckpointId;
use std::collections::VecDeque;
use std::time::Duration;

/// How many there were (CP-01: nought, and there, also without checkpointing).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointCounts {
    /// Triggered.
    pub total: u64,
    /// Pending now.
    pub in_progress: u64,
    /// Completed.
    pub completed: u64,
    /// Failed, for whatever reason.
    pub failed: u64,
    /// Restores, the one at the start included.
    pub restored: u64,
}

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

/// One checkpoint.
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
    /// From the trigger to the last acknowledgement so far.
    pub duration: Duration,
    /// How many subtasks take part.
    pub subtasks: usize,
    /// How many have acknowledged.
    pub acknowledged: usize,
    /// Sizes are sums over the subtasks, times the longest of them.
    pub metrics: AckMetrics,
}

/// Counts and the recent history.
#[derive(Clone, Debug, Default)]
pub struct CheckpointStatistics {
    counts: CheckpointCounts,
    remembered: usize,
    history: VecDeque<CheckpointRecord>,
    restored: Option<(CheckpointId, Moment)>,
}

impl CheckpointStatistics {
    /// Remembers so many checkpoints; those in progress are kept beyond that.
    pub(super) fn new(remembered: usize) -> Self {
        Self { remembered, ..Self::default() }
    }

    /// The counts.
    pub fn counts(&self) -> CheckpointCounts {
        self.counts
    }

    /// The recent checkpoints, newest first.
    pub fn history(&self) -> impl Iterator<Item = &CheckpointRecord> {
        self.history.iter().rev()
    }

    /// The last one restored, and when.
    pub fn restored(&self) -> Option<(CheckpointId, Moment)> {
        self.restored
    }

    /// The newest completed one that is remembered.
    pub fn latest_completed(&self) -> Option<&CheckpointRecord> {
        self.history().find(|record| record.status == CheckpointStatus::Completed)
    }

    pub(super) fn triggered(&mut self, barrier: &Barrier, subtasks: usize) {
        self.counts.total += 1;
        self.counts.in_progress += 1;
        self.history.push_back(CheckpointRecord {
            id: barrier.id,
            kind: barrier.kind,
            status: CheckpointStatus::InProgress,
            triggered: barrier.timestamp,
            duration: Duration::ZERO,
            subtasks,
            acknowledged: 0,
            metrics: AckMetrics::default(),
        });
        self.forget();
    }

    pub(super) fn acknowledged(&mut self, now: Moment, id: CheckpointId, metrics: &AckMetrics) {
        if let Some(record) = self.record(id) {
            record.acknowledged += 1;
            record.duration = now.saturating_sub(record.triggered);
            record.metrics.add(metrics);
        }
    }

    pub(super) fn completed(&mut self, id: CheckpointId) {
        self.counts.completed += 1;
        self.ended(id, CheckpointStatus::Completed);
    }

    pub(super) fn failed(&mut self, now: Moment, id: CheckpointId, failure: CheckpointFailure) {
        self.counts.failed += 1;
        if let Some(record) = self.record(id) {
            record.duration = now.saturating_sub(record.triggered);
        }
        self.ended(id, CheckpointStatus::Failed(failure));
    }

    pub(super) fn restored_from(&mut self, now: Moment, id: CheckpointId) {
        self.counts.restored += 1;
        self.restored = Some((id, now));
    }

    fn ended(&mut self, id: CheckpointId, status: CheckpointStatus) {
        self.counts.in_progress -= 1;
        if let Some(record) = self.record(id) {
            record.status = status;
        }
        self.forget();
    }

    fn record(&mut self, id: CheckpointId) -> Option<&mut CheckpointRecord> {
        self.history.iter_mut().find(|record| record.id == id)
    }

    fn forget(&mut self) {
        while self.history.len() > self.remembered {
            let oldest = self.history.iter().position(|record| record.status != CheckpointStatus::InProgress);
            let Some(oldest) = oldest else { break };
            self.history.remove(oldest);
        }
    }
}

impl AckMetrics {
    fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.full_bytes += other.full_bytes;
        self.held_bytes += other.held_bytes;
        self.processed_bytes += other.processed_bytes;
        self.persisted_bytes += other.persisted_bytes;
        self.alignment = self.alignment.max(other.alignment);
        self.start_delay = self.start_delay.max(other.start_delay);
        self.sync = self.sync.max(other.sync);
        self.background = self.background.max(other.background);
    }
}

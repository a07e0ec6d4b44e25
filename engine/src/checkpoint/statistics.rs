//! What became of the checkpoints of this process: collected from events, and from nothing else.

use super::event::CheckpointEvent;
use super::record::{CheckpointRecord, CheckpointStatus};
use super::summary::CheckpointSummary;
use millstream_io::clock::Moment;
use millstream_io::id::CheckpointId;
use std::collections::VecDeque;
use std::sync::Arc;

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

/// Counts, the recent history, the latest of each kind, and what completed ones have in common. A copy costs little: records
/// are shared.
///
/// Of a checkpoint that is not remembered any more an event changes the counts alone.
#[derive(Clone, Debug, Default)]
pub struct CheckpointStatistics {
    counts: CheckpointCounts,
    remembered: usize,
    /// By ascending id.
    history: VecDeque<Arc<CheckpointRecord>>,
    completed: Option<Arc<CheckpointRecord>>,
    failed: Option<Arc<CheckpointRecord>>,
    restored: Option<(CheckpointId, Moment)>,
    summary: Arc<CheckpointSummary>,
}

impl CheckpointStatistics {
    /// Remembers so many checkpoints; those in progress are kept beyond that.
    pub fn new(remembered: usize) -> Self {
        Self { remembered, ..Self::default() }
    }

    /// The counts.
    pub fn counts(&self) -> CheckpointCounts {
        self.counts
    }

    /// The recent checkpoints, newest first.
    pub fn history(&self) -> impl Iterator<Item = &CheckpointRecord> {
        self.history.iter().rev().map(|record| &**record)
    }

    /// One of the checkpoints that are remembered, the latest completed and failed one among them.
    pub fn record(&self, id: CheckpointId) -> Option<&CheckpointRecord> {
        let latest = self.completed.iter().chain(&self.failed).map(|record| &**record);
        self.history().chain(latest).find(|record| record.id == id)
    }

    /// The last one restored, and when.
    pub fn restored(&self) -> Option<(CheckpointId, Moment)> {
        self.restored
    }

    /// The newest completed one, however long ago that was.
    pub fn latest_completed(&self) -> Option<&CheckpointRecord> {
        self.completed.as_deref()
    }

    /// The one that failed last, however long ago that was.
    pub fn latest_failed(&self) -> Option<&CheckpointRecord> {
        self.failed.as_deref()
    }

    /// What the completed ones have in common.
    pub fn summary(&self) -> &CheckpointSummary {
        &self.summary
    }

    /// Takes what has happened.
    pub fn take(&mut self, event: &CheckpointEvent) {
        match event {
            CheckpointEvent::Triggered { barrier, subtasks } => {
                self.counts.total += 1;
                self.counts.in_progress += 1;
                self.history.push_back(Arc::new(CheckpointRecord::new(barrier, subtasks)));
            }
            CheckpointEvent::Acknowledged { id, subtask, metrics, at } => {
                if let Some(record) = self.pending(*id) {
                    record.acknowledge(*subtask, *metrics, *at);
                }
            }
            CheckpointEvent::Completed { id, at } => {
                self.counts.completed += 1;
                if let Some(record) = self.ended(*id, CheckpointStatus::Completed, *at) {
                    Arc::make_mut(&mut self.summary).take(&record);
                    self.completed = Some(record);
                }
            }
            CheckpointEvent::Failed { id, failure, subtask, at } => {
                self.counts.failed += 1;
                if let Some(record) = self.pending(*id) {
                    record.duration = at.saturating_sub(record.triggered);
                    record.failed_subtask = *subtask;
                }
                if let Some(record) = self.ended(*id, CheckpointStatus::Failed(failure.clone()), *at) {
                    self.failed = Some(record);
                }
            }
            CheckpointEvent::Restored { id, at } => {
                self.counts.restored += 1;
                self.restored = Some((*id, *at));
            }
            CheckpointEvent::Retained { ids } => self.retained(ids),
        }
        self.forget();
    }

    /// A pending one is always remembered.
    fn pending(&mut self, id: CheckpointId) -> Option<&mut CheckpointRecord> {
        self.history.iter_mut().find(|record| record.id == id).map(Arc::make_mut)
    }

    fn ended(
        &mut self,
        id: CheckpointId,
        status: CheckpointStatus,
        at: Moment,
    ) -> Option<Arc<CheckpointRecord>> {
        self.counts.in_progress = self.counts.in_progress.saturating_sub(1);
        let record = self.history.iter_mut().find(|record| record.id == id)?;
        let changed = Arc::make_mut(record);
        changed.status = status;
        changed.ended = Some(at);
        Some(record.clone())
    }

    fn retained(&mut self, ids: &[CheckpointId]) {
        // One that completed meanwhile is not among those that were there when the deletion was chosen.
        let newest = ids.last().copied();
        for record in self.history.iter_mut().chain(&mut self.completed) {
            let older = record.status == CheckpointStatus::Completed && Some(record.id) < newest;
            let gone = !ids.contains(&record.id);
            if older && record.discarded != gone {
                Arc::make_mut(record).discarded = gone;
            }
        }
    }

    fn forget(&mut self) {
        while self.history.len() > self.remembered {
            let oldest = self.history.iter().position(|record| record.status != CheckpointStatus::InProgress);
            let Some(oldest) = oldest else { break };
            self.history.remove(oldest);
        }
    }
}

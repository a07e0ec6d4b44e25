//! The subtasks of an attempt: who takes part in a checkpoint, and who may finish.

use super::failure::CheckpointFailure;
use super::message::{SubtaskId, TaskInfo};
use std::collections::{BTreeMap, BTreeSet};

/// How far a subtask has come; it only ever goes forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Progress {
    Running,
    /// The input of its loop has ended: no barrier comes to it.
    Looping,
    /// Reached its end of data.
    Ended,
    /// A completed checkpoint holds its end.
    Covered,
    /// Was told that it may finish: takes part in no further checkpoint.
    Released,
    Finished,
}

#[derive(Clone, Debug)]
struct Subtask {
    task: u32,
    source: bool,
    progress: Progress,
}

/// Who takes part in a checkpoint.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Those that the trigger reaches directly.
    pub(super) trigger: Vec<SubtaskId>,
    /// Those that must acknowledge, and are told how it ended.
    pub(super) acknowledge: BTreeSet<SubtaskId>,
    /// Those that had finished before.
    pub(super) finished: Vec<SubtaskId>,
}

/// The subtasks of the present attempt; none between attempts.
#[derive(Clone, Debug, Default)]
pub(super) struct Subtasks(BTreeMap<SubtaskId, Subtask>);

impl Subtasks {
    pub(super) fn new(tasks: Vec<TaskInfo>) -> Self {
        let subtask = |t: TaskInfo| {
            let progress = if t.finished { Progress::Finished } else { Progress::Running };
            (t.subtask, Subtask { task: t.task, source: t.source, progress })
        };
        Self(tasks.into_iter().map(subtask).collect())
    }

    /// Whether no attempt runs.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Moves a subtask forward; says whether it was not there yet.
    pub(super) fn advance(&mut self, id: SubtaskId, to: Progress) -> bool {
        match self.0.get_mut(&id) {
            Some(subtask) if subtask.progress < to => {
                subtask.progress = to;
                true
            }
            _ => false,
        }
    }

    pub(super) fn progress(&self, id: SubtaskId) -> Option<Progress> {
        self.0.get(&id).map(|s| s.progress)
    }

    fn taking_part(&self) -> impl Iterator<Item = (SubtaskId, &Subtask)> {
        self.0.iter().filter(|(_, s)| s.progress < Progress::Released).map(|(id, s)| (*id, s))
    }

    /// Whether any subtask still takes part in checkpoints.
    pub(super) fn any(&self) -> bool {
        self.taking_part().next().is_some()
    }

    /// Whether all that take part have reached their end of data.
    pub(super) fn all_ended(&self) -> bool {
        self.any() && self.taking_part().all(|(_, s)| s.progress >= Progress::Ended)
    }

    /// Whether the job waits for its final checkpoint (CP-31): all have ended, and the end of one is not covered yet.
    pub(super) fn wants_final(&self) -> bool {
        self.all_ended() && self.taking_part().any(|(_, s)| s.progress == Progress::Ended)
    }

    /// Who takes part in a checkpoint that is triggered now (CP-28).
    ///
    /// The trigger reaches sources and, whatever their upstream, those that have reached their end of data, or the end of
    /// the input of their loop: no barrier need come to them any more. A subtask that ends later is triggered when it says so. All of them are reached
    /// directly where `barriers_overtake` (UC-02).
    pub(super) fn plan(
        &self,
        after_tasks_finish: bool,
        barriers_overtake: bool,
    ) -> Result<Plan, CheckpointFailure> {
        let some_ended = self.0.values().any(|s| s.progress >= Progress::Ended);
        if !self.any() || (!after_tasks_finish && some_ended && !self.all_ended()) {
            return Err(CheckpointFailure::NotAllTasksRunning);
        }
        let direct = |s: &Subtask| barriers_overtake || s.source || s.progress >= Progress::Looping;
        Ok(Plan {
            trigger: self.taking_part().filter(|(_, s)| direct(s)).map(|(id, _)| id).collect(),
            acknowledge: self.taking_part().map(|(id, _)| id).collect(),
            finished: self
                .0
                .iter()
                .filter(|(_, s)| s.progress >= Progress::Released)
                .map(|(id, _)| *id)
                .collect(),
        })
    }

    /// Releases every task whose subtasks are all covered and none of them `awaited` by a pending checkpoint; with
    /// `together` only when that holds for all tasks.
    pub(super) fn release(&mut self, together: bool, awaited: &BTreeSet<SubtaskId>) -> Vec<SubtaskId> {
        let mut held: BTreeSet<u32> = BTreeSet::new();
        for (id, subtask) in self.taking_part() {
            if subtask.progress < Progress::Covered || awaited.contains(&id) {
                held.insert(subtask.task);
            }
        }
        if together && !held.is_empty() {
            return Vec::new();
        }
        self.release_where(|s| !held.contains(&s.task))
    }

    /// Releases all.
    pub(super) fn release_all(&mut self) -> Vec<SubtaskId> {
        self.release_where(|_| true)
    }

    fn release_where(&mut self, which: impl Fn(&Subtask) -> bool) -> Vec<SubtaskId> {
        let taking_part = self.0.iter_mut().filter(|(_, s)| s.progress < Progress::Released);
        let released = taking_part.filter(|(_, s)| which(s)).map(|(id, subtask)| {
            subtask.progress = Progress::Released;
            *id
        });
        released.collect()
    }
}

//! Carrying out what the coordinator decides.

use super::supervisor::Supervisor;
use super::{CheckpointInfo, tally};
use crate::checkpoint::{Action, Barrier, CheckpointEvent, CheckpointFailure, Input, SubtaskId};
use crate::error::{Error, caught};
use crate::task::{Acknowledged, Message, OperatorIndex, ToSupervisor};
use millstream_io::error::Class;
use millstream_io::id::CheckpointId;
use millstream_state::checkpoint_store::Deletion;
use millstream_state::metadata::{
    LineCounters, Metadata, OperatorState, SnapshotFormat, SnapshotKind, SubtaskState,
};
use millstream_state::{CheckpointStore, StateError};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;

impl Supervisor {
    pub(super) fn act(&mut self, action: Action<Acknowledged>) {
        tracing::trace!(?action);
        match action {
            Action::Trigger { barrier, subtasks } => self.trigger(barrier, &subtasks),
            Action::Store { barrier, acks, finished } => self.store(barrier, acks, &finished),
            Action::Complete { id, subtasks } => self.complete(id, &subtasks),
            Action::Abort { id, subtasks, .. } => self.abort(id, &subtasks),
            Action::Discard { id, .. } => self.discard(id),
            Action::Answer { ticket, result } => self.answer(ticket, result),
            Action::FailJob { reason } => {
                self.failed(Error::new(Class::Restart, "checkpoint", self.parts.name.clone(), reason));
            }
            Action::Note(event) => self.note(&event),
            Action::MayFinish { subtasks, commit } => {
                let message = if commit { Message::PreCommitAtEnd } else { Message::Close };
                if let Some(attempt) = &mut self.attempt {
                    attempt.told_to_finish += subtasks.len();
                }
                self.tell(&subtasks, &message);
            }
        }
    }

    /// The one place where statistics and the log learn of it.
    pub(super) fn note(&self, event: &CheckpointEvent) {
        let job = &self.parts.name;
        match event {
            CheckpointEvent::Failed { id, failure, .. } => {
                tracing::info!(job = %job, checkpoint = %id, %failure, "checkpoint aborted");
            }
            other => tracing::debug!(job = %job, event = ?other),
        }
        self.parts.board.post(|posted| posted.checkpoints.take(event));
    }

    fn tell(&self, subtasks: &[SubtaskId], message: &Message) {
        if let Some(attempt) = &self.attempt {
            for subtask in subtasks {
                attempt.tell(*subtask, message.clone());
            }
        }
    }

    fn trigger(&mut self, barrier: Barrier, subtasks: &[SubtaskId]) {
        // The directory is made once; a second trigger of the same checkpoint is for subtasks that ended meanwhile.
        if !self.begun.contains(&barrier.id) {
            let begin = |store: &Mutex<CheckpointStore>| match caught(|| store.lock().begin(barrier.id)) {
                Ok(begun) => begun.map(drop).map_err(|error| error.to_string()),
                Err(text) => Err(format!("panicked: {text}")),
            };
            if let Some(Err(cause)) = self.parts.store.as_deref().map(begin) {
                let failure = CheckpointFailure::TriggerIo { cause };
                self.coordinate(Input::TriggerFailed { id: barrier.id, failure });
                return;
            }
            self.begun.push(barrier.id);
        }
        self.tell(subtasks, &Message::Trigger(barrier));
    }

    /// Publishes the metadata in the background.
    fn store(&mut self, barrier: Barrier, acks: Vec<(SubtaskId, Acknowledged)>, finished: &[SubtaskId]) {
        let Some(store) = self.parts.store.clone() else { return };
        let counters = self.counted(&acks);
        self.storing.insert(barrier.id, counters);
        let metadata = self.metadata(barrier, acks, finished, counters, store.lock().line());
        let sender = self.parts.shared.sender.clone();
        self.parts.shared.executor.spawn(Box::new(move || {
            let id = metadata.checkpoint;
            let published = caught(|| store.lock().publish(&metadata).map_err(Error::from));
            // Whether it was published nobody knows now.
            let unknown = |text| {
                Error::new(Class::Fatal, "checkpoint", id.to_string(), format!("panicked: {text}"))
                    .with_hint("start the job again: it goes on from the newest checkpoint that is complete")
            };
            let published = published.unwrap_or_else(|text| Err(unknown(text)));
            let _ = sender.send(ToSupervisor::Stored(id, published));
        }));
    }

    /// What the line has counted at this cut: what it began with, and each subtask's newest acknowledged barrier.
    fn counted(&mut self, acks: &[(SubtaskId, Acknowledged)]) -> LineCounters {
        let Some(attempt) = &mut self.attempt else { return self.base };
        for (subtask, payload) in acks {
            attempt.acknowledged[subtask.0 as usize] = payload.counters;
        }
        attempt.acknowledged.iter().fold(self.base, |sum, counters| tally::add(sum, *counters))
    }

    fn metadata(
        &self,
        barrier: Barrier,
        acks: Vec<(SubtaskId, Acknowledged)>,
        finished: &[SubtaskId],
        counters: LineCounters,
        line: u64,
    ) -> Metadata {
        let plan = &self.parts.plan;
        let clock = &self.parts.shared.clock;
        let now = clock.wall_ms();
        let age = clock.now().saturating_sub(barrier.timestamp);
        let (mut files, mut named) = (Vec::new(), HashSet::new());
        let mut operators: Vec<OperatorState> = (0..plan.graph.operators.len())
            .map(|index| {
                let node = &plan.graph.operators[index];
                let width = plan.task_of(OperatorIndex(index)).parallelism;
                let (carried, groups) =
                    self.carried.get(index).map_or((&[][..], 0), |(all, max)| (all, *max));
                // What is only carried has its own key groups, whatever its task has.
                let only_carried = node.states.is_empty() && !carried.is_empty();
                OperatorState {
                    id: plan.ids[index],
                    uid: node.uid.clone(),
                    name: node.name.clone(),
                    max_parallelism: if only_carried { groups } else { width.max() },
                    states: [&node.states, carried].concat(),
                    lists: node.lists.clone(),
                    subtasks: vec![SubtaskState::default(); width.subtasks()],
                }
            })
            .collect();
        let ended = acks.iter().filter(|(_, payload)| payload.ended).map(|(subtask, _)| *subtask);
        for subtask in ended.chain(finished.iter().copied()) {
            let (task, index) = plan.place_of(subtask);
            for operator in &plan.graph.tasks[task.0].operators {
                operators[operator.0].subtasks[index].finished = true;
            }
        }
        for (subtask, payload) in acks {
            let (_, index) = plan.place_of(subtask);
            // What was one subtask's before a change of parallelism may now be named by several.
            files.extend(payload.written.files.into_iter().filter(|file| named.insert(file.name.clone())));
            for (id, state) in payload.written.operators {
                if let Some(operator) = operators.iter_mut().find(|operator| operator.id == id) {
                    let finished = operator.subtasks[index].finished;
                    operator.subtasks[index] = SubtaskState { finished, ..state };
                }
            }
        }
        Metadata {
            checkpoint: barrier.id,
            kind: if barrier.close { SnapshotKind::Final } else { SnapshotKind::Checkpoint },
            format: SnapshotFormat::Native,
            job: self.parts.job_id,
            job_name: self.parts.name.clone(),
            line,
            trigger_ms: now.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(0)),
            completed_ms: now,
            counters,
            files,
            operators,
        }
    }

    fn complete(&mut self, id: CheckpointId, subtasks: &[SubtaskId]) {
        self.begun.retain(|begun| *begun > id);
        let info = CheckpointInfo {
            id,
            path: self.checkpoint_path(id),
            completed_ms: self.parts.shared.clock.wall_ms(),
        };
        tracing::info!(job = %self.parts.name, checkpoint = %id, path = %info.path.display(), "checkpoint complete");
        self.parts.board.post(|posted| posted.last_checkpoint = Some(info));
        let Some(permit) = self.permits.remove(&id) else { return };
        self.permits.retain(|other, _| *other > id);
        self.tell(subtasks, &Message::Complete(permit));
        if self.parts.store.is_some() {
            self.deleting(self.deletions + 1);
            if self.deletions == 1 {
                self.delete_superfluous();
            }
        }
    }

    /// What completed checkpoints have made superfluous is deleted, now or, where the storage is slow and this goes on
    /// already, behind that: those that wait must not take the threads of the background.
    pub(super) fn deleted(&mut self, retained: Vec<CheckpointId>) {
        self.note(&CheckpointEvent::Retained { ids: retained });
        self.deleting(self.deletions - 1);
        if self.deletions > 0 {
            self.delete_superfluous();
        }
    }

    fn delete_superfluous(&self) {
        let sender = self.parts.shared.sender.clone();
        let retained = Arc::new(Mutex::new(Vec::new()));
        let chosen = retained.clone();
        let choose = move |store: &mut CheckpointStore| {
            let deletion = store.superfluous();
            *chosen.lock() = store.retained().to_vec();
            Ok(deletion)
        };
        let done = move || {
            // The supervisor may be gone.
            let _ = sender.send(ToSupervisor::Deleted(std::mem::take(&mut retained.lock())));
        };
        self.in_background(choose, done);
    }

    fn abort(&mut self, id: CheckpointId, subtasks: &[SubtaskId]) {
        self.tell(subtasks, &Message::Aborted(id));
        self.discard(id);
    }

    /// Removes what an attempt at a checkpoint left. What cannot be removed now is removed by the next start.
    fn discard(&mut self, id: CheckpointId) {
        self.in_background(move |store| store.discarded(id), || {});
    }

    /// Deletes what `choose` gives up. The store is held for the choice alone: whoever wants something of it meanwhile
    /// does not wait for a slow storage. `done` is called however that ends.
    fn in_background(
        &self,
        choose: impl FnOnce(&mut CheckpointStore) -> Result<Deletion, StateError> + Send + 'static,
        done: impl FnOnce() + Send + 'static,
    ) {
        let Some(store) = self.parts.store.clone() else { return };
        let name = self.parts.name.clone();
        self.parts.shared.executor.spawn(Box::new(move || {
            let work = || {
                let chosen = choose(&mut store.lock());
                let left = chosen?.run();
                store.lock().settle(left)
            };
            match caught(work) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(job = %name, %error, "cleaning up checkpoints failed"),
                Err(text) => tracing::warn!(job = %name, "cleaning up checkpoints panicked: {text}"),
            }
            done();
        }));
    }
}

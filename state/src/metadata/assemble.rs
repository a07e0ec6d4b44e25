//! Acknowledgements to metadata. Pure.

use super::{LineCounters, Metadata, OperatorState, SnapshotKind, SubtaskState};
use crate::descriptor::{ListDescriptor, StateDescriptor};
use crate::job_id::JobId;
use crate::key_group::Parallelism;
use crate::operator_id::OperatorId;
use crate::snapshot::WrittenSnapshot;
use millstream_io::id::CheckpointId;
use std::collections::HashMap;

/// What is known of a checkpoint besides its operators' state: see the fields of [`Metadata`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointInfo {
    /// Its number.
    pub checkpoint: CheckpointId,
    /// What it was taken for.
    pub kind: SnapshotKind,
    /// The name of the job.
    pub job_name: String,
    /// The line that it belongs to.
    pub line: u64,
    /// When it was triggered, in milliseconds since the epoch.
    pub trigger_ms: u64,
    /// When its last acknowledgement was in, in milliseconds since the epoch.
    pub completed_ms: u64,
    /// What the line has counted up to it.
    pub counters: LineCounters,
}

/// An operator of the running job: see the fields of [`OperatorState`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorShape {
    /// Its id.
    pub id: OperatorId,
    /// The uid that the id comes from.
    pub uid: Option<String>,
    /// Its name.
    pub name: String,
    /// Its subtasks and key groups.
    pub parallelism: Parallelism,
    /// Its keyed states.
    pub states: Vec<StateDescriptor>,
    /// Its list states.
    pub lists: Vec<ListDescriptor>,
}

/// Puts a checkpoint together from what its subtasks wrote: each part with its subtask's index.
///
/// # Panics
/// When a subtask of an operator is missing or occurs twice: a checkpoint is complete only with all of them (CP-25).
pub fn assemble(
    info: CheckpointInfo,
    operators: &[OperatorShape],
    parts: impl IntoIterator<Item = (usize, WrittenSnapshot)>,
) -> Metadata {
    let mut files = Vec::new();
    let mut states = HashMap::<(OperatorId, usize), SubtaskState>::new();
    for (subtask, written) in parts {
        files.extend(written.file);
        for (id, state) in written.operators {
            let twice = states.insert((id, subtask), state);
            assert!(twice.is_none(), "subtask {subtask} of operator {id} acknowledged twice");
        }
    }
    let mut subtask_of = |shape: &OperatorShape, subtask: usize| {
        let state = states.remove(&(shape.id, subtask));
        state.unwrap_or_else(|| panic!("subtask {subtask} of operator {} is missing", shape.id))
    };
    let operators = operators
        .iter()
        .map(|shape| OperatorState {
            id: shape.id,
            uid: shape.uid.clone(),
            name: shape.name.clone(),
            max_parallelism: shape.parallelism.max(),
            states: shape.states.clone(),
            lists: shape.lists.clone(),
            subtasks: (0..shape.parallelism.subtasks()).map(|n| subtask_of(shape, n)).collect(),
        })
        .collect();
    assert!(states.is_empty(), "every acknowledged operator is part of the job");
    Metadata {
        checkpoint: info.checkpoint,
        kind: info.kind,
        job: JobId::of(&info.job_name),
        job_name: info.job_name,
        line: info.line,
        trigger_ms: info.trigger_ms,
        completed_ms: info.completed_ms,
        counters: info.counters,
        files,
        operators,
    }
}

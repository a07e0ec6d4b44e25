//! From a snapshot, or from nothing, to what each subtask begins with.

use super::attempt::Shared;
use crate::error::Error;
use crate::graph::Plan;
use crate::task::{OperatorIndex, Restored};
use millstream_io::counters::Counters;
use millstream_io::sink::SinkContext;
use millstream_io::source::SourceContext;
use millstream_io::waker::Waker;
use millstream_state::StateError;
use millstream_state::assign::{NewOperator, OperatorAssignment, assign};
use millstream_state::checkpoint_store;
use millstream_state::metadata::{ListHandle, Metadata};
use millstream_state::redistribute::redistribute;
use millstream_state::snapshot::SnapshotReader;
use std::path::Path;
use std::sync::Arc;

/// An element of list state, encoded.
type Element = Vec<u8>;

/// What a start goes on from, and under what conditions.
pub(super) struct Base<'a> {
    pub restored: Option<&'a checkpoint_store::Restored>,
    /// Whether state of operators and inputs that the job no longer has may be left behind.
    pub allow_dropped: bool,
    /// The other retained checkpoints of the job: their directories and content.
    pub retained: &'a [(std::path::PathBuf, Metadata)],
    pub line: u64,
}

/// Gives the state of the snapshot to the operators of the plan, and takes over its key groups.
///
/// # Errors
/// The two do not fit.
pub(super) fn fit(
    plan: &mut Plan,
    restored: Option<&checkpoint_store::Restored>,
    allow_dropped: bool,
) -> Result<Vec<OperatorAssignment>, Error> {
    let operators: Vec<NewOperator> =
        (0..plan.graph.operators.len()).map(|index| describe(plan, index)).collect();
    let metadata = restored.map(|restored| &*restored.metadata);
    let assigned = assign(metadata, &operators, allow_dropped).map_err(StateError::from)?;
    for (index, assignment) in assigned.iter().enumerate() {
        if !plan.graph.operators[index].states.is_empty() {
            plan.adopt_max_parallelism(OperatorIndex(index), assignment.parallelism);
        }
    }
    Ok(assigned)
}

fn describe(plan: &Plan, index: usize) -> NewOperator {
    let node = &plan.graph.operators[index];
    let task = plan.task_of[index];
    NewOperator {
        id: plan.ids[index],
        uid: node.uid.clone(),
        name: node.name.clone(),
        parallelism: plan.tasks[task.0].parallelism.subtasks() as u32,
        max_parallelism: plan.tasks[task.0].fixed_max,
        states: node.states.clone(),
        lists: node.lists.clone(),
    }
}

/// What each subtask of the job begins with. Asks sources for their splits, and lets sinks clean up.
///
/// # Errors
/// Damaged or missing files, inputs that are gone, directories that cannot be used.
pub(super) fn prepare(
    plan: &mut Plan,
    assigned: &[OperatorAssignment],
    base: &Base<'_>,
    shared: &Shared,
) -> Result<Vec<Restored>, Error> {
    let mut subtasks: Vec<Restored> = (0..plan.subtasks()).map(|_| empty(base, shared)).collect();
    for (index, assignment) in assigned.iter().enumerate() {
        give_keyed(plan, index, assignment, &mut subtasks);
        give_lists(plan, index, assignment, base, shared, &mut subtasks)?;
    }
    finish(plan, assigned, &mut subtasks);
    Ok(subtasks)
}

fn empty(base: &Base<'_>, shared: &Shared) -> Restored {
    Restored {
        permit: base.restored.map(|restored| restored.permit),
        reader: base.restored.map(|restored| reader(shared, &restored.dir)),
        ..Restored::default()
    }
}

fn reader(shared: &Shared, dir: &Path) -> SnapshotReader {
    SnapshotReader::new(shared.checkpoints.clone(), dir.to_owned())
}

/// A subtask has finished when all operators of its chain had: it is not run again (CP-28).
fn finish(plan: &Plan, assigned: &[OperatorAssignment], subtasks: &mut [Restored]) {
    for (task, planned) in plan.graph.tasks.iter().zip(&plan.tasks) {
        let of_task = &mut subtasks[planned.first_subtask..][..planned.parallelism.subtasks()];
        for (subtask, restored) in of_task.iter_mut().enumerate() {
            restored.finished =
                task.operators.iter().all(|operator| assigned[operator.0].subtasks[subtask].finished);
        }
        let active = of_task.iter().filter(|restored| !restored.finished).count();
        for (place, restored) in of_task.iter_mut().filter(|restored| !restored.finished).enumerate() {
            restored.share = (place, active);
        }
    }
}

fn give_keyed(plan: &Plan, index: usize, assignment: &OperatorAssignment, subtasks: &mut [Restored]) {
    let planned = plan.task_of(OperatorIndex(index));
    for (subtask, part) in assignment.subtasks.iter().enumerate() {
        let handles = part.keyed.iter().map(|(_, handle)| handle.clone()).collect();
        subtasks[planned.first_subtask + subtask].keyed.push((plan.ids[index], handles));
    }
}

fn give_lists(
    plan: &mut Plan,
    index: usize,
    assignment: &OperatorAssignment,
    base: &Base<'_>,
    shared: &Shared,
    subtasks: &mut [Restored],
) -> Result<(), Error> {
    let planned = plan.task_of(OperatorIndex(index));
    let (first, parallelism) = (planned.first_subtask, planned.parallelism.subtasks());
    let id = plan.ids[index];
    for rotation in 0..plan.graph.operators[index].lists.len() {
        let old = match base.restored {
            Some(restored) => read(&mut reader(shared, &restored.dir), &assignment.lists[rotation].old)?,
            None => Vec::new(),
        };
        let old = ask_owner(plan, index, parallelism, old, base, shared)?;
        let how = plan.graph.operators[index].lists[rotation].redistribution;
        for (subtask, elements) in redistribute(how, old, parallelism, rotation).into_iter().enumerate() {
            subtasks[first + subtask].lists.push((id, elements));
        }
    }
    Ok(())
}

/// Sources discover or check their splits, sinks clean up after earlier attempts.
fn ask_owner(
    plan: &mut Plan,
    index: usize,
    parallelism: usize,
    old: Vec<Vec<Element>>,
    base: &Base<'_>,
    shared: &Shared,
) -> Result<Vec<Vec<Element>>, Error> {
    let id = plan.ids[index];
    let node = &mut plan.graph.operators[index];
    if let Some(source) = &mut node.source {
        let cx = source_context(parallelism, shared);
        return match base.restored {
            None => Ok(vec![source.discover(&cx)?]),
            Some(_) => old.iter().map(|splits| source.check(&cx, splits, base.allow_dropped)).collect(),
        };
    }
    if let Some(sink) = &mut node.sink {
        let mut retained = Vec::new();
        for (dir, metadata) in base.retained {
            for operator in metadata.operators.iter().filter(|operator| operator.id == id) {
                for subtask in &operator.subtasks {
                    let handles: Vec<_> = subtask.lists.iter().cloned().map(Some).collect();
                    retained.extend(read(&mut reader(shared, dir), &handles)?.into_iter().flatten());
                }
            }
        }
        sink.prepare(&sink_context(parallelism, base.line, shared), &old.concat(), &retained)?;
    }
    Ok(old)
}

fn read(reader: &mut SnapshotReader, lists: &[Option<ListHandle>]) -> Result<Vec<Vec<Element>>, Error> {
    lists
        .iter()
        .map(|handle| match handle {
            Some(handle) => Ok(reader.encoded_list(handle)?),
            None => Ok(Vec::new()),
        })
        .collect()
}

fn source_context(parallelism: usize, shared: &Shared) -> SourceContext {
    SourceContext {
        subtask: 0,
        parallelism,
        storage: shared.files.clone(),
        clock: shared.clock.clone(),
        waker: Waker::nobody(),
        counters: Arc::<Counters>::default(),
    }
}

fn sink_context(parallelism: usize, line: u64, shared: &Shared) -> SinkContext {
    SinkContext {
        subtask: 0,
        parallelism,
        job_id: shared.job_id.clone(),
        line,
        checkpointing: shared.checkpointing,
        storage: shared.files.clone(),
        clock: shared.clock.clone(),
        counters: Arc::<Counters>::default(),
    }
}

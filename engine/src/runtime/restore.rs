//! From a snapshot, or from nothing, to what each subtask begins with.

use super::attempt::Shared;
use crate::error::{Error, calling};
use crate::graph::{OperatorNode, Plan};
use crate::task::{IN_FLIGHT, OperatorIndex, Restored};
use millstream_io::counters::Counters;
use millstream_io::sink::SinkContext;
use millstream_io::source::SourceContext;
use millstream_io::waker::Waker;
use millstream_state::assign::{NewOperator, OperatorAssignment, Unmatched, assign, unmatched};
use millstream_state::checkpoint_store;
use millstream_state::metadata::{KeyedHandle, ListHandle, Metadata};
use millstream_state::redistribute::redistribute;
use millstream_state::snapshot::SnapshotReader;
use millstream_state::{OperatorId, StateDescriptor, StateError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An element of list state, encoded.
type Element = Vec<u8>;

/// The list state of each operator, list by list: the elements of each old subtask, as their owner wants them given out.
pub(super) type Gathered = Vec<Vec<Vec<Vec<Element>>>>;

/// What a start goes on from, and what else there is.
pub(super) struct Base<'a> {
    pub restored: Option<&'a checkpoint_store::Restored>,
    /// Whether that is a checkpoint of the line that goes on, so that later ones may name its files.
    pub owned: bool,
    /// The other retained checkpoints of the job: their directories and content.
    pub retained: &'a [(PathBuf, Metadata)],
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
        commits: node.sink.is_some(),
    }
}

/// Whether the snapshot has records that were in flight before an operator.
fn is_in_flight(metadata: &Metadata, id: OperatorId) -> bool {
    let of_it = metadata.operators.iter().filter(|operator| operator.id == id);
    of_it.flat_map(|operator| &operator.lists).any(|list| list.name == IN_FLIGHT)
}

/// Says what the operators of the plan and the snapshot do not have in common (MS-021).
pub(super) fn tell_unmatched(
    job: &str,
    plan: &Plan,
    restored: &checkpoint_store::Restored,
    allow_dropped: bool,
) {
    let mut operators: Vec<NewOperator> =
        (0..plan.graph.operators.len()).map(|index| describe(plan, index)).collect();
    // Nothing of the user's is missing where nothing was in flight.
    for operator in &mut operators {
        operator.lists.retain(|list| list.name != IN_FLIGHT || is_in_flight(&restored.metadata, operator.id));
    }
    let Unmatched { empty, mut left_behind, mut unused } = unmatched(&restored.metadata, &operators);
    if allow_dropped {
        left_behind.append(&mut unused);
    }
    if !empty.is_empty() {
        let list = empty.join(", ");
        tracing::warn!(job, "not in the checkpoint, so they begin without state: {list}");
    }
    if !left_behind.is_empty() {
        let list = left_behind.join(", ");
        tracing::warn!(job, "not in the program, so their state is left behind: {list}");
    }
    if !unused.is_empty() {
        let list = unused.join(", ");
        tracing::warn!(
            job,
            "not in the program, but kept in its checkpoints until it is there again, or until a start with \
             --allow-non-restored-state leaves it behind: {list}"
        );
    }
}

/// Reads list state and asks sources for their splits. Changes nothing, so that a start may still be refused.
///
/// # Errors
/// Damaged or missing files, inputs that are gone.
pub(super) fn gather(
    plan: &mut Plan,
    assigned: &[OperatorAssignment],
    restored: Option<&checkpoint_store::Restored>,
    allow_dropped: bool,
    shared: &Shared,
) -> Result<Gathered, Error> {
    let mut gathered = Vec::with_capacity(assigned.len());
    for (index, assignment) in assigned.iter().enumerate() {
        let cx = source_context(plan.task_of(OperatorIndex(index)).parallelism.subtasks(), shared);
        let node = &mut plan.graph.operators[index];
        let name = &node.name;
        let mut lists = Vec::with_capacity(node.lists.len());
        for assigned in assignment.lists.iter().take(node.lists.len()) {
            let old = match restored {
                Some(restored) => read(&mut reader(shared, &restored.dir), &assigned.old)?,
                None => Vec::new(),
            };
            lists.push(match (&mut node.source, restored) {
                (Some(source), None) => vec![calling(name, "discover", || source.discover(&cx))?],
                (Some(source), Some(_)) => {
                    let mut check = |splits| source.check(&cx, splits, allow_dropped);
                    let checked = old.iter().map(|splits| calling(name, "check", || check(splits)));
                    checked.collect::<Result<_, _>>()?
                }
                (None, _) => old,
            });
        }
        gathered.push(lists);
    }
    Ok(gathered)
}

/// What sources have before them and do not read, since they go on with the input that the job began with. Nothing for a
/// source of which a subtask had come to its end: what that one has read is not said by the checkpoint any more.
pub(super) fn unread(
    plan: &mut Plan,
    gathered: &Gathered,
    restored: &checkpoint_store::Restored,
    shared: &Shared,
) -> Vec<String> {
    let mut all = Vec::new();
    for (index, lists) in gathered.iter().enumerate() {
        let cx = source_context(plan.task_of(OperatorIndex(index)).parallelism.subtasks(), shared);
        let id = plan.ids[index];
        let of_it = restored.metadata.operators.iter().filter(|operator| operator.id == id);
        if of_it.flat_map(|operator| &operator.subtasks).any(|subtask| subtask.finished) {
            continue;
        }
        let OperatorNode { name, source: Some(source), .. } = &mut plan.graph.operators[index] else {
            continue;
        };
        let splits: Vec<Element> = lists.iter().flatten().flatten().cloned().collect();
        if !splits.is_empty() {
            // What cannot be seen now is no reason not to go on.
            all.extend(calling(name, "unread", || source.unread(&cx, &splits)).unwrap_or_default());
        }
    }
    all
}

/// Says what is not read.
pub(super) fn tell_unread(job: &str, unread: &[String]) {
    const NAMED: usize = 5;
    if unread.is_empty() {
        return;
    }
    let named = unread[..unread.len().min(NAMED)].join(", ");
    let more = match unread.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    tracing::warn!(
        job,
        "the job goes on with the input that it began with, so this is not read: {named}{more}; give it to a job of its own \
         (--name), or begin anew with --fresh"
    );
}

/// What an attempt begins with.
#[derive(Default)]
pub(super) struct Prepared {
    /// For each subtask.
    pub subtasks: Vec<Restored>,
    /// For each operator: the keyed states that it does not have any more and carries on, and how many key groups there are.
    pub carried: Vec<(Vec<StateDescriptor>, u32)>,
}

/// What each subtask of the job begins with. Lets sinks clean up, so the job's directory must be claimed.
///
/// # Errors
/// Damaged or missing files, outputs that cannot be used.
pub(super) fn prepare(
    plan: &mut Plan,
    assigned: &[OperatorAssignment],
    gathered: Gathered,
    base: &Base<'_>,
    shared: &Shared,
) -> Result<Prepared, Error> {
    let owned: Option<Arc<[_]>> =
        base.restored.filter(|_| base.owned).map(|restored| restored.metadata.files.as_slice().into());
    let begin = || Restored { owned: owned.clone(), ..empty(base, shared) };
    let mut subtasks: Vec<Restored> = (0..plan.subtasks()).map(|_| begin()).collect();
    for (index, (assignment, lists)) in assigned.iter().zip(gathered).enumerate() {
        give_keyed(plan, index, assignment, &mut subtasks);
        clean_up(plan, index, &lists, base, shared)?;
        give_lists(plan, index, lists, &mut subtasks);
    }
    finish(plan, assigned, &mut subtasks);
    let carried =
        assigned.iter().map(|operator| (operator.carried.clone(), operator.parallelism.max())).collect();
    Ok(Prepared { subtasks, carried })
}

fn empty(base: &Base<'_>, shared: &Shared) -> Restored {
    Restored {
        permit: base.restored.map(|restored| restored.permit),
        reader: base.restored.map(|restored| reader(shared, &restored.dir)),
        ..Restored::default()
    }
}

fn reader(shared: &Shared, dir: &Path) -> SnapshotReader {
    SnapshotReader::new(shared.checkpoints.clone(), dir.to_owned()).preferring(shared.copies.clone())
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
    let (id, own) = (plan.ids[index], plan.graph.operators[index].states.len());
    for (subtask, part) in assignment.subtasks.iter().enumerate() {
        let restored = &mut subtasks[planned.first_subtask + subtask];
        let (used, carried): (Vec<_>, Vec<_>) =
            part.keyed.iter().cloned().partition(|(state, _)| usize::from(*state) < own);
        restored.keyed.push((id, used));
        restored.carried.extend(carried.into_iter().map(|(state, handle)| {
            let backend = assignment.carried[usize::from(state) - own].backend;
            ((id, state), backend, KeyedHandle { state, ..handle })
        }));
    }
}

fn give_lists(plan: &Plan, index: usize, lists: Vec<Vec<Vec<Element>>>, subtasks: &mut [Restored]) {
    let planned = plan.task_of(OperatorIndex(index));
    let (first, parallelism) = (planned.first_subtask, planned.parallelism.subtasks());
    for (rotation, old) in lists.into_iter().enumerate() {
        let how = plan.graph.operators[index].lists[rotation].redistribution;
        for (subtask, elements) in redistribute(how, old, parallelism, rotation).into_iter().enumerate() {
            subtasks[first + subtask].lists.push((plan.ids[index], elements));
        }
    }
}

/// A sink removes what earlier attempts left and no checkpoint names.
fn clean_up(
    plan: &mut Plan,
    index: usize,
    lists: &[Vec<Vec<Element>>],
    base: &Base<'_>,
    shared: &Shared,
) -> Result<(), Error> {
    let (id, parallelism) = (plan.ids[index], plan.task_of(OperatorIndex(index)).parallelism.subtasks());
    let OperatorNode { name, sink: Some(sink), .. } = &mut plan.graph.operators[index] else { return Ok(()) };
    let mut retained = Vec::new();
    for (dir, metadata) in base.retained {
        for operator in metadata.operators.iter().filter(|operator| operator.id == id) {
            for subtask in &operator.subtasks {
                let handles: Vec<_> = subtask.lists.iter().cloned().map(Some).collect();
                retained.extend(read(&mut reader(shared, dir), &handles)?.into_iter().flatten());
            }
        }
    }
    let restored: Vec<Element> = lists.iter().flatten().flatten().cloned().collect();
    let cx = sink_context(parallelism, base.line, shared);
    calling(name, "prepare", || sink.prepare(&cx, &restored, &retained))
}

/// Has sinks remove what line `line` of the job, which is over, has left uncommitted, except what is `gathered` for another
/// one. What stays is in nobody's way.
pub(super) fn discard(job: &str, plan: &mut Plan, line: u64, gathered: Option<&Gathered>, shared: &Shared) {
    for index in 0..plan.graph.operators.len() {
        let cx = sink_context(plan.task_of(OperatorIndex(index)).parallelism.subtasks(), line, shared);
        let OperatorNode { name, sink: Some(sink), .. } = &mut plan.graph.operators[index] else { continue };
        let lists = gathered.map_or(&[][..], |gathered| &gathered[index]);
        let kept: Vec<Element> = lists.iter().flatten().flatten().cloned().collect();
        if let Err(error) = calling(name, "discard", || sink.discard(&cx, &kept)) {
            tracing::warn!(job, %error, "uncommitted output of the ended job stays");
        }
    }
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

//! Who gets which part of a snapshot: its metadata and the operators of the new program to handles for each subtask,
//! or the reason why the two do not fit. Pure.
//!
//! Operators are matched by id, states by name within an operator. Keyed state follows its key groups (KG-05), so
//! each new subtask gets the old handles narrowed to its own groups. Lists are handed over whole, for what they hold
//! is checked by their owner before it is [given out](crate::redistribute).

mod mismatch;
mod states;
#[cfg(test)]
mod tests;
mod unmatched;

pub(crate) use mismatch::label;
pub use mismatch::{Mismatch, OldNew};
pub use unmatched::{Unmatched, unmatched};

use crate::descriptor::{ListDescriptor, StateDescriptor};
use crate::key_group::{Parallelism, ParallelismError};
use crate::metadata::{KeyedHandle, ListHandle, Metadata, OperatorState, SubtaskState};
use crate::operator_id::OperatorId;
use states::Indexes;
use std::collections::HashSet;

/// An operator of the program that is to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOperator {
    /// Its id.
    pub id: OperatorId,
    /// Its uid, if the user gave one.
    pub uid: Option<String>,
    /// Its name.
    pub name: String,
    /// Its subtasks.
    pub parallelism: u32,
    /// Key groups, if the user said how many.
    pub max_parallelism: Option<u32>,
    /// Its keyed states.
    pub states: Vec<StateDescriptor>,
    /// Its list states.
    pub lists: Vec<ListDescriptor>,
    /// Whether its lists hold output that is still to be committed: that is owed also where a subtask has finished.
    pub commits: bool,
}

impl NewOperator {
    /// How a person calls the operator.
    pub fn label(&self) -> String {
        label(self.uid.as_deref(), &self.name, self.id)
    }
}

/// What an operator starts with.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorAssignment {
    /// Its subtasks and key groups; the latter are taken over from the snapshot when the user names none (KG-04).
    pub parallelism: Parallelism,
    /// Its lists, in the order of [`NewOperator::lists`].
    pub lists: Vec<ListAssignment>,
    /// Keyed states that the operator does not have any more. They stay in its checkpoints as they are, behind its own
    /// states, for a program that has them again (ST-03).
    pub carried: Vec<StateDescriptor>,
    /// What each of its subtasks starts with.
    pub subtasks: Vec<SubtaskAssignment>,
}

/// A list state as the snapshot holds it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListAssignment {
    /// The old subtasks' lists, in their order; `None` for an empty one. No subtasks when the snapshot does not know
    /// the list.
    pub old: Vec<Option<ListHandle>>,
}

/// What a subtask starts with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubtaskAssignment {
    /// Whether it had finished, so that it must not run again (CP-28).
    pub finished: bool,
    /// For each part of its keyed states: which of [`NewOperator::states`] or, counted on, of
    /// [`OperatorAssignment::carried`], and where its key groups are.
    pub keyed: Vec<(u16, KeyedHandle)>,
}

/// Gives the state of a snapshot to the operators of a program; without a snapshot all start empty. The answers are
/// in the order of `operators`.
///
/// `drop_allowed` is `--allow-non-restored-state`.
///
/// # Errors
/// [`Mismatch`] names the operator, the state and what does not fit (ER-01 to ER-03, ER-10 to ER-12).
pub fn assign(
    snapshot: Option<&Metadata>,
    operators: &[NewOperator],
    drop_allowed: bool,
) -> Result<Vec<OperatorAssignment>, Mismatch> {
    operators.iter().try_for_each(states::storable)?;
    let old = snapshot.map_or(&[][..], |metadata| &metadata.operators);
    if !drop_allowed {
        let known: HashSet<_> = operators.iter().map(|o| o.id).collect();
        let removed: Vec<_> = old
            .iter()
            .filter(|o| !o.is_empty() && !known.contains(&o.id))
            .map(OperatorState::label)
            .collect();
        if !removed.is_empty() {
            return Err(Mismatch::OperatorsRemoved { operators: removed });
        }
    }
    operators
        .iter()
        .map(|new| match old.iter().find(|o| o.id == new.id) {
            Some(old) => assign_operator(old, new, drop_allowed),
            None => fresh(new),
        })
        .collect()
}

fn fresh(new: &NewOperator) -> Result<OperatorAssignment, Mismatch> {
    let parallelism = parallelism(new, new.max_parallelism)?;
    Ok(OperatorAssignment {
        parallelism,
        lists: vec![ListAssignment::default(); new.lists.len()],
        carried: Vec::new(),
        subtasks: vec![SubtaskAssignment::default(); parallelism.subtasks()],
    })
}

fn parallelism(new: &NewOperator, max: Option<u32>) -> Result<Parallelism, Mismatch> {
    Parallelism::new(i64::from(new.parallelism), max.map(i64::from))
        .map_err(|cause| Mismatch::Parallelism { operator: new.label(), cause })
}

fn assign_operator(
    old: &OperatorState,
    new: &NewOperator,
    drop_allowed: bool,
) -> Result<OperatorAssignment, Mismatch> {
    let indexes = states::compare(old, new, drop_allowed)?;
    let parallelism = restored_parallelism(old, new)?;
    let lists = (0..new.lists.len()).map(|n| list(old, indexes.old_list(n), new.commits)).collect();
    let unchanged = parallelism.subtasks() == old.parallelism();
    let subtasks = (0..parallelism.subtasks())
        .map(|n| SubtaskAssignment {
            finished: old.fully_finished() || (unchanged && old.subtasks[n].finished),
            keyed: keyed(old, &indexes, parallelism, n),
        })
        .collect();
    let carried = indexes.carried.iter().map(|index| old.states[*index].clone()).collect();
    Ok(OperatorAssignment { parallelism, lists, carried, subtasks })
}

/// KG-04: key groups are part of keyed state. An operator that has none is free.
fn restored_parallelism(old: &OperatorState, new: &NewOperator) -> Result<Parallelism, Mismatch> {
    if old.states.is_empty() {
        return parallelism(new, new.max_parallelism);
    }
    match new.max_parallelism {
        Some(max) if max != old.max_parallelism => Err(Mismatch::MaxParallelism {
            operator: new.label(),
            restored: old.max_parallelism,
            configured: max,
        }),
        _ => parallelism(new, Some(old.max_parallelism)).map_err(|mismatch| match mismatch {
            Mismatch::Parallelism { operator, cause: ParallelismError::AboveMax { .. } } => {
                let (restored, configured) = (old.max_parallelism, new.parallelism);
                Mismatch::AboveRestoredMax { operator, restored, configured }
            }
            other => other,
        }),
    }
}

/// CP-29: what a finished subtask kept is left behind, except what is still to be committed.
fn list(old: &OperatorState, index: Option<u16>, commits: bool) -> ListAssignment {
    let Some(index) = index else { return ListAssignment::default() };
    let of_subtask = |subtask: &SubtaskState| {
        let owed = commits || !subtask.finished;
        subtask.lists.iter().find(|list| owed && list.list == index).cloned()
    };
    ListAssignment { old: old.subtasks.iter().map(of_subtask).collect() }
}

/// The old handles narrowed to what subtask `n` owns. What a finished subtask kept is left behind: its end has been
/// processed and its results are out, so at another parallelism its key groups begin empty, or they would be emitted
/// again.
fn keyed(
    old: &OperatorState,
    indexes: &Indexes,
    parallelism: Parallelism,
    n: usize,
) -> Vec<(u16, KeyedHandle)> {
    let own = parallelism.range_of(n);
    let handles = old.subtasks.iter().filter(|s| !s.finished).flat_map(|s| &s.keyed);
    handles.filter_map(|handle| Some((indexes.new_state(handle.state)?, handle.narrowed(own)?))).collect()
}

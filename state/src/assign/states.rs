//! Whether an operator's states are those of the snapshot (ER-10 to ER-12), and which one is which.

use super::{Mismatch, NewOperator, OldNew};
use crate::descriptor::{Backend, ListDescriptor, StateDescriptor};
use crate::metadata::OperatorState;

/// Which state of the program is which one of the snapshot.
pub(super) struct Indexes {
    /// By old index.
    states: Vec<Option<u16>>,
    /// By new index.
    lists: Vec<Option<u16>>,
    /// The old indexes of the states that are carried on.
    pub carried: Vec<usize>,
}

impl Indexes {
    /// The new index of an old keyed state, those that are carried on behind the operator's own; `None` when it is left
    /// behind.
    pub fn new_state(&self, old: u16) -> Option<u16> {
        self.states.get(usize::from(old)).copied().flatten()
    }

    /// The old index of a new list; `None` when the snapshot does not know it.
    pub fn old_list(&self, new: usize) -> Option<u16> {
        self.lists.get(new).copied().flatten()
    }
}

/// Every state's type can be described in a snapshot: found out before the first one is taken.
pub(super) fn storable(operator: &NewOperator) -> Result<(), Mismatch> {
    let keyed = operator.states.iter().flat_map(|s| {
        [Some(&s.key), Some(&s.value), s.namespace.as_ref()]
            .into_iter()
            .flatten()
            .map(|schema| (&s.name, schema))
    });
    for (state, schema) in keyed.chain(operator.lists.iter().map(|l| (&l.name, &l.element))) {
        if let Err(cause) = schema.encode() {
            return Err(Mismatch::Unstorable { operator: operator.label(), state: state.clone(), cause });
        }
    }
    Ok(())
}

/// Compares by name.
pub(super) fn compare(
    old: &OperatorState,
    new: &NewOperator,
    drop_allowed: bool,
) -> Result<Indexes, Mismatch> {
    for state in &old.states {
        if let Some(now) = new.states.iter().find(|s| s.name == state.name) {
            same_state(new, state, now)?;
        } else if let Some(now) = new.lists.iter().find(|l| l.name == state.name) {
            return Err(changed(new, &now.name, OldNew::Kind(state.kind.to_string(), "list".to_owned())));
        }
    }
    for list in &old.lists {
        if let Some(now) = new.lists.iter().find(|l| l.name == list.name) {
            same_list(new, list, now)?;
        } else if let Some(now) = new.states.iter().find(|s| s.name == list.name) {
            return Err(changed(new, &now.name, OldNew::Kind("list".to_owned(), now.kind.to_string())));
        }
    }
    let mut states: Vec<_> = old.states.iter().map(|s| position(&new.states, |n| n.name == s.name)).collect();
    let lists = new.lists.iter().map(|l| position(&old.lists, |o| o.name == l.name)).collect();
    let mut carried = Vec::new();
    if !drop_allowed {
        no_list_left_behind(old, new)?;
        for (index, state) in states.iter_mut().enumerate() {
            if state.is_none() && holds(old, index) {
                *state = u16::try_from(new.states.len() + carried.len()).ok();
                carried.push(index);
            }
        }
    }
    Ok(Indexes { states, lists, carried })
}

/// Whether there is anything of a keyed state that a restore does not leave behind.
fn holds(old: &OperatorState, index: usize) -> bool {
    let kept = old.subtasks.iter().filter(|subtask| !subtask.finished).flat_map(|subtask| &subtask.keyed);
    kept.into_iter().any(|handle| usize::from(handle.state) == index)
}

fn position<T>(all: &[T], is: impl Fn(&T) -> bool) -> Option<u16> {
    all.iter().position(is).and_then(|n| u16::try_from(n).ok())
}

fn changed(new: &NewOperator, state: &str, change: OldNew) -> Mismatch {
    Mismatch::StateChanged { operator: new.label(), state: state.to_owned(), change: Box::new(change) }
}

fn same_state(operator: &NewOperator, old: &StateDescriptor, new: &StateDescriptor) -> Result<(), Mismatch> {
    let change = if old.backend != new.backend && old.backend != Backend::Canonical {
        OldNew::Backend(old.backend, new.backend)
    } else if old.kind != new.kind {
        OldNew::Kind(old.kind.to_string(), new.kind.to_string())
    } else if old.layout != new.layout {
        OldNew::Layout(old.layout, new.layout)
    } else if old.key != new.key {
        OldNew::Key(old.key.clone(), new.key.clone())
    } else if old.value != new.value {
        OldNew::Value(old.value.clone(), new.value.clone())
    } else if old.namespace != new.namespace {
        OldNew::Namespace(old.namespace.clone(), new.namespace.clone())
    } else if old.ttl != new.ttl {
        OldNew::Ttl { old: old.ttl, new: new.ttl }
    } else {
        return Ok(());
    };
    Err(changed(operator, &new.name, change))
}

fn same_list(operator: &NewOperator, old: &ListDescriptor, new: &ListDescriptor) -> Result<(), Mismatch> {
    if old.element == new.element {
        return Ok(());
    }
    Err(changed(operator, &new.name, OldNew::Value(old.element.clone(), new.element.clone())))
}

/// A list that is not empty must be one of the program's: what it holds may be owed, as the uncommitted output of a sink is.
fn no_list_left_behind(old: &OperatorState, new: &NewOperator) -> Result<(), Mismatch> {
    for handle in old.subtasks.iter().flat_map(|subtask| &subtask.lists) {
        let name = &old.lists[usize::from(handle.list)].name;
        if new.lists.iter().all(|l| l.name != *name) {
            return Err(Mismatch::StateRemoved { operator: new.label(), state: name.clone() });
        }
    }
    Ok(())
}

//! What a snapshot and a program do not have in common although the one may start from the other.

use super::NewOperator;
use crate::metadata::{Metadata, OperatorState};

/// What a start from a snapshot does without: to be said, for it may not be what the user meant (MS-021).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Operators, or single states of operators, of which the snapshot knows nothing: they begin empty.
    pub empty: Vec<String>,
    /// Operators that the program does not have, and lists that its operators do not have: they are left behind.
    pub left_behind: Vec<String>,
    /// Keyed states that an operator does not have any more: they are [carried](super::OperatorAssignment::carried) on, or
    /// left behind where that is allowed.
    pub unused: Vec<String>,
}

/// Compares a snapshot and a program that [`assign`](super::assign()) has found to fit.
pub fn unmatched(snapshot: &Metadata, operators: &[NewOperator]) -> Unmatched {
    let mut found = Unmatched::default();
    for new in operators {
        match snapshot.operators.iter().find(|old| old.id == new.id) {
            Some(old) => states(old, new, &mut found),
            None if new.states.is_empty() && new.lists.is_empty() => {}
            None => found.empty.push(new.label()),
        }
    }
    let gone = |old: &&OperatorState| !old.is_empty() && operators.iter().all(|new| new.id != old.id);
    found.left_behind.extend(snapshot.operators.iter().filter(gone).map(OperatorState::label));
    found
}

fn states(old: &OperatorState, new: &NewOperator, found: &mut Unmatched) {
    let known = |name: &str| {
        old.states.iter().any(|state| state.name == name) || old.lists.iter().any(|list| list.name == name)
    };
    let wanted = |name: &str| {
        new.states.iter().any(|state| state.name == name) || new.lists.iter().any(|list| list.name == name)
    };
    let of_new = new.states.iter().map(|state| &state.name).chain(new.lists.iter().map(|list| &list.name));
    let state = |name: &String| format!("state {name:?} of {}", new.label());
    found.empty.extend(of_new.filter(|name| !known(name)).map(state));
    let held = |index: usize, keyed: bool| {
        old.subtasks.iter().any(|subtask| match keyed {
            true => subtask.keyed.iter().any(|handle| usize::from(handle.state) == index),
            false => subtask.lists.iter().any(|handle| usize::from(handle.list) == index),
        })
    };
    let gone = |(name, held): &(&String, bool)| *held && !wanted(name);
    let keyed = old.states.iter().enumerate().map(|(index, state)| (&state.name, held(index, true)));
    found.unused.extend(keyed.filter(gone).map(|(name, _)| state(name)));
    let lists = old.lists.iter().enumerate().map(|(index, list)| (&list.name, held(index, false)));
    found.left_behind.extend(lists.filter(gone).map(|(name, _)| state(name)));
}

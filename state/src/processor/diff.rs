//! In what two snapshots differ, key group by key group of each.

use super::Snapshot;
use super::entry::Parts;
use super::read::Entries;
use crate::error::StateError;
use crate::key_group::KeyGroup;
use crate::metadata::{ListHandle, OperatorState};
use crate::rows::Rows;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// A difference.
#[expect(clippy::large_enum_variant, reason = "each is handed to a closure, and none is kept")]
#[derive(Debug)]
pub enum Difference<'a> {
    /// An entry that only one of them has, or that has another value.
    Entry {
        /// The operator.
        operator: &'a OperatorState,
        /// The state's name.
        state: &'a str,
        /// What the first one has.
        left: Option<Parts<'a>>,
        /// What the second one has.
        right: Option<Parts<'a>>,
    },
    /// A state whose entries cannot be compared one by one, and why; or a list whose elements differ.
    State {
        /// The operator.
        operator: &'a OperatorState,
        /// The state's name.
        state: &'a str,
        /// In what it differs.
        why: &'static str,
    },
}

/// Calls `f` with every difference. Operators are matched by id, states by name; what keeps a state does not count, nor does
/// parallelism.
///
/// # Errors
/// Files that are missing or damaged; a state that cannot be read here; those of `f`.
pub fn diff<E: From<StateError>>(
    left: &Snapshot,
    right: &Snapshot,
    mut f: impl FnMut(&Difference<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let of = |snapshot: &'_ Snapshot, id| snapshot.metadata.operators.iter().position(|o| o.id == id);
    let both = left.metadata.operators.iter().chain(&right.metadata.operators);
    let mut seen = BTreeSet::new();
    for operator in both {
        if !seen.insert(operator.id) {
            continue;
        }
        let place = |snapshot: &Snapshot| of(snapshot, operator.id);
        let of_left = place(left).map(|nth| (left, &left.metadata.operators[nth]));
        let of_right = place(right).map(|nth| (right, &right.metadata.operators[nth]));
        keyed_states(operator, of_left, of_right, &mut f)?;
        lists(operator, of_left, of_right, &mut f)?;
    }
    Ok(())
}

type Side<'a> = Option<(&'a Snapshot, &'a OperatorState)>;

fn keyed_states<'a, E: From<StateError>>(
    operator: &'a OperatorState,
    left: Side<'a>,
    right: Side<'a>,
    f: &mut impl FnMut(&Difference<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let names = |side: Side<'a>| side.into_iter().flat_map(|(_, o)| o.states.iter().map(|s| s.name.as_str()));
    for state in names(left).chain(names(right)).collect::<BTreeSet<_>>() {
        let entries = |side: Side<'a>| -> Result<Option<Entries<'a>>, StateError> {
            let Some((snapshot, operator)) = side else { return Ok(None) };
            let nth =
                operator.states.iter().position(|s| s.name == state).and_then(|n| u16::try_from(n).ok());
            nth.map(|nth| Entries::new(snapshot, operator, nth)).transpose()
        };
        let (left, right) = (entries(left)?, entries(right)?);
        if let (Some(left), Some(right)) = (&left, &right)
            && let Some(why) = incomparable(left, right)
        {
            f(&Difference::State { operator, state, why })?;
            continue;
        }
        let groups =
            |entries: &Option<Entries<'a>>| entries.iter().flat_map(Entries::groups).collect::<Vec<_>>();
        let all: BTreeSet<KeyGroup> = groups(&left).into_iter().chain(groups(&right)).collect();
        for group in all {
            let rows = |entries: &Option<Entries<'a>>| match entries {
                Some(entries) => entries.rows(group),
                None => Ok(Rows::default()),
            };
            let (of_left, of_right) = (rows(&left)?, rows(&right)?);
            merged(&of_left, &of_right, |l, r| {
                let left = match (&left, l) {
                    (Some(entries), Some(nth)) => Some(entries.parts(group, nth as u64, of_left.get(nth))?),
                    _ => None,
                };
                let right = match (&right, r) {
                    (Some(entries), Some(nth)) => {
                        Some(entries.parts(group, nth as u64, of_right.get(nth))?)
                    }
                    _ => None,
                };
                f(&Difference::Entry { operator, state, left, right })
            })?;
        }
    }
    Ok(())
}

/// Why entries of two states have no counterparts.
fn incomparable(left: &Entries<'_>, right: &Entries<'_>) -> Option<&'static str> {
    let (old, new) = (left.descriptor(), right.descriptor());
    if old.kind != new.kind || old.layout != new.layout {
        Some("they are of different kinds")
    } else if old.key != new.key || old.namespace != new.namespace {
        Some("their keys or namespaces are of different types")
    } else if old.value != new.value || old.ttl != new.ttl {
        Some("their values are of different types")
    } else if left.max_parallelism() != right.max_parallelism() {
        Some("they are divided into different numbers of key groups")
    } else {
        None
    }
}

/// Goes through both in the order of their keys, and calls `f` with the places of what differs.
fn merged<E>(
    left: &Rows,
    right: &Rows,
    mut f: impl FnMut(Option<usize>, Option<usize>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut l, mut r) = (0, 0);
    loop {
        let order = match (l < left.len(), r < right.len()) {
            (false, false) => return Ok(()),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (true, true) => left.get(l)[0].cmp(right.get(r)[0]),
        };
        match order {
            Ordering::Less => f(Some(l), None)?,
            Ordering::Greater => f(None, Some(r))?,
            Ordering::Equal if left.get(l)[1] != right.get(r)[1] => f(Some(l), Some(r))?,
            Ordering::Equal => {}
        }
        l += usize::from(order.is_le());
        r += usize::from(order.is_ge());
    }
}

/// Elements of lists have no keys: it is told whether there are the same ones, whichever subtask has them.
fn lists<'a, E: From<StateError>>(
    operator: &'a OperatorState,
    left: Side<'a>,
    right: Side<'a>,
    f: &mut impl FnMut(&Difference<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let names = |side: Side<'a>| side.into_iter().flat_map(|(_, o)| o.lists.iter().map(|l| l.name.as_str()));
    for state in names(left).chain(names(right)).collect::<BTreeSet<_>>() {
        let elements = |side: Side<'a>| -> Result<Vec<Vec<u8>>, StateError> {
            let Some((snapshot, operator)) = side else { return Ok(Vec::new()) };
            let is = |list: &&ListHandle| operator.lists[usize::from(list.list)].name == state;
            let (mut reader, mut all) = (snapshot.reader.another(), Vec::new());
            for list in operator.subtasks.iter().flat_map(|subtask| &subtask.lists).filter(is) {
                all.extend(reader.encoded_list(list)?);
            }
            all.sort_unstable();
            Ok(all)
        };
        if elements(left)? != elements(right)? {
            f(&Difference::State { operator, state, why: "its elements differ" })?;
        }
    }
    Ok(())
}

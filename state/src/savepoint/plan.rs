//! What there is to do for a savepoint. Pure.

use super::SavepointFault;
use super::fault::label;
use crate::descriptor::{Backend, IN_FLIGHT, StateDescriptor};
use crate::key_group::KeyGroup;
use crate::metadata::{GroupRange, Metadata, OperatorState, SnapshotFormat};
use crate::rows::Split;
use std::collections::BTreeMap;
use std::path::Path;

/// A key group of a state of a subtask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Which operator, and which of its subtasks.
    pub of: (usize, usize),
    /// Which state.
    pub state: u16,
    /// Which of the handles that the savepoint will have of that.
    pub handle: usize,
    /// The group.
    pub group: KeyGroup,
    /// Its parts, the oldest first: which of the subtask's handles, and where in that.
    pub ranges: Vec<(usize, GroupRange)>,
}

impl Piece {
    /// Bytes of all its parts.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(|(_, range)| range.len).sum()
    }
}

/// All of them, in the order in which they are written.
pub(super) fn pieces(metadata: &Metadata) -> Vec<Piece> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    for (o, operator) in metadata.operators.iter().enumerate() {
        for (s, subtask) in operator.subtasks.iter().enumerate() {
            for (nth, keyed) in subtask.keyed.iter().enumerate() {
                let backend = operator.states[usize::from(keyed.state)].backend;
                // What only the backend can merge stays in parts.
                let handle = if matches!(backend, Backend::Own(_)) { nth } else { 0 };
                for range in &keyed.groups {
                    all.entry(((o, s), keyed.state, handle, range.group)).or_default().push((nth, *range));
                }
            }
        }
    }
    let piece = |((of, state, handle, group), ranges)| Piece { of, state, handle, group, ranges };
    all.into_iter().map(piece).collect()
}

/// How the entries of each state are told apart, by operator and state, as far as the form asks for it.
///
/// # Errors
/// A savepoint cannot be made of this.
pub(super) fn splits(
    dir: &Path,
    metadata: &Metadata,
    form: SnapshotFormat,
) -> Result<Vec<Vec<Option<Split>>>, SavepointFault> {
    let in_flight: Vec<_> = metadata.operators.iter().filter(|o| in_flight_bytes(o) > 0).collect();
    if !in_flight.is_empty() {
        let operators = in_flight.iter().map(|operator| operator.label()).collect();
        return Err(SavepointFault::InFlight { snapshot: dir.to_owned(), operators });
    }
    let of_state = |operator: &OperatorState, state: &StateDescriptor| match form {
        SnapshotFormat::Native => Ok(None),
        SnapshotFormat::Canonical if state.backend == Backend::Canonical => Ok(None),
        SnapshotFormat::Canonical => split(operator, state).map(Some),
    };
    let of_operator = |operator: &OperatorState| {
        operator.states.iter().map(|state| of_state(operator, state)).collect::<Result<Vec<_>, _>>()
    };
    metadata.operators.iter().map(of_operator).collect()
}

/// How the entries of a state are told apart.
///
/// # Errors
/// Its types are not known here, or its backend is a program's own.
pub(crate) fn split(operator: &OperatorState, state: &StateDescriptor) -> Result<Split, SavepointFault> {
    if let Backend::Own(backend) = state.backend {
        return Err(SavepointFault::Own { state: label(operator, state), backend });
    }
    Split::of(state).map_err(|cause| SavepointFault::Type { state: label(operator, state), cause })
}

/// Bytes of records that were in flight before an operator.
fn in_flight_bytes(operator: &OperatorState) -> u64 {
    let lists = operator.subtasks.iter().flat_map(|subtask| &subtask.lists);
    let in_flight = lists.filter(|list| operator.lists[usize::from(list.list)].name == IN_FLIGHT);
    in_flight.map(|list| list.data.len()).sum()
}

//! What a snapshot consists of (PA-05). Pure: its metadata says all of it.

use super::Snapshot;
use crate::descriptor::{Backend, IN_FLIGHT, StateKind};
use crate::metadata::{Metadata, OperatorState, SnapshotFormat, SnapshotKind};
use millstream_io::source::Redistribution;
use std::collections::HashMap;

/// See the module page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Its number.
    pub checkpoint: u64,
    /// What it was taken for.
    pub kind: SnapshotKind,
    /// How its state is written.
    pub format: SnapshotFormat,
    /// The most key groups that state of it is divided into.
    pub max_parallelism: u32,
    /// Its operators.
    pub operators: Vec<ListedOperator>,
}

/// An operator of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedOperator {
    /// The uid that the program gave it.
    pub uid: Option<String>,
    /// Its id, 32 hex digits.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its subtasks.
    pub parallelism: usize,
    /// Its states: keyed ones, then lists, then timers.
    pub states: Vec<ListedState>,
    /// Entries of its timers.
    pub timers: u64,
    /// Bytes of records that were in flight before it.
    pub in_flight_bytes: u64,
}

/// A state of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedState {
    /// Its name.
    pub name: String,
    /// What it holds, in words.
    pub kind: String,
    /// The type of its keys; none of a list of the operator's.
    pub key_type: Option<String>,
    /// The type of its values or elements.
    pub value_type: String,
    /// What keeps it, if it is a keyed state.
    pub backend: Option<Backend>,
    /// Key groups that have something of it.
    pub key_groups: usize,
    /// Entries: keys, or elements, or entries of maps.
    pub entries: u64,
    /// Bytes that it takes in the snapshot's files.
    pub bytes: u64,
}

impl Snapshot {
    /// What it consists of.
    pub fn listing(&self) -> Listing {
        listing(&self.metadata)
    }
}

fn listing(metadata: &Metadata) -> Listing {
    Listing {
        checkpoint: metadata.checkpoint.0,
        kind: metadata.kind,
        format: metadata.format,
        max_parallelism: metadata.operators.iter().map(|o| o.max_parallelism).max().unwrap_or(0),
        operators: metadata.operators.iter().map(operator).collect(),
    }
}

fn operator(operator: &OperatorState) -> ListedOperator {
    let mut states: Vec<_> = (0..).zip(&operator.states).map(|(nth, _)| keyed(operator, nth)).collect();
    states.extend((0..).zip(&operator.lists).map(|(nth, _)| list(operator, nth)));
    let is_timers = |nth: usize| {
        let kind = operator.states.get(nth).map(|state| state.kind);
        matches!(kind, Some(StateKind::EventTimers | StateKind::ProcessingTimers))
    };
    let timers =
        states.iter().enumerate().filter(|(nth, _)| is_timers(*nth)).map(|(_, state)| state.entries).sum();
    ListedOperator {
        uid: operator.uid.clone(),
        id: operator.id.to_string(),
        name: operator.name.clone(),
        parallelism: operator.parallelism(),
        timers,
        in_flight_bytes: states.iter().filter(|state| state.name == IN_FLIGHT).map(|state| state.bytes).sum(),
        states,
    }
}

fn keyed(operator: &OperatorState, nth: u16) -> ListedState {
    let state = &operator.states[usize::from(nth)];
    let parts = || operator.subtasks.iter().flat_map(|s| &s.keyed).filter(|keyed| keyed.state == nth);
    // The newest part of a group says how many entries it has.
    let groups: HashMap<_, _> =
        parts().flat_map(|part| &part.groups).map(|range| (range.group, range.entries)).collect();
    ListedState {
        name: state.name.clone(),
        kind: state.kind.to_string(),
        key_type: Some(state.key.to_string()),
        value_type: state.value.to_string(),
        backend: Some(state.backend),
        key_groups: groups.len(),
        entries: groups.values().sum(),
        bytes: parts().map(|part| part.data.len()).sum(),
    }
}

fn list(operator: &OperatorState, nth: u16) -> ListedState {
    let list = &operator.lists[usize::from(nth)];
    let parts = || operator.subtasks.iter().flat_map(|s| &s.lists).filter(|part| part.list == nth);
    ListedState {
        name: list.name.clone(),
        kind: match list.redistribution {
            Redistribution::EvenSplit => "list",
            Redistribution::Union => "union list",
        }
        .to_owned(),
        key_type: None,
        value_type: list.element.to_string(),
        backend: None,
        key_groups: 0,
        entries: parts().map(|part| part.elements).sum(),
        bytes: parts().map(|part| part.data.len()).sum(),
    }
}

//! What a program says about a piece of state: its name, its kind and the types in it. Stored with every snapshot,
//! so that a restore can tell whether the program still fits (ER-10 to ER-12).

use millstream_io::Schema;
use millstream_io::source::Redistribution;
use std::fmt;

/// What keyed state holds for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StateKind {
    /// One value, set and read by the program.
    Value,
    /// One value that every record is folded into with a function of two values of its type.
    Reducing,
    /// One accumulator that every record is added to.
    Aggregating,
}

impl fmt::Display for StateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => "value",
            Self::Reducing => "reducing",
            Self::Aggregating => "aggregating",
        })
    }
}

/// What keeps a keyed state, and so in which form its snapshots are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// [`HeapState`](crate::HeapState): snapshots are entries.
    #[default]
    Hashmap,
    /// [`PagedState`](crate::PagedState): snapshots are pages, or what changed of them.
    Paged,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hashmap => "hashmap",
            Self::Paged => "paged",
        })
    }
}

/// A keyed state of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDescriptor {
    /// Its name, unique within the operator.
    pub name: String,
    /// What it holds for a key.
    pub kind: StateKind,
    /// The type of the key.
    pub key: Schema,
    /// The type of the value.
    pub value: Schema,
    /// What keeps it.
    pub backend: Backend,
}

/// A list state of an operator: elements that belong to a subtask, not to a key (a source's splits, a sink's pending
/// files).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListDescriptor {
    /// Its name, unique among the operator's lists.
    pub name: String,
    /// How its elements are given out at a restore.
    pub redistribution: Redistribution,
    /// The type of an element.
    pub element: Schema,
}

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
    /// Elements in the order in which they were added.
    List,
    /// A value for each of some keys of its own.
    Map,
    /// Moments of event time at which the program wants to be called.
    EventTimers,
    /// Moments of processing time at which the program wants to be called.
    ProcessingTimers,
}

impl StateKind {
    /// All of them.
    pub(crate) const ALL: [Self; 7] = [
        Self::Value,
        Self::Reducing,
        Self::Aggregating,
        Self::List,
        Self::Map,
        Self::EventTimers,
        Self::ProcessingTimers,
    ];
}

impl fmt::Display for StateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => "value",
            Self::Reducing => "reducing",
            Self::Aggregating => "aggregating",
            Self::List => "keyed list",
            Self::Map => "map",
            Self::EventTimers => "event-time timers",
            Self::ProcessingTimers => "processing-time timers",
        })
    }
}

/// How a keyed state is laid out: what stands for a key in what keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// A value in a hash table: the one state of a process function.
    #[default]
    Hashed,
    /// Entries of ordered state: what a keyed function declares.
    Ordered,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hashed => "the value of a process function",
            Self::Ordered => "a state of a keyed function",
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
    /// A backend of the program's own, by the name that it is registered under (BE-01): snapshots are whatever it makes.
    Own(BackendName),
    /// None, in a savepoint of the canonical form: any of them restores it (SP-03).
    Canonical,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hashmap => "hashmap",
            Self::Paged => "paged",
            Self::Own(name) => name.as_str(),
            Self::Canonical => "canonical",
        })
    }
}

/// The name of a backend of a program's own: 1 to 31 bytes, and none of the names of those that are built in.
///
/// ```
/// use millstream_state::descriptor::BackendName;
/// assert_eq!(BackendName::new("lsm").map(|name| name.to_string()), Some("lsm".to_owned()));
/// assert_eq!(BackendName::new("hashmap"), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BackendName {
    length: u8,
    bytes: [u8; Self::LONGEST],
}

impl BackendName {
    /// Bytes of the longest name.
    pub const LONGEST: usize = 31;

    /// The names of the backends that are built in.
    pub const BUILT_IN: [&str; 2] = ["hashmap", "paged"];

    /// Names that mean a backend that is built in.
    pub const TAKEN: [&str; 5] = ["hashmap", "paged", "filesystem", "jobmanager", "canonical"];

    /// This name, if it can be one.
    pub fn new(name: &str) -> Option<Self> {
        if name.is_empty() || name.len() > Self::LONGEST || Self::TAKEN.contains(&name) {
            return None;
        }
        let mut bytes = [0; Self::LONGEST];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Some(Self { length: name.len() as u8, bytes })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl fmt::Display for BackendName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for BackendName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
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
    /// The type of the value: of a list's element, of key and value of a map as a pair, of the accumulator where there is one.
    pub value: Schema,
    /// The type of the namespaces, if it has any besides the void one.
    pub namespace: Option<Schema>,
    /// Whether the time of the last access is kept, so that what is old enough goes away.
    pub ttl: bool,
    /// How it is laid out.
    pub layout: Layout,
    /// What keeps it.
    pub backend: Backend,
}

/// The name of the list of records that were in flight before an operator, in an unaligned checkpoint.
pub const IN_FLIGHT: &str = "in-flight";

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

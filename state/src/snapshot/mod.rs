//! One subtask's part of a checkpoint, on its way to disk and back.
//!
//! At the barrier a subtask hands over a [`SubtaskSnapshot`]: frozen tables and small lists. Background work
//! [writes](Writing) it, perhaps while some of it is still being encoded, and answers with the handles that go into the metadata. A restore [reads](SnapshotReader)
//! exactly those bytes that a subtask needs, and believes none whose checksum is wrong.

mod chain;
mod files;
mod groups;
mod merge;
mod merging;
mod output;
mod read;
mod resume;
#[cfg(test)]
mod tests;
mod write;

pub use chain::{Broken, Chain, StateId};
pub use groups::Groups;
pub use merge::{MergeError, merge};
pub(crate) use merging::merge_all;
pub use merging::{MergePlan, Merged, Merging};
pub(crate) use output::Output;
pub use read::SnapshotReader;
pub use write::{Destination, WriteOptions, Writing, WrittenSnapshot, write};

use crate::keyed::KeyedSnapshot;
use crate::operator_id::OperatorId;

/// What a subtask hands over at a barrier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubtaskSnapshot {
    /// The operators of its chain.
    pub operators: Vec<OperatorSnapshot>,
}

/// One operator's part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorSnapshot {
    /// The operator.
    pub id: OperatorId,
    /// Whether this subtask had finished.
    pub finished: bool,
    /// Its keyed states: which of the operator's, and its content.
    pub keyed: Vec<(u16, KeyedSnapshot)>,
    /// Its lists.
    pub lists: Vec<ListSnapshot>,
}

/// A list state: encoded elements.
///
/// ```
/// use millstream_state::snapshot::ListSnapshot;
/// let mut list = ListSnapshot::new(0);
/// list.push(b"first");
/// list.push(b"second");
/// assert_eq!(list.elements(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListSnapshot {
    list: u16,
    elements: u64,
    bytes: Vec<u8>,
}

impl ListSnapshot {
    /// An empty list: `list` says which one of the operator's.
    pub fn new(list: u16) -> Self {
        Self { list, elements: 0, bytes: Vec::new() }
    }

    /// Adds an encoded element.
    ///
    /// # Panics
    /// When it is 4 GiB long or longer.
    pub fn push(&mut self, element: &[u8]) {
        let length = u32::try_from(element.len()).expect("an element of a list is shorter than 4 GiB");
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(element);
        self.elements += 1;
    }

    /// Number of elements.
    pub fn elements(&self) -> u64 {
        self.elements
    }
}

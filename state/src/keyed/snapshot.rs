//! What a frozen keyed state becomes: encoded entries, by key group.

use crate::key_group::KeyGroup;

/// One state of one subtask as of a barrier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyedSnapshot {
    /// The key groups that have entries, in ascending order, each once.
    pub groups: Vec<GroupChunk>,
}

impl KeyedSnapshot {
    /// Entries of all groups.
    pub fn entries(&self) -> u64 {
        self.groups.iter().map(|chunk| chunk.entries).sum()
    }

    /// Encoded bytes of all groups.
    pub fn bytes(&self) -> u64 {
        self.groups.iter().map(|chunk| chunk.bytes.len() as u64).sum()
    }
}

/// The entries of one key group: `entries` times the row of a key followed by the row of its value, in no particular
/// order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupChunk {
    /// The key group.
    pub group: KeyGroup,
    /// How many entries there are.
    pub entries: u64,
    /// The entries.
    pub bytes: Vec<u8>,
}

//! What a frozen keyed state becomes: encoded entries, by key group.

use crate::key_group::KeyGroup;

/// One state of one subtask as of a barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedSnapshot {
    /// The key groups that have something in it, in ascending order, each once.
    pub groups: Vec<GroupChunk>,
    /// What it is worth without others.
    pub extent: Extent,
}

/// What a snapshot is worth without the ones that were taken before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// It is all of the state, and none that follows builds on it.
    Whole,
    /// It is all of the state, and those that follow build on it.
    Base,
    /// It is what changed since the snapshot that was taken before, and is restored behind that.
    Changes,
}

impl Default for KeyedSnapshot {
    /// All of a state without keys.
    fn default() -> Self {
        Self { groups: Vec::new(), extent: Extent::Whole }
    }
}

impl KeyedSnapshot {
    /// Entries of all groups in it.
    pub fn entries(&self) -> u64 {
        self.groups.iter().map(|chunk| chunk.entries).sum()
    }

    /// Encoded bytes of all groups.
    pub fn bytes(&self) -> u64 {
        self.groups.iter().map(|chunk| chunk.bytes.len() as u64).sum()
    }
}

/// One key group's part. Of the `hashmap` backend: `entries` times the row of a key followed by the row of its value, in
/// no particular order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupChunk {
    /// The key group.
    pub group: KeyGroup,
    /// How many entries the group had.
    pub entries: u64,
    /// What the backend restores them from.
    pub bytes: Vec<u8>,
}

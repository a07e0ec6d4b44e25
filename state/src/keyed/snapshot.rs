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

/// A piece of a snapshot that is handed over while the rest of the state is still being encoded: parts of key groups, one
/// behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// What the snapshot is worth without others.
    pub extent: Extent,
    /// What the bytes are of, in their order. Groups ascend, over all chunks of a snapshot; one that is in a chunk may go on
    /// in the next.
    pub parts: Vec<ChunkPart>,
    /// The bytes of all parts.
    pub bytes: Vec<u8>,
}

/// A part of a [`Chunk`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkPart {
    /// The key group.
    pub group: KeyGroup,
    /// How many entries the whole group had.
    pub entries: u64,
    /// Bytes of the part.
    pub len: usize,
}

//! What a snapshot under way has so far: encoded entries, by key group.

use crate::key_group::{Grouping, KeyGroupRange};
use crate::keyed::{Extent, GroupChunk, KeyedSnapshot};

/// The entries encoded since the last freeze.
#[derive(Debug)]
pub(super) struct Image {
    grouping: Grouping,
    range: KeyGroupRange,
    groups: Vec<Group>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Group {
    entries: u64,
    bytes: Vec<u8>,
    /// Bytes in the last snapshot: what to make room for.
    expected: usize,
}

impl Image {
    pub fn new(range: KeyGroupRange, grouping: Grouping) -> Self {
        assert!(u32::from(range.end().0) < grouping.max(), "key groups {range} of {}", grouping.max());
        Self { grouping, range, groups: Vec::new(), bytes: 0 }
    }

    pub fn range(&self) -> KeyGroupRange {
        self.range
    }

    pub fn grouping(&self) -> Grouping {
        self.grouping
    }

    /// Adds an entry, which `append` encodes.
    #[inline(always)]
    pub fn add(&mut self, hash: u64, append: impl FnOnce(&mut Vec<u8>)) {
        let group = self.grouping.group(hash);
        let index = usize::from(group.0).wrapping_sub(usize::from(self.range.start().0));
        let Some(chunk) = self.groups.get_mut(index) else {
            return self.add_first(index, append);
        };
        if chunk.bytes.capacity() == 0 {
            chunk.bytes.reserve(chunk.expected);
        }
        let before = chunk.bytes.len();
        append(&mut chunk.bytes);
        chunk.entries += 1;
        self.bytes += chunk.bytes.len() - before;
    }

    /// Bytes of all entries.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The groups are made room for when the first entry comes, so that a state without snapshots costs nothing.
    #[cold]
    fn add_first(&mut self, index: usize, append: impl FnOnce(&mut Vec<u8>)) {
        self.groups.resize_with(self.range.len(), Group::default);
        let chunk = self.groups.get_mut(index);
        let chunk = chunk.expect("records are routed to the subtask that owns their key group");
        append(&mut chunk.bytes);
        chunk.entries += 1;
        self.bytes = chunk.bytes.len();
    }

    /// What was added since the last freeze.
    pub fn take(&mut self) -> KeyedSnapshot {
        self.bytes = 0;
        let groups = self.range.iter().zip(&mut self.groups).filter(|(_, chunk)| chunk.entries > 0);
        let groups = groups.map(|(group, chunk)| {
            chunk.expected = chunk.bytes.len() + chunk.bytes.len() / 16;
            GroupChunk {
                group,
                entries: std::mem::take(&mut chunk.entries),
                bytes: std::mem::take(&mut chunk.bytes),
            }
        });
        KeyedSnapshot { groups: groups.collect(), extent: Extent::Whole }
    }

    /// Forgets what was added since the last freeze.
    pub fn clear(&mut self) {
        self.bytes = 0;
        for chunk in &mut self.groups {
            chunk.entries = 0;
            chunk.bytes.clear();
        }
    }
}

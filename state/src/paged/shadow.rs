//! What snapshots add up to, compared with what was there, byte for byte. In unit tests all pages have one, whatever is kept in
//! them.
//!
//! Where a snapshot is abandoned its lines count, and the next one has to have the others.
//!
//! At each barrier a line of a page in use that is not what it was at the barrier before must be dirty. Once a snapshot is taken,
//! all lines of all snapshots from the last base on, later ones over earlier ones, must be the pages in use as they were at the
//! barrier; lines that came in none are zero.

use super::image::entries;
use super::memory::{LINE, PAGE, PAGE_LINES};
use std::collections::BTreeMap;

/// A page's group, and its number there.
type At = (usize, u32);

/// A page in use: where it is, its content, and its dirty lines.
pub(super) type Used<'a> = (At, &'a [u8], u64);

/// See the module page.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    /// The pages in use as of the last barrier.
    barrier: BTreeMap<At, Vec<u8>>,
    /// What the snapshots since the last base add up to.
    added_up: BTreeMap<At, Vec<u8>>,
    /// What was taken of the snapshot under way, by group.
    taken: BTreeMap<usize, Vec<u8>>,
    /// By the first byte of a page: how many were compared.
    pub compared: [usize; 7],
}

impl Shadow {
    /// Barrier: the pages in use, with their dirty lines.
    pub fn freeze(&mut self, pages: &mut dyn Iterator<Item = Used<'_>>) {
        let before = std::mem::take(&mut self.barrier);
        for (at, content, dirty) in pages {
            let zero = vec![0; PAGE];
            let old = before.get(&at).unwrap_or(&zero);
            for line in (0..PAGE_LINES).filter(|line| dirty >> line & 1 == 0) {
                let range = line * LINE..(line + 1) * LINE;
                assert!(content[range.clone()] == old[range], "{at:?}: line {line} changed and is not dirty");
            }
            self.barrier.insert(at, content.to_vec());
        }
    }

    /// The pages in use are what was loaded from snapshots.
    pub fn resume(&mut self, pages: &mut dyn Iterator<Item = Used<'_>>) {
        self.barrier = pages.map(|(at, content, _)| (at, content.to_vec())).collect();
        self.added_up = self.barrier.clone();
    }

    /// The next snapshot is a base.
    pub fn forget_base(&mut self) {
        self.added_up.clear();
    }

    /// More of the snapshot of the last barrier.
    pub fn take(&mut self, group: usize, bytes: &[u8]) {
        self.taken.entry(group).or_default().extend_from_slice(bytes);
    }

    /// All of that snapshot was taken, or it was abandoned, and only so far.
    pub fn compare(&mut self, whole: bool) {
        for (group, bytes) in std::mem::take(&mut self.taken) {
            for entry in entries(&bytes[1..]) {
                let (page, mut lines, content) = entry.expect("what was written is well-formed");
                let out = self.added_up.entry((group, page)).or_insert_with(|| vec![0; PAGE]);
                for line in content.chunks_exact(LINE) {
                    out[lines.trailing_zeros() as usize * LINE..][..LINE].copy_from_slice(line);
                    lines &= lines - 1;
                }
            }
        }
        if !whole {
            return;
        }
        let zero = vec![0; PAGE];
        for (at, content) in &self.barrier {
            let added_up = self.added_up.get(at).unwrap_or(&zero);
            assert!(added_up == content, "{at:?}: the snapshots do not add up to the page");
            if let Some(compared) = self.compared.get_mut(usize::from(content[0])) {
                *compared += 1;
            }
        }
    }
}

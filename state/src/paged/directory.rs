//! Which bucket a hash leads to, for every key group.
//!
//! Each group has an extendible hash directory of its own (Fagin, Nievergelt, Pippenger and Strong 1979). All are as
//! deep as the deepest bucket of any, and stand side by side, so that one look finds the lead: groups are even, because what picks
//! them mixes. Derived from the headers of the buckets, and never written to files.

use super::bucket::{Lead, MAX_DEPTH};

/// More leads than these are not worth it: one group then has far more keys than others, which only hashes that collide
/// bring about.
const MOST: usize = 1 << 22;

/// See the module page.
#[derive(Debug)]
pub(super) struct Directory {
    groups: usize,
    depth: u32,
    /// Those of the first group, by the top bits of the hash, then those of the next.
    leads: Vec<Lead>,
}

impl Directory {
    /// Every group leads to nothing.
    pub fn new(groups: usize) -> Self {
        Self { groups, depth: 0, leads: vec![Lead::NOTHING; groups] }
    }

    /// The top bits of a hash that may choose a bucket.
    pub fn most_depth(&self) -> u32 {
        (MOST / self.groups).checked_ilog2().unwrap_or(0).min(MAX_DEPTH)
    }

    /// Where a hash of a group leads. To nothing where there is no such group.
    #[inline(always)]
    pub fn lead(&self, group: usize, hash: u64) -> Lead {
        self.leads.get(self.index(group, hash)).copied().unwrap_or(Lead::NOTHING)
    }

    /// Has all hashes of a group that begin with as many bits of `prefix` as the lead has lead there.
    pub fn set(&mut self, group: usize, prefix: u64, lead: Lead) {
        while self.depth < lead.depth() {
            self.leads = self.leads.iter().flat_map(|lead| [*lead; 2]).collect();
            self.depth += 1;
        }
        let first = self.index(group, prefix);
        self.leads[first..first + (1 << (self.depth - lead.depth()))].fill(lead);
    }

    #[inline(always)]
    fn index(&self, group: usize, hash: u64) -> usize {
        (group << self.depth) | ((hash >> 1) >> (63 - self.depth)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paged::bucket::Header;

    fn lead(page: usize, depth: u8) -> Lead {
        Lead::new(page, Header { depth, ..Header::default() })
    }

    /// Buckets of different depths in one group, by hand; the other group is left as it was.
    #[test]
    fn the_longest_prefix_that_was_set_leads_a_hash() {
        let mut directory = Directory::new(2);
        directory.set(1, 0, lead(10, 0));
        directory.set(1, 0, lead(11, 1));
        directory.set(1, 1 << 63, lead(12, 1));
        directory.set(1, 1 << 63, lead(13, 3));
        directory.set(1, 0b101 << 61, lead(14, 3));
        let at = |group, top: u64| directory.lead(group, top << 61 | 77).line / 64;
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|top| at(1, top)), [11, 11, 11, 11, 13, 14, 12, 12]);
        assert_eq!([0, 7].map(|top| at(0, top)), [0, 0]);
    }
}

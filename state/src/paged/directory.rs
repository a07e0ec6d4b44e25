//! Which bucket a hash leads to, for every key group.
//!
//! Each group has an extendible hash directory of its own (Fagin, Nievergelt, Pippenger and Strong 1979): as many leads as
//! its deepest bucket has top bits. Derived from the headers of the buckets, and never written to files.

use super::bucket::Lead;

/// The leads of one group: where they begin, and how many top bits choose one.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    first: u32,
    depth: u32,
}

/// See the module page.
#[derive(Debug)]
pub(super) struct Directory {
    parts: Vec<Part>,
    /// The leads of all groups. A part that grew is at the end; what it left is not used again, and is less than what is
    /// in use.
    leads: Vec<Lead>,
}

impl Directory {
    /// Every group leads to nothing.
    pub fn new(groups: usize) -> Self {
        let part = |group| Part { first: group as u32, depth: 0 };
        Self { parts: (0..groups).map(part).collect(), leads: vec![Lead::NOTHING; groups] }
    }

    /// Where a hash of a group leads. Anything where there is no such group.
    #[inline(always)]
    pub fn lead(&self, group: usize, hash: u64) -> Lead {
        let part = self.parts.get(group).copied().unwrap_or_default();
        self.leads[part.first as usize + index(hash, part.depth)]
    }

    /// Has all hashes of a group that begin with as many bits of `prefix` as the lead has lead there.
    pub fn set(&mut self, group: usize, prefix: u64, lead: Lead) {
        let part = &mut self.parts[group];
        while part.depth < lead.depth() {
            let old = part.first as usize..part.first as usize + (1 << part.depth);
            part.first = self.leads.len() as u32;
            part.depth += 1;
            for index in old {
                self.leads.extend([self.leads[index]; 2]);
            }
        }
        let first = part.first as usize + index(prefix, part.depth);
        self.leads[first..first + (1 << (part.depth - lead.depth()))].fill(lead);
    }
}

#[inline(always)]
fn index(hash: u64, depth: u32) -> usize {
    ((hash >> 1) >> (63 - depth)) as usize
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

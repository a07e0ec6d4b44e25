//! Which subtask a hash belongs to, for the record path.

use super::{Grouping, KeyGroup, Parallelism, absolute, murmur};
use fearless_simd::{Level, dispatch};

/// Hash to subtask, as fast as the record path wants it.
#[derive(Clone, Debug)]
pub struct Router {
    grouping: Grouping,
    subtasks: u32,
    /// The owner of each group.
    owners: Box<[u16]>,
    /// The vector instructions that this processor has.
    level: Level,
}

impl Router {
    /// For these subtasks.
    pub fn new(parallelism: Parallelism) -> Self {
        let grouping = parallelism.grouping();
        let owner = |group: u32| parallelism.subtask_of(KeyGroup(group as u16)) as u16;
        let owners = (0..parallelism.groups).map(owner).collect();
        Self { grouping, subtasks: parallelism.subtasks, owners, level: Level::new() }
    }

    /// The subtask that owns the key with this hash; the lower half of the hash does not count.
    #[inline(always)]
    pub fn subtask(&self, hash: u64) -> usize {
        self.subtask_of_half((hash >> 32) as u32)
    }

    #[inline(always)]
    fn subtask_of_half(&self, half: u32) -> usize {
        usize::from(self.owners[self.grouping.index(half) as usize])
    }

    /// [`Router::subtask`] for many hashes, of which the upper halves are given.
    ///
    /// Where the number of groups is a power of two, as it is by default, many halves are mixed side by side in vector
    /// registers: one at a time, the multiplications of a mix take longer than all other work of routing.
    pub fn subtasks(&self, halves: &[u32], subtasks: &mut [u32]) {
        let max = self.grouping.max;
        if max.is_power_of_two() {
            let (factor, shift) = (self.subtasks, max.trailing_zeros());
            return dispatch!(self.level, _ => scale_all(halves, subtasks, factor, shift));
        }
        for (half, subtask) in halves.iter().zip(subtasks) {
            *subtask = self.subtask_of_half(*half) as u32;
        }
    }
}

/// Hash to group for many hashes at once.
#[derive(Clone, Copy, Debug)]
pub struct Grouper {
    grouping: Grouping,
    /// The vector instructions that this processor has.
    level: Level,
}

impl Grouper {
    /// For this grouping.
    pub fn new(grouping: Grouping) -> Self {
        Self { grouping, level: Level::new() }
    }

    /// The grouping.
    #[inline(always)]
    pub fn grouping(&self) -> Grouping {
        self.grouping
    }

    /// [`Grouping::group`] for many hashes, of which the upper halves are given: see [`Router::subtasks`].
    pub fn groups(&self, halves: &[u32], groups: &mut [u32]) {
        let max = self.grouping.max;
        if max.is_power_of_two() {
            return dispatch!(self.level, _ => scale_all(halves, groups, max, max.trailing_zeros()));
        }
        for (half, group) in halves.iter().zip(groups) {
            *group = self.grouping.index(*half);
        }
    }
}

/// Group among `1 << shift`, times `factor`, divided by their number: the subtask among `factor`.
#[inline(always)]
fn scale_all(halves: &[u32], subtasks: &mut [u32], factor: u32, shift: u32) {
    let mask = (1 << shift) - 1;
    for (half, subtask) in halves.iter().zip(subtasks) {
        *subtask = ((absolute(murmur(*half)) & mask) * factor) >> shift;
    }
}

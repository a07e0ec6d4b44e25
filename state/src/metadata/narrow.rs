//! A part of a state narrowed to some of its key groups (KG-05).

use super::{GroupRange, Handle, KeyedHandle};
use crate::key_group::KeyGroupRange;

impl KeyedHandle {
    /// What it has of these key groups, and no byte more; `None` when that is nothing. It is as good a handle as this
    /// one: since key groups ascend and their bytes follow one another, so do those of a range of them.
    ///
    /// Bytes that are not where the handle says are left out, for its reader to complain about.
    #[must_use]
    pub fn narrowed(&self, own: KeyGroupRange) -> Option<Self> {
        let mut groups: Vec<GroupRange> = self.groups.clone();
        groups.retain(|range| own.contains(range.group));
        let begin = groups.first()?.offset;
        if groups.len() == self.groups.len() {
            return Some(self.clone());
        }
        let end = groups.last().map_or(begin, |range| range.offset.saturating_add(range.len));
        groups.iter_mut().for_each(|range| range.offset -= begin);
        let data = self.data.part(begin, end.saturating_sub(begin));
        Some(Self { state: self.state, groups, data, form: self.form })
    }
}

impl Handle {
    /// So many bytes from `begin` on, as far as there are so many.
    fn part(&self, begin: u64, len: u64) -> Self {
        match self {
            Self::Inline(bytes) => {
                let at = |n: u64| usize::try_from(n).map_or(bytes.len(), |n| n.min(bytes.len()));
                Self::Inline(bytes[at(begin)..at(begin.saturating_add(len))].into())
            }
            Self::File { name, offset, .. } => {
                Self::File { name: name.clone(), offset: offset.saturating_add(begin), len }
            }
        }
    }
}

//! The key groups of a state as a chain of snapshots has them, to be read by whoever restores them, on any thread.

use super::files::Files;
use crate::canonical;
use crate::error::StateError;
use crate::key_group::KeyGroup;
use crate::keyed::{RestoreError, Snapshots};
use crate::metadata::{GroupForm, GroupRange, KeyedHandle};
use std::collections::BTreeMap;

/// All key groups of a state, each with all of its parts. Nothing of them is in memory before it is read.
pub struct Groups<'a> {
    files: &'a Files,
    parts: &'a [&'a KeyedHandle],
    planned: Vec<Planned<'a>>,
    done: &'a (dyn Fn(u64, u64) + Sync),
}

/// A key group, and the parts that it is in: which of all, and where in that.
type Planned<'a> = (KeyGroup, Vec<(usize, &'a GroupRange)>);

/// What one snapshot has of a key group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    /// How many entries the whole group had.
    pub entries: u64,
    /// What the backend restores them from.
    pub bytes: &'a [u8],
    /// What these are. Of the canonical form the entries alone are left.
    pub form: GroupForm,
}

impl<'a> Groups<'a> {
    pub(super) fn new(
        files: &'a Files,
        parts: &'a [&'a KeyedHandle],
        done: &'a (dyn Fn(u64, u64) + Sync),
    ) -> Self {
        let mut groups = BTreeMap::<KeyGroup, Vec<_>>::new();
        for (nth, part) in parts.iter().enumerate() {
            for range in &part.groups {
                groups.entry(range.group).or_default().push((nth, range));
            }
        }
        Self { files, parts, planned: groups.into_iter().collect(), done }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.planned.len()
    }

    /// The key group with such an index.
    pub(crate) fn group(&self, nth: usize) -> KeyGroup {
        self.planned[nth].0
    }

    /// Reads all parts of a group into buffers, the oldest first.
    ///
    /// # Errors
    /// A file that is missing, too short or damaged.
    pub(crate) fn read<'b>(
        &self,
        nth: usize,
        buffers: &'b mut Vec<Vec<u8>>,
    ) -> Result<Vec<Part<'b>>, StateError> {
        let ranges = &self.planned[nth].1;
        buffers.resize_with(buffers.len().max(ranges.len()), Vec::new);
        for ((part, range), buffer) in ranges.iter().zip(&mut *buffers) {
            let KeyedHandle { data, form, .. } = self.parts[*part];
            self.files.read(data, (range.offset, range.len), range.crc, buffer)?;
            if *form == GroupForm::Canonical {
                canonical::leave_entries(buffer).map_err(|problem| self.files.damaged(data, problem))?;
            }
        }
        let part = |(range, bytes): (&(usize, &GroupRange), &'b Vec<u8>)| {
            let (part, range) = range;
            Part { entries: range.entries, bytes, form: self.parts[*part].form }
        };
        Ok(ranges.iter().zip(&*buffers).map(part).collect())
    }

    /// Whether they are of a savepoint of the canonical form.
    pub(crate) fn are_canonical(&self) -> bool {
        self.parts.iter().all(|part| part.form == GroupForm::Canonical)
    }

    /// Says that all of a group is restored.
    pub(crate) fn restored(&self, nth: usize) {
        let ranges = self.planned[nth].1.iter().map(|(_, range)| range);
        // Its keys are those that the last of its parts says.
        let keys = ranges.clone().next_back().map_or(0, |range| range.entries);
        (self.done)(keys, ranges.map(|range| range.len).sum());
    }

    /// The error that a part of a group cannot be used: it names the file.
    pub(crate) fn refused(&self, nth: usize, part: usize, cause: RestoreError) -> StateError {
        let (of, _) = self.planned[nth].1[part];
        StateError::Entries { path: self.files.path_of(&self.parts[of].data), source: cause }
    }

    /// Restores them part by part.
    ///
    /// # Errors
    /// Those of reading, and of the state.
    pub(crate) fn one_by_one(&self, into: &mut (impl Snapshots + ?Sized)) -> Result<(), StateError> {
        let mut buffers = Vec::new();
        for nth in 0..self.len() {
            let (group, parts) = (self.group(nth), self.read(nth, &mut buffers)?);
            for (part, Part { entries, bytes, form }) in parts.into_iter().enumerate() {
                let restored = match form {
                    GroupForm::Backend => into.restore(group, entries, bytes),
                    GroupForm::Canonical => into.restore_entries(group, entries, bytes),
                };
                restored.map_err(|cause| self.refused(nth, part, cause))?;
            }
            self.restored(nth);
        }
        Ok(())
    }
}

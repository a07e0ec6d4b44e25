//! Merging neighbouring links of a chain: reads their files, writes one that is worth as much as all of them.
//!
//! Nothing that is read changes, and nothing else learns of the result before the chain is told of it. So whatever
//! happens meanwhile, the old files are there and what names them is right; what is left of a merge that failed is a file
//! that nobody names.

use super::WriteOptions;
use super::chain::StateId;
use super::merge::{MergeError, merge};
use super::output::Output;
use super::read::SnapshotReader;

use crate::error::StateError;
use crate::key_group::KeyGroup;
use crate::keyed::RestoreError;
use crate::layout::data_file;
use crate::metadata::{FileEntry, GroupForm, GroupRange, Handle, KeyedHandle, SHARED_FILE};
use millstream_io::storage::Storage;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Neighbouring links of a [chain](super::Chain) that are to become one: what they were when that was decided.
#[derive(Clone, Debug)]
pub struct MergePlan {
    pub(super) links: Vec<u64>,
    /// What each of them has.
    pub(super) parts: Vec<Vec<(StateId, KeyedHandle)>>,
}

/// What links became, durable but for the name of the file, if they are too large for the metadata.
#[derive(Debug)]
pub struct Merged {
    pub(super) links: Vec<u64>,
    /// Parts that were merged.
    pub(super) merged: usize,
    pub(super) parts: Vec<(StateId, KeyedHandle)>,
    pub(super) file: Option<FileEntry>,
}

/// A merge under way, step by step.
pub struct Merging {
    storage: Arc<dyn Storage>,
    reader: SnapshotReader,
    out: Output,
    links: Vec<u64>,
    /// All parts, the oldest first.
    sources: Vec<KeyedHandle>,
    /// What is left to do, by state and key group: the ranges of the sources.
    left: BTreeMap<(StateId, KeyGroup), Vec<(usize, GroupRange)>>,
    done: Vec<(StateId, KeyedHandle)>,
    /// Where the handle begins that is being made.
    begin: u64,
}

impl Merging {
    /// Nothing is done yet. `dir` is the directory of some checkpoint of the job, `name` that of a file in the directory
    /// of shared files that no sweep removes while the job runs.
    pub fn new(
        storage: Arc<dyn Storage>,
        dir: &Path,
        name: &str,
        plan: MergePlan,
        options: WriteOptions,
    ) -> Self {
        let reader = SnapshotReader::new(storage.clone(), dir.to_owned());
        Self::read_by(reader, storage, dir, name, plan, options)
    }

    /// The parts of states of another checkpoint, which `reader` reads, as one of each state; `dir` is the directory of a
    /// checkpoint that may name the result, and `name` what is to follow [`SHARED_FILE`] in the name of its file. There must be
    /// none of that name.
    pub fn copy(
        reader: SnapshotReader,
        storage: Arc<dyn Storage>,
        dir: &Path,
        name: &str,
        parts: Vec<(StateId, KeyedHandle)>,
        options: WriteOptions,
    ) -> Self {
        Self::read_by(
            reader,
            storage,
            dir,
            name,
            MergePlan { links: Vec::new(), parts: vec![parts] },
            options,
        )
    }

    fn read_by(
        reader: SnapshotReader,
        storage: Arc<dyn Storage>,
        dir: &Path,
        name: &str,
        plan: MergePlan,
        options: WriteOptions,
    ) -> Self {
        let mut left = BTreeMap::<_, Vec<_>>::new();
        let mut sources = Vec::new();
        for (state, part) in plan.parts.into_iter().flatten() {
            for range in &part.groups {
                left.entry((state, range.group)).or_default().push((sources.len(), *range));
            }
            sources.push(part);
        }
        Self {
            reader,
            out: Output::new(dir, &format!("{SHARED_FILE}{name}"), options),
            storage,
            links: plan.links,
            sources,
            left,
            done: Vec::new(),
            begin: 0,
        }
    }

    /// Merges key groups of about so many bytes. Returns whether all are merged.
    ///
    /// # Errors
    /// Files that are gone or damaged, and those of the storage.
    pub fn step(&mut self, mut budget: u64) -> Result<bool, StateError> {
        while let Some(((state, group), ranges)) = self.left.pop_first() {
            let len: u64 = ranges.iter().map(|(_, range)| range.len).sum();
            self.group(state, group, &ranges)?;
            budget = budget.saturating_sub(len);
            if budget == 0 {
                break;
            }
        }
        Ok(self.left.is_empty())
    }

    fn group(
        &mut self,
        state: StateId,
        group: KeyGroup,
        ranges: &[(usize, GroupRange)],
    ) -> Result<(), StateError> {
        let mut parts = Vec::with_capacity(ranges.len());
        for (source, range) in ranges {
            parts.push((*source, self.reader.group(&self.sources[*source].data, range)?));
        }
        let parts = merge_all(parts).map_err(|(source, error)| self.damaged(group, source, error))?;
        let entries = ranges.last().map_or(0, |(_, range)| range.entries);
        for (source, bytes) in parts {
            self.put(state, group, (entries, self.sources[source].form), &bytes)?;
        }
        Ok(())
    }

    fn put(
        &mut self,
        state: StateId,
        group: KeyGroup,
        (entries, form): (u64, GroupForm),
        bytes: &[u8],
    ) -> Result<(), StateError> {
        if self.done.last().is_none_or(|(of, _)| *of != state) {
            self.begin = self.out.written;
            let data = self.out.since(self.begin);
            self.done.push((state, KeyedHandle { state: state.1, groups: Vec::new(), data, form }));
        }
        let (offset, len) = (self.out.written - self.begin, bytes.len() as u64);
        let crc = crc32fast::hash(bytes);
        self.out.append(&*self.storage, bytes)?;
        let data = self.out.since(self.begin);
        if let Some((_, handle)) = self.done.last_mut() {
            handle.groups.push(GroupRange { group, entries, offset, len, crc });
            handle.data = data;
        }
        Ok(())
    }

    fn damaged(&self, group: KeyGroup, source: usize, error: MergeError) -> StateError {
        let path = self.reader.files.path_of(&self.sources[source].data);
        let MergeError { at, problem, .. } = error;
        StateError::Entries { path, source: RestoreError::Pages { group, at, problem } }
    }

    /// Makes the result durable, once all is merged.
    ///
    /// # Errors
    /// Those of the storage: there is no result.
    pub fn finish(self) -> Result<Merged, StateError> {
        let written = self.out.finish()?;
        let mut parts = self.done;
        parts.iter_mut().for_each(|(_, part)| written.resolve(&mut part.data));
        Ok(Merged { links: self.links, merged: self.sources.len(), parts, file: written.file })
    }
}

/// Parts of a key group, each with the number of what it is from, the oldest first, as one: with the number of the oldest.
///
/// # Errors
/// The number of the part that is not in order, and what is wrong with it.
pub(crate) fn merge_all(
    mut parts: Vec<(usize, Vec<u8>)>,
) -> Result<Vec<(usize, Vec<u8>)>, (usize, MergeError)> {
    // Pairs of neighbours, so that each byte is copied no more often than the logarithm of their number.
    while parts.len() > 1 {
        let mut pairs = std::mem::take(&mut parts).into_iter();
        while let Some((source, older)) = pairs.next() {
            let Some((above, newer)) = pairs.next() else {
                parts.push((source, older));
                break;
            };
            // What has been merged is in order: so what is not is a source.
            let merged =
                merge(&older, &newer).map_err(|error| (if error.newer { above } else { source }, error))?;
            parts.push((source, merged));
        }
    }
    Ok(parts)
}

impl Merged {
    /// What there is of each state, and the file that it is in, if it is not small.
    pub fn into_parts(self) -> (Vec<(StateId, KeyedHandle)>, Option<FileEntry>) {
        (self.parts, self.file)
    }

    /// Gives the file, if there is one, the name that checkpoints will know it by.
    ///
    /// # Errors
    /// Those of the storage: it has the one or the other name.
    pub fn rename(&mut self, storage: &dyn Storage, dir: &Path, name: &str) -> Result<(), StateError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let name = Arc::<str>::from(format!("{SHARED_FILE}{name}"));
        storage.rename(&data_file(dir, &file.name), &data_file(dir, &name))?;
        file.name = Arc::clone(&name);
        for (_, part) in &mut self.parts {
            if let Handle::File { name: of, .. } = &mut part.data {
                *of = Arc::clone(&name);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

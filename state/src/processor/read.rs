//! Reading a state: all of it, a key group at a time, or one key.

use super::entry::{EntryShape, Parts};
use super::find::{Named, named};
use super::{NotFound, Snapshot};
use crate::canonical;
use crate::descriptor::StateDescriptor;
use crate::error::{FormatError, StateError};
use crate::key_group::{Grouping, KeyGroup};
use crate::keyed::RestoreError;
use crate::metadata::{GroupForm, GroupRange, KeyedHandle, ListHandle, OperatorState};
use crate::rows::{Rows, Source, Split};
use crate::savepoint::{SavepointFault, split, state_label};
use crate::snapshot::SnapshotReader;
use millstream_io::record::Shape;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A keyed state of a snapshot.
pub struct Entries<'a> {
    reader: &'a SnapshotReader,
    operator: &'a OperatorState,
    state: u16,
    split: Split,
    shape: EntryShape,
    groups: BTreeMap<KeyGroup, Vec<(&'a KeyedHandle, &'a GroupRange)>>,
}

/// A list of an operator: the elements of all of its subtasks (of a union as well each is there once).
pub struct Elements<'a> {
    reader: SnapshotReader,
    lists: Vec<&'a ListHandle>,
    shape: Shape,
}

impl Snapshot {
    /// A keyed state, by the uid or the id of its operator and its name.
    ///
    /// # Errors
    /// There is none; its types are not known here; its backend is a program's own.
    pub fn entries(&self, uid: &str, name: &str) -> Result<Entries<'_>, StateError> {
        let operator = self.operator(uid)?;
        match named(operator, name)? {
            Named::Keyed(state) => Entries::new(self, operator, state),
            Named::List(_) => {
                let known = operator.states.iter().map(|state| state.name.clone()).collect();
                Err(NotFound::State { operator: operator.label(), wanted: name.to_owned(), known }.into())
            }
        }
    }

    /// A list, likewise; nothing where that name is a keyed state's.
    ///
    /// # Errors
    /// There is nothing of that name; its type is not known here.
    pub fn elements(&self, uid: &str, name: &str) -> Result<Option<Elements<'_>>, StateError> {
        let operator = self.operator(uid)?;
        let Named::List(nth) = named(operator, name)? else { return Ok(None) };
        let list = &operator.lists[usize::from(nth)];
        let shape = Shape::new(&list.element).map_err(|cause| {
            let state = format!("list {:?} of {}", list.name, operator.label());
            StateError::from(SavepointFault::Type { state, cause })
        })?;
        let all = operator.subtasks.iter().flat_map(|subtask| &subtask.lists);
        let lists = all.filter(|list| list.list == nth).collect();
        Ok(Some(Elements { reader: self.reader.another(), lists, shape }))
    }
}

impl<'a> Entries<'a> {
    pub(super) fn new(
        snapshot: &'a Snapshot,
        operator: &'a OperatorState,
        state: u16,
    ) -> Result<Self, StateError> {
        let descriptor = &operator.states[usize::from(state)];
        let split = split(operator, descriptor)?;
        let shape = EntryShape::of(descriptor)
            .map_err(|cause| SavepointFault::Type { state: state_label(operator, descriptor), cause })?;
        let mut groups = BTreeMap::<_, Vec<_>>::new();
        for keyed in operator.subtasks.iter().flat_map(|subtask| &subtask.keyed) {
            for range in keyed.groups.iter().filter(|_| keyed.state == state) {
                groups.entry(range.group).or_default().push((keyed, range));
            }
        }
        Ok(Self { reader: &snapshot.reader, operator, state, split, shape, groups })
    }

    /// What the snapshot says of the state.
    pub fn descriptor(&self) -> &'a StateDescriptor {
        &self.operator.states[usize::from(self.state)]
    }

    /// How its entries are read.
    pub fn shape(&self) -> &EntryShape {
        &self.shape
    }

    pub(super) fn split(&self) -> &Split {
        &self.split
    }

    pub(super) fn max_parallelism(&self) -> u32 {
        self.operator.max_parallelism
    }

    /// Its key groups that have something.
    pub(super) fn groups(&self) -> impl Iterator<Item = KeyGroup> {
        self.groups.keys().copied()
    }

    /// The entries of a key group in the order of their keys; none where it has none.
    ///
    /// # Errors
    /// A file that is missing or damaged.
    pub(super) fn rows(&self, group: KeyGroup) -> Result<Rows, StateError> {
        let parts = self.groups.get(&group).map_or(&[][..], Vec::as_slice);
        let mut bytes = Vec::with_capacity(parts.len());
        for (keyed, range) in parts {
            let mut part = self.reader.group(&keyed.data, range)?;
            if keyed.form == GroupForm::Canonical {
                canonical::leave_entries(&mut part).map_err(|source| self.damaged(keyed, source))?;
            }
            bytes.push(part);
        }
        let Some((keyed, newest)) = parts.last() else { return Ok(Rows::default()) };
        let source =
            Source { group, backend: self.descriptor().backend, entries: newest.entries, parts: bytes };
        Rows::sorted(&self.split, source).map_err(|cause| self.refused(keyed, cause))
    }

    pub(super) fn path_of(&self, group: KeyGroup) -> PathBuf {
        let part = self.groups.get(&group).and_then(|parts| parts.last());
        part.map(|(keyed, _)| self.reader.path_of(&keyed.data)).unwrap_or_default()
    }

    fn damaged(&self, keyed: &KeyedHandle, source: FormatError) -> StateError {
        StateError::Damaged { path: self.reader.path_of(&keyed.data), source }
    }

    fn refused(&self, keyed: &KeyedHandle, source: RestoreError) -> StateError {
        StateError::Entries { path: self.reader.path_of(&keyed.data), source }
    }

    /// Calls `f` with every entry: key group by key group, within each in the order of the encoded keys. It says whether to go on.
    ///
    /// # Errors
    /// A file that is missing or damaged; those of `f`.
    pub fn for_each<E: From<StateError>>(
        &self,
        mut f: impl FnMut(&Parts<'_>) -> Result<bool, E>,
    ) -> Result<(), E> {
        for group in self.groups() {
            let rows = self.rows(group)?;
            for nth in 0..rows.len() {
                if !f(&self.parts(group, nth as u64, rows.get(nth))?)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    pub(super) fn parts<'b>(
        &'b self,
        group: KeyGroup,
        entry: u64,
        row: [&'b [u8]; 2],
    ) -> Result<Parts<'b>, StateError> {
        self.shape.parts(row).map_err(|cause| {
            let source = RestoreError::Decode { group, part: "parts", entry, at: 0, cause };
            StateError::Entries { path: self.path_of(group), source }
        })
    }

    /// Calls `f` with the entries of one key, which is given as the row that the state's type has for it. Of a savepoint of the
    /// canonical form the index of one key group is read, and the blocks that have the key; of anything else the key group.
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn of_key<E: From<StateError>>(
        &self,
        key: &[u8],
        mut f: impl FnMut(&Parts<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let group = Grouping::new(self.max_parallelism()).group(self.shape.key().hash(key));
        let rows = match self.groups.get(&group).map(Vec::as_slice) {
            None => return Ok(()),
            Some([(keyed, range)]) if keyed.form == GroupForm::Canonical && self.shape.begins_with_key() => {
                self.blocks_with(keyed, range, key)?
            }
            Some(_) => self.rows(group)?,
        };
        for nth in 0..rows.len() {
            let row = rows.get(nth);
            if self.shape.begins_with_key() && !row[0].starts_with(key) {
                continue;
            }
            let parts = self.parts(group, nth as u64, row)?;
            if parts.key.row == key {
                f(&parts)?;
            }
        }
        Ok(())
    }

    /// The entries of those blocks that may have entries of a key.
    fn blocks_with(&self, keyed: &KeyedHandle, range: &GroupRange, key: &[u8]) -> Result<Rows, StateError> {
        let damaged = |source| self.damaged(keyed, source);
        let trailer_len = canonical::TRAILER as u64;
        let at = |offset: u64| range.offset + offset;
        let Some(trailer_at) = range.len.checked_sub(trailer_len) else {
            return Err(damaged(FormatError::Truncated { expected: trailer_len, found: range.len }));
        };
        let trailer = self.reader.unchecked(&keyed.data, (at(trailer_at), trailer_len))?;
        let index = canonical::index_len(&trailer, range.len).map_err(damaged)?;
        let last = self.reader.unchecked(&keyed.data, (at(trailer_at - index), index + trailer_len))?;
        let blocks = canonical::blocks(&last, range.len).map_err(damaged)?;
        let after = |first: &[u8]| first > key && !first.starts_with(key);
        let end = blocks.partition_point(|block| !after(block.first));
        // The one before the first that begins with the key, or behind it, may have it too.
        let begin = blocks[..end].partition_point(|block| block.first < key).saturating_sub(1);
        let (mut bytes, mut entries) = (Vec::new(), 0);
        for block in &blocks[begin..end] {
            let (offset, len) = block.range();
            let block_bytes = self.reader.unchecked(&keyed.data, (at(offset), len))?;
            bytes.extend_from_slice(canonical::block_entries(&block_bytes).map_err(damaged)?);
            entries += block.entries;
        }
        let backend = self.descriptor().backend;
        let source = Source { group: range.group, backend, entries, parts: vec![bytes] };
        Rows::sorted(&self.split, source).map_err(|cause| self.refused(keyed, cause))
    }
}

impl Elements<'_> {
    /// Calls `f` with every element as JSON, in the order of the subtasks. It says whether to go on.
    ///
    /// # Errors
    /// A file that is missing or damaged; those of `f`.
    pub fn for_each<E: From<StateError>>(
        &mut self,
        mut f: impl FnMut(&str) -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut text = String::new();
        for list in &self.lists {
            for element in self.reader.encoded_list(list)? {
                text.clear();
                if self.shape.show(&element, &mut text) != Ok(element.len()) {
                    let problem = "an element is not of the type that it should be";
                    let source = FormatError::Field { field: "list", offset: 0, problem };
                    return Err(StateError::Damaged { path: self.reader.path_of(&list.data), source }.into());
                }
                if !f(&text)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

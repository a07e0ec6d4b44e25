//! Writing a subtask's snapshot: few bytes go into the metadata, many into one file of the checkpoint's directory.

use super::output::Output;
use super::{ListSnapshot, StateId, SubtaskSnapshot};
use crate::key_group::KeyGroup;
use crate::keyed::{Chunk, Extent};
use crate::metadata::{
    FileEntry, GroupForm, GroupRange, Handle, KeyedHandle, ListHandle, SHARED_FILE, SubtaskState,
};
use crate::operator_id::OperatorId;
use millstream_io::storage::{Result, Storage};
use std::path::Path;

/// How snapshots are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// A subtask's state of at most so many bytes goes into the metadata
    /// (`execution.checkpointing.data-inline-threshold`).
    pub inline_threshold: usize,
    /// Bytes that are collected before they are handed to the file.
    pub write_buffer: usize,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { inline_threshold: 20 << 10, write_buffer: 256 << 10 }
    }
}

/// A subtask's snapshot on disk: what its acknowledgement carries (CP-25).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrittenSnapshot {
    /// Its operators' state.
    pub operators: Vec<(OperatorId, SubtaskState)>,
    /// The files that these are in, if there was need for any.
    pub files: Vec<FileEntry>,
}

/// Where a snapshot goes.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// The directory of its checkpoint.
    pub dir: &'a Path,
    /// The name of its file there: plain, not beginning with a dot or an underscore.
    pub name: &'a str,
    /// The name of its file in the directory of shared files, for what later snapshots may build on. No other snapshot may
    /// ever have used it.
    pub shared: &'a str,
}

impl WrittenSnapshot {
    /// Number of bytes of state.
    pub fn bytes(&self) -> u64 {
        let states = self.operators.iter().map(|(_, state)| state);
        states
            .flat_map(|s| s.keyed.iter().map(|k| k.data.len()).chain(s.lists.iter().map(|l| l.data.len())))
            .sum()
    }
}

/// A snapshot on its way to disk, while some of it is yet to come.
///
/// What is few bytes goes into the metadata, what later snapshots may build on into a shared file, all else into one of the
/// checkpoint's own. No file is there before what belongs into it is more than a few bytes. What of a keyed state comes
/// first in [chunks](Chunk) is followed by the rest of the same state before anything of another.
pub struct Writing {
    own: Output,
    shared: Output,
    states: Vec<State>,
}

/// What was written of a keyed state.
struct State {
    id: StateId,
    shared: bool,
    /// Where it begins in its output, and its length.
    begin: u64,
    len: u64,
    groups: Vec<GroupRange>,
    /// The checksum of the last group, which may go on.
    crc: crc32fast::Hasher,
}

impl Writing {
    /// Nothing yet; what is not finished leaves files that are to be removed by who knows their names.
    pub fn new(to: Destination<'_>, options: WriteOptions) -> Self {
        Self {
            own: Output::new(to.dir, to.name, options),
            shared: Output::new(to.dir, &format!("{SHARED_FILE}{}", to.shared), options),
            states: Vec::new(),
        }
    }

    /// Adds some of a keyed state: bytes that are not needed any more afterwards, and not durable yet.
    ///
    /// # Errors
    /// Those of the storage; nothing more can be added.
    ///
    /// # Panics
    /// When groups do not ascend, or the states of a file are not one behind the other.
    pub fn add(&mut self, storage: &dyn Storage, id: StateId, chunk: &Chunk) -> Result<()> {
        let mut rest = &chunk.bytes[..];
        let state = self.state(id, chunk.extent);
        for part in &chunk.parts {
            let (bytes, behind) = rest.split_at(part.len);
            state.add(part.group, part.entries, bytes);
            rest = behind;
        }
        let shared = state.shared;
        self.output(shared).append(storage, &chunk.bytes)
    }

    fn output(&mut self, shared: bool) -> &mut Output {
        if shared { &mut self.shared } else { &mut self.own }
    }

    /// The state that is being added to.
    fn state(&mut self, id: StateId, extent: Extent) -> &mut State {
        let shared = extent != Extent::Whole;
        let last = self.states.iter().rposition(|state| state.shared == shared);
        let at = last.filter(|at| self.states[*at].id == id).unwrap_or_else(|| {
            assert!(self.states.iter().all(|state| state.id != id), "the parts of a state come together");
            let (begin, groups, crc) = (self.output(shared).written, Vec::new(), crc32fast::Hasher::new());
            self.states.push(State { id, shared, begin, len: 0, groups, crc });
            self.states.len() - 1
        });
        &mut self.states[at]
    }

    /// Adds the rest, and makes the content durable. The files' names become so when the checkpoint is published.
    ///
    /// # Errors
    /// Those of the storage. What was written is left to be discarded with the checkpoint.
    ///
    /// # Panics
    /// As for [`Writing::add`].
    pub fn finish(mut self, storage: &dyn Storage, snapshot: SubtaskSnapshot) -> Result<WrittenSnapshot> {
        let mut operators = Vec::with_capacity(snapshot.operators.len());
        for operator in snapshot.operators {
            for (index, keyed) in operator.keyed {
                for chunk in keyed.groups {
                    let state = self.state((operator.id, index), keyed.extent);
                    state.add(chunk.group, chunk.entries, &chunk.bytes);
                    let shared = state.shared;
                    self.output(shared).append(storage, &chunk.bytes)?;
                }
            }
            let mut state = SubtaskState { finished: operator.finished, ..SubtaskState::default() };
            for list in operator.lists {
                state.lists.extend(write_list(storage, &mut self.own, list)?);
            }
            state.lists.sort_by_key(|l| l.list);
            operators.push((operator.id, state));
        }
        let names = [self.own.since(0), self.shared.since(0)];
        let outputs = [self.own.finish()?, self.shared.finish()?];
        for state in self.states {
            let owner = operators.iter_mut().find(|(id, _)| *id == state.id.0);
            let handle = state.handle(&names);
            owner.into_iter().for_each(|(_, operator)| operator.keyed.push(handle.clone()));
        }
        for (_, state) in &mut operators {
            state.keyed.sort_by_key(|k| k.state);
            let keyed = state.keyed.iter_mut().map(|k| &mut k.data);
            for handle in keyed.chain(state.lists.iter_mut().map(|l| &mut l.data)) {
                let shared = matches!(handle, Handle::File { name, .. } if name.starts_with(SHARED_FILE));
                outputs[usize::from(shared)].resolve(handle);
            }
        }
        let files = outputs.into_iter().filter_map(|written| written.file).collect();
        Ok(WrittenSnapshot { operators, files })
    }
}

impl State {
    fn add(&mut self, group: KeyGroup, entries: u64, bytes: &[u8]) {
        if self.groups.last().is_none_or(|last| last.group != group) {
            assert!(self.groups.last().is_none_or(|last| last.group < group), "key groups ascend");
            let offset = self.len;
            self.crc.reset();
            self.groups.push(GroupRange { group, entries, offset, len: 0, crc: 0 });
        }
        self.crc.update(bytes);
        self.len += bytes.len() as u64;
        if let Some(last) = self.groups.last_mut() {
            last.len += bytes.len() as u64;
            last.crc = self.crc.clone().finalize();
        }
    }

    /// Where it is, of the two outputs, which begin as given.
    fn handle(self, outputs: &[Handle; 2]) -> KeyedHandle {
        let Self { id: (_, state), shared, begin, len, groups, .. } = self;
        let mut data = outputs[usize::from(shared)].clone();
        if let Handle::File { offset, len: of, .. } = &mut data {
            (*offset, *of) = (begin, len);
        }
        KeyedHandle { state, groups, data, form: GroupForm::Backend }
    }
}

/// Writes a snapshot all of which is there: see [`Writing`].
///
/// # Errors
/// Those of the storage. What was written is left to be discarded with the checkpoint.
pub fn write(
    storage: &dyn Storage,
    to: Destination<'_>,
    snapshot: SubtaskSnapshot,
    options: WriteOptions,
) -> Result<WrittenSnapshot> {
    Writing::new(to, options).finish(storage, snapshot)
}

fn write_list(storage: &dyn Storage, out: &mut Output, list: ListSnapshot) -> Result<Option<ListHandle>> {
    if list.elements == 0 {
        return Ok(None);
    }
    let begin = out.written;
    out.append(storage, &list.bytes)?;
    let crc = crc32fast::hash(&list.bytes);
    Ok(Some(ListHandle { list: list.list, elements: list.elements, crc, data: out.since(begin) }))
}

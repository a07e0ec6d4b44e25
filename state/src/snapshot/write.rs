//! Writing a subtask's snapshot: few bytes go into the metadata, many into one file of the checkpoint's directory.

use super::{ListSnapshot, SubtaskSnapshot};
use crate::keyed::{Extent, KeyedSnapshot};
use crate::layout::data_file;
use crate::metadata::{FileEntry, GroupRange, Handle, KeyedHandle, ListHandle, SHARED_FILE, SubtaskState};
use crate::operator_id::OperatorId;
use millstream_io::storage::{Result, Storage, WriteFile};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// Writes a snapshot: what is few bytes into the metadata, what later ones may build on into a shared file, all else into
/// one of the checkpoint's own. The content is durable on return; the files' names become so when the checkpoint is
/// published.
///
/// # Errors
/// Those of the storage. What was written is left to be discarded with the checkpoint.
pub fn write(
    storage: &dyn Storage,
    to: Destination<'_>,
    snapshot: SubtaskSnapshot,
    options: WriteOptions,
) -> Result<WrittenSnapshot> {
    let mut own = Output::new(to.dir, to.name, options);
    let mut shared = Output::new(to.dir, &format!("{SHARED_FILE}{}", to.shared), options);
    let mut operators = Vec::with_capacity(snapshot.operators.len());
    for operator in snapshot.operators {
        let mut state = SubtaskState { finished: operator.finished, ..SubtaskState::default() };
        for (index, keyed) in operator.keyed {
            let out = if keyed.extent == Extent::Whole { &mut own } else { &mut shared };
            state.keyed.extend(write_keyed(storage, out, index, keyed)?);
        }
        for list in operator.lists {
            state.lists.extend(write_list(storage, &mut own, list)?);
        }
        state.keyed.sort_by_key(|k| k.state);
        state.lists.sort_by_key(|l| l.list);
        operators.push((operator.id, state));
    }
    let outputs = [own.finish()?, shared.finish()?];
    for (_, state) in &mut operators {
        let keyed = state.keyed.iter_mut().map(|k| &mut k.data);
        for handle in keyed.chain(state.lists.iter_mut().map(|l| &mut l.data)) {
            let shared = matches!(handle, Handle::File { name, .. } if name.starts_with(SHARED_FILE));
            outputs[usize::from(shared)].resolve(handle);
        }
    }
    Ok(WrittenSnapshot { operators, files: outputs.into_iter().filter_map(|written| written.file).collect() })
}

/// What became of an output: the content when it stayed in memory, else the file that it is in, durable.
pub(super) struct Written {
    content: Vec<u8>,
    pub file: Option<FileEntry>,
}

impl Written {
    /// Until the end it is open where the bytes will be: handles say where in the output.
    pub fn resolve(&self, handle: &mut Handle) {
        let Handle::File { name, offset, len } = handle else { return };
        match &self.file {
            Some(file) => *name = Arc::clone(&file.name),
            None => {
                *handle = Handle::Inline(self.content[*offset as usize..(*offset + *len) as usize].into());
            }
        }
    }
}

fn write_keyed(
    storage: &dyn Storage,
    out: &mut Output,
    state: u16,
    keyed: KeyedSnapshot,
) -> Result<Option<KeyedHandle>> {
    let begin = out.written;
    let mut groups = Vec::with_capacity(keyed.groups.len());
    for chunk in keyed.groups {
        let (len, crc) = (chunk.bytes.len() as u64, crc32fast::hash(&chunk.bytes));
        let offset = out.written - begin;
        groups.push(GroupRange { group: chunk.group, entries: chunk.entries, offset, len, crc });
        out.append(storage, &chunk.bytes)?;
    }
    assert!(groups.is_sorted_by(|a, b| a.group < b.group), "key groups come in ascending order");
    Ok((!groups.is_empty()).then(|| KeyedHandle { state, groups, data: out.since(begin) }))
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

/// Bytes in order, kept in memory until they are more than the threshold.
pub(super) struct Output {
    path: PathBuf,
    name: Arc<str>,
    options: WriteOptions,
    /// What has not been handed to the file yet; everything, while there is none.
    buffer: Vec<u8>,
    file: Option<Box<dyn WriteFile>>,
    /// All bytes so far, and their checksum.
    pub written: u64,
    crc: crc32fast::Hasher,
}

impl Output {
    /// `name` is that of the file, as the metadata has it.
    pub fn new(dir: &Path, name: &str, options: WriteOptions) -> Self {
        let (path, name) = (data_file(dir, name), Arc::from(name));
        let crc = crc32fast::Hasher::new();
        Self { path, name, options, buffer: Vec::new(), file: None, written: 0, crc }
    }

    pub fn append(&mut self, storage: &dyn Storage, bytes: &[u8]) -> Result<()> {
        self.crc.update(bytes);
        self.written += bytes.len() as u64;
        if self.file.is_none() && self.written > self.options.inline_threshold as u64 {
            self.file = Some(storage.create(&self.path)?);
        }
        if self.file.is_none() || self.buffer.len() + bytes.len() < self.options.write_buffer {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        // What alone fills the buffer does not take the way through it.
        match &mut self.file {
            Some(file) if bytes.len() >= self.options.write_buffer => file.append(bytes),
            _ => {
                self.buffer.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    fn flush(&mut self) -> Result<()> {
        if let Some(file) = &mut self.file {
            file.append(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Where the bytes behind `begin` are.
    pub fn since(&self, begin: u64) -> Handle {
        Handle::File { name: Arc::clone(&self.name), offset: begin, len: self.written - begin }
    }

    pub fn finish(mut self) -> Result<Written> {
        self.flush()?;
        let Some(mut file) = self.file else { return Ok(Written { content: self.buffer, file: None }) };
        file.sync()?;
        let file = FileEntry { name: self.name, len: self.written, crc: self.crc.finalize() };
        Ok(Written { content: Vec::new(), file: Some(file) })
    }
}

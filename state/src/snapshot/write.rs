//! Writing a subtask's snapshot: few bytes go into the metadata, many into one file of the checkpoint's directory.

use super::{ListSnapshot, SubtaskSnapshot};
use crate::keyed::KeyedSnapshot;
use crate::metadata::{FileEntry, GroupRange, Handle, KeyedHandle, ListHandle, SubtaskState};
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
    /// The file that was written for it, if there was need for one.
    pub file: Option<FileEntry>,
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

/// Writes a snapshot into the directory `dir` of a checkpoint, as file `name` (plain, not beginning
/// with a dot or an underscore) unless it is small. The content is
/// durable on return; the file's name becomes so when the checkpoint is published.
///
/// # Errors
/// Those of the storage. What was written is left to be discarded with the checkpoint.
pub fn write(
    storage: &dyn Storage,
    dir: &Path,
    name: &str,
    snapshot: SubtaskSnapshot,
    options: WriteOptions,
) -> Result<WrittenSnapshot> {
    let mut out = Output::new(storage, dir.join(name), options);
    let mut operators = Vec::with_capacity(snapshot.operators.len());
    for operator in snapshot.operators {
        let mut state = SubtaskState { finished: operator.finished, ..SubtaskState::default() };
        for (index, keyed) in operator.keyed {
            state.keyed.extend(write_keyed(&mut out, index, keyed)?);
        }
        for list in operator.lists {
            state.lists.extend(write_list(&mut out, list)?);
        }
        state.keyed.sort_by_key(|k| k.state);
        state.lists.sort_by_key(|l| l.list);
        operators.push((operator.id, state));
    }
    let (content, file) = out.finish(Arc::from(name))?;
    for (_, state) in &mut operators {
        let keyed = state.keyed.iter_mut().map(|k| &mut k.data);
        for handle in keyed.chain(state.lists.iter_mut().map(|l| &mut l.data)) {
            resolve(handle, &content, file.as_ref());
        }
    }
    Ok(WrittenSnapshot { operators, file })
}

/// Until the end it is open where the bytes will be: handles say where in the output.
fn resolve(handle: &mut Handle, content: &[u8], file: Option<&FileEntry>) {
    let Handle::File { name, offset, len } = handle else { return };
    match file {
        Some(file) => *name = Arc::clone(&file.name),
        None => *handle = Handle::Inline(content[*offset as usize..(*offset + *len) as usize].into()),
    }
}

fn write_keyed(out: &mut Output<'_>, state: u16, keyed: KeyedSnapshot) -> Result<Option<KeyedHandle>> {
    let begin = out.written;
    let mut groups = Vec::with_capacity(keyed.groups.len());
    for chunk in keyed.groups {
        let (len, crc) = (chunk.bytes.len() as u64, crc32fast::hash(&chunk.bytes));
        let offset = out.written - begin;
        groups.push(GroupRange { group: chunk.group, entries: chunk.entries, offset, len, crc });
        out.append(&chunk.bytes)?;
    }
    assert!(groups.is_sorted_by(|a, b| a.group < b.group), "key groups come in ascending order");
    Ok((!groups.is_empty()).then(|| KeyedHandle { state, groups, data: out.since(begin) }))
}

fn write_list(out: &mut Output<'_>, list: ListSnapshot) -> Result<Option<ListHandle>> {
    if list.elements == 0 {
        return Ok(None);
    }
    let begin = out.written;
    out.append(&list.bytes)?;
    let crc = crc32fast::hash(&list.bytes);
    Ok(Some(ListHandle { list: list.list, elements: list.elements, crc, data: out.since(begin) }))
}

/// Bytes in order, kept in memory until they are more than the threshold.
struct Output<'a> {
    storage: &'a dyn Storage,
    path: PathBuf,
    options: WriteOptions,
    /// What has not been handed to the file yet; everything, while there is none.
    buffer: Vec<u8>,
    file: Option<Box<dyn WriteFile>>,
    /// All bytes so far, and their checksum.
    written: u64,
    crc: crc32fast::Hasher,
}

impl<'a> Output<'a> {
    fn new(storage: &'a dyn Storage, path: PathBuf, options: WriteOptions) -> Self {
        let crc = crc32fast::Hasher::new();
        Self { storage, path, options, buffer: Vec::new(), file: None, written: 0, crc }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.crc.update(bytes);
        self.written += bytes.len() as u64;
        if self.file.is_none() && self.written > self.options.inline_threshold as u64 {
            self.file = Some(self.storage.create(&self.path)?);
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
    fn since(&self, begin: u64) -> Handle {
        Handle::File { name: Arc::from(""), offset: begin, len: self.written - begin }
    }

    /// The content when it stayed in memory, else the file that it is in, durable.
    fn finish(mut self, name: Arc<str>) -> Result<(Vec<u8>, Option<FileEntry>)> {
        self.flush()?;
        let Some(mut file) = self.file else { return Ok((self.buffer, None)) };
        file.sync()?;
        Ok((Vec::new(), Some(FileEntry { name, len: self.written, crc: self.crc.finalize() })))
    }
}

//! Reading state back: only the bytes that are needed, and none whose checksum is wrong.

use crate::error::{FormatError, StateError};
use crate::key_group::KeyGroup;
use crate::keyed::RestoreError;
use crate::layout::data_file;
use crate::local::LocalCopies;
use crate::metadata::{GroupRange, Handle, KeyedHandle, ListHandle, METADATA_FILE};
use millstream_io::storage::{self, ReadFile, Storage};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Reads the state of one completed checkpoint. Files stay open between reads.
pub struct SnapshotReader {
    storage: Arc<dyn Storage>,
    dir: PathBuf,
    open: HashMap<Arc<str>, Box<dyn ReadFile>>,
    local: Option<Arc<LocalCopies>>,
    /// Of files that were wanted, the copies that are still trusted.
    copies: HashMap<Arc<str>, Option<Box<dyn ReadFile>>>,
    buffer: Vec<u8>,
}

impl SnapshotReader {
    /// A reader of the checkpoint in directory `dir`.
    pub fn new(storage: Arc<dyn Storage>, dir: PathBuf) -> Self {
        Self { storage, dir, open: HashMap::new(), local: None, copies: HashMap::new(), buffer: Vec::new() }
    }

    /// The same, which prefers copies nearby, as far as they are right (BE-06).
    #[must_use]
    pub fn preferring(self, local: Option<Arc<LocalCopies>>) -> Self {
        Self { local, ..self }
    }

    /// Another reader of the same checkpoint.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::new(self.storage.clone(), self.dir.clone()).preferring(self.local.clone())
    }

    /// Hands the key groups of `handle` to `add`, in ascending order, each with its number of entries: typically to
    /// [`Snapshots::restore`](crate::keyed::Snapshots::restore). A handle that was narrowed to some of its groups
    /// is read at those only (KG-05).
    ///
    /// # Errors
    /// A file that is missing, too short, damaged, or that `add` cannot use, is named (ER-22).
    pub fn groups(
        &mut self,
        handle: &KeyedHandle,
        mut add: impl FnMut(KeyGroup, u64, &[u8]) -> Result<(), RestoreError>,
    ) -> Result<(), StateError> {
        for range in &handle.groups {
            let path = self.path_of(&handle.data);
            let bytes = self.bytes(&handle.data, range.offset, range.len, range.crc)?;
            add(range.group, range.entries, bytes).map_err(|source| StateError::Entries { path, source })?;
        }
        Ok(())
    }

    /// The bytes of one key group of `handle`.
    pub(super) fn group(&mut self, handle: &Handle, range: &GroupRange) -> Result<Vec<u8>, StateError> {
        self.bytes(handle, range.offset, range.len, range.crc).map(<[u8]>::to_vec)
    }

    /// The elements of a list as they are encoded.
    ///
    /// # Errors
    /// As for [`SnapshotReader::groups`].
    pub fn encoded_list(&mut self, handle: &ListHandle) -> Result<Vec<Vec<u8>>, StateError> {
        let path = self.path_of(&handle.data);
        let bytes = self.bytes(&handle.data, 0, handle.data.len(), handle.crc)?;
        elements(bytes, handle.elements).map_err(|source| StateError::Damaged { path, source })
    }

    /// The file that the bytes of a handle are in.
    pub(super) fn path_of(&self, handle: &Handle) -> PathBuf {
        match handle {
            Handle::Inline(_) => self.dir.join(METADATA_FILE),
            Handle::File { name, .. } => data_file(&self.dir, name),
        }
    }

    fn bytes<'a>(
        &'a mut self,
        handle: &'a Handle,
        offset: u64,
        len: u64,
        crc: u32,
    ) -> Result<&'a [u8], StateError> {
        let path = self.path_of(handle);
        let (bytes, problem) = match handle {
            Handle::Inline(all) => match slice(all, offset, len) {
                Some(bytes) => (bytes, None),
                None => (
                    &[][..],
                    Some(FormatError::Truncated {
                        expected: offset.saturating_add(len),
                        found: all.len() as u64,
                    }),
                ),
            },
            Handle::File { name, offset: begin, .. } => {
                if self.read_copy(name, begin.saturating_add(offset), len, crc) {
                    return Ok(&self.buffer);
                }
                let problem = self.read(name, begin.saturating_add(offset), len)?;
                (&self.buffer[..], problem)
            }
        };
        let computed = crc32fast::hash(bytes);
        let wrong =
            (computed != crc).then_some(FormatError::Checksum { part: "data", stored: crc, computed });
        match problem.or(wrong) {
            Some(source) => Err(StateError::Damaged { path, source }),
            None => Ok(bytes),
        }
    }

    /// Reads a part of a file into the buffer from a copy nearby, if that is there and right.
    fn read_copy(&mut self, name: &Arc<str>, offset: u64, len: u64, crc: u32) -> bool {
        let Some(local) = &self.local else { return false };
        let path = data_file(&self.dir, name);
        let copy = self.copies.entry(name.clone()).or_insert_with(|| local.open(&path));
        let Some(file) = copy else { return false };
        let why = match fill(&**file, offset, len, &mut self.buffer) {
            Ok(None) if crc32fast::hash(&self.buffer) == crc => return true,
            Ok(None) => "its checksum is wrong".to_owned(),
            Ok(Some(problem)) => problem.to_string(),
            Err(error) => error.to_string(),
        };
        local.distrust(&path, &why);
        *copy = None;
        false
    }

    /// Reads a part of a file into the buffer; says so when the file is too short.
    fn read(&mut self, name: &Arc<str>, offset: u64, len: u64) -> Result<Option<FormatError>, StateError> {
        if !self.open.contains_key(name) {
            let path = data_file(&self.dir, name);
            let file = self.storage.open(&path).map_err(|e| StateError::data_file(&self.dir, e))?;
            self.open.insert(Arc::clone(name), file);
        }
        Ok(fill(&*self.open[name], offset, len, &mut self.buffer)?)
    }
}

/// Fills the buffer with a part of a file; says so when the file is too short, before memory is asked for.
fn fill(
    file: &dyn ReadFile,
    offset: u64,
    len: u64,
    buffer: &mut Vec<u8>,
) -> storage::Result<Option<FormatError>> {
    let found = file.stat()?.len;
    let expected = offset.saturating_add(len);
    if found < expected {
        return Ok(Some(FormatError::Truncated { expected, found }));
    }
    buffer.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
    let mut used = 0;
    while used < buffer.len() {
        let n = file.read_at(&mut buffer[used..], offset + used as u64)?;
        if n == 0 {
            let found = offset + used as u64;
            return Ok(Some(FormatError::Truncated { expected, found }));
        }
        used += n;
    }
    Ok(None)
}

fn slice(bytes: &[u8], offset: u64, len: u64) -> Option<&[u8]> {
    let begin = usize::try_from(offset).ok()?;
    bytes.get(begin..begin.checked_add(usize::try_from(len).ok()?)?)
}

fn elements(bytes: &[u8], count: u64) -> Result<Vec<Vec<u8>>, FormatError> {
    let mut all = Vec::new();
    let mut rest = bytes;
    let bad = |rest: &[u8], problem| {
        let offset = (bytes.len() - rest.len()) as u64;
        FormatError::Field { field: "list", offset, problem }
    };
    while !rest.is_empty() {
        let Some((element, behind)) = split_element(rest) else {
            return Err(bad(rest, "an element goes beyond the end"));
        };
        all.push(element.to_vec());
        rest = behind;
    }
    if all.len() as u64 == count {
        Ok(all)
    } else {
        Err(bad(rest, "it does not hold as many elements as it should"))
    }
}

fn split_element(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

//! Reading state back: only the bytes that are needed, and none whose checksum is wrong.

use crate::error::{FormatError, StateError};
use crate::metadata::{GroupRange, Handle, KeyedHandle, ListHandle, METADATA_FILE};
use millstream_io::storage::{ReadFile, Storage};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Reads the state of one completed checkpoint. Files stay open between reads.
pub struct SnapshotReader {
    storage: Arc<dyn Storage>,
    dir: PathBuf,
    open: HashMap<Arc<str>, Box<dyn ReadFile>>,
    buffer: Vec<u8>,
}

impl SnapshotReader {
    /// A reader of the checkpoint in directory `dir`.
    pub fn new(storage: Arc<dyn Storage>, dir: PathBuf) -> Self {
        Self { storage, dir, open: HashMap::new(), buffer: Vec::new() }
    }

    /// Hands the key groups of `handle` to `visit`, in ascending order. A handle that a restore has narrowed to some
    /// of its groups is read at those only (KG-05).
    ///
    /// # Errors
    /// A file that is missing, too short or damaged is named (ER-22); so are errors of `visit`.
    pub fn groups(
        &mut self,
        handle: &KeyedHandle,
        mut visit: impl FnMut(&GroupRange, &[u8]) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        for range in &handle.groups {
            let bytes = self.bytes(&handle.data, range.offset, range.len, range.crc)?;
            visit(range, bytes)?;
        }
        Ok(())
    }

    /// The elements of a list.
    ///
    /// # Errors
    /// As for [`SnapshotReader::groups`].
    pub fn list<'a>(&'a mut self, handle: &'a ListHandle) -> Result<ListElements<'a>, StateError> {
        let path = self.path_of(&handle.data);
        let bytes = self.bytes(&handle.data, 0, handle.data.len(), handle.crc)?;
        check_elements(bytes, handle.elements).map_err(|source| StateError::Damaged { path, source })?;
        Ok(ListElements { bytes })
    }

    /// The file that the bytes of a handle are in.
    fn path_of(&self, handle: &Handle) -> PathBuf {
        match handle {
            Handle::Inline(_) => self.dir.join(METADATA_FILE),
            Handle::File { name, .. } => self.dir.join(&**name),
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

    /// Reads a part of a file into the buffer; says so when the file is too short, before memory is asked for.
    fn read(&mut self, name: &Arc<str>, offset: u64, len: u64) -> Result<Option<FormatError>, StateError> {
        if !self.open.contains_key(name) {
            let path = self.dir.join(&**name);
            let file = self.storage.open(&path).map_err(|e| StateError::data_file(&self.dir, e))?;
            self.open.insert(Arc::clone(name), file);
        }
        let file = &self.open[name];
        let found = file.stat()?.len;
        let expected = offset.saturating_add(len);
        if found < expected {
            return Ok(Some(FormatError::Truncated { expected, found }));
        }
        self.buffer.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
        let mut used = 0;
        while used < self.buffer.len() {
            let n = file.read_at(&mut self.buffer[used..], offset + used as u64)?;
            if n == 0 {
                let found = offset + used as u64;
                return Ok(Some(FormatError::Truncated { expected, found }));
            }
            used += n;
        }
        Ok(None)
    }
}

fn slice(bytes: &[u8], offset: u64, len: u64) -> Option<&[u8]> {
    let begin = usize::try_from(offset).ok()?;
    bytes.get(begin..begin.checked_add(usize::try_from(len).ok()?)?)
}

fn check_elements(bytes: &[u8], elements: u64) -> Result<(), FormatError> {
    let mut found = 0;
    let mut rest = bytes;
    while !rest.is_empty() {
        let offset = (bytes.len() - rest.len()) as u64;
        let Some((_, behind)) = split_element(rest) else {
            let problem = "an element goes beyond the end";
            return Err(FormatError::Field { field: "list", offset, problem });
        };
        rest = behind;
        found += 1;
    }
    if found == elements {
        return Ok(());
    }
    let problem = "it does not hold as many elements as it should";
    Err(FormatError::Field { field: "list", offset: bytes.len() as u64, problem })
}

fn split_element(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

/// The encoded elements of a list, in order.
pub struct ListElements<'a> {
    bytes: &'a [u8],
}

impl<'a> Iterator for ListElements<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (element, rest) = split_element(self.bytes)?;
        self.bytes = rest;
        Some(element)
    }
}

//! Reading state back: only the bytes that are needed, and none whose checksum is wrong.

use super::files::Files;
use super::groups::Groups;
use crate::error::{FormatError, StateError};
use crate::keyed::Snapshots;
use crate::local::LocalCopies;
use crate::metadata::{GroupRange, Handle, KeyedHandle, ListHandle};
use millstream_io::storage::Storage;
use std::path::PathBuf;
use std::sync::Arc;

/// Reads the state of one completed checkpoint. Files stay open between reads.
pub struct SnapshotReader {
    pub(super) files: Files,
    buffer: Vec<u8>,
}

impl SnapshotReader {
    /// A reader of the checkpoint in directory `dir`.
    pub fn new(storage: Arc<dyn Storage>, dir: PathBuf) -> Self {
        Self { files: Files::new(storage, dir), buffer: Vec::new() }
    }

    /// The same, which prefers copies nearby, as far as they are right (BE-06).
    #[must_use]
    pub fn preferring(self, local: Option<Arc<LocalCopies>>) -> Self {
        Self { files: self.files.preferring(local), ..self }
    }

    /// Another reader of the same checkpoint.
    #[must_use]
    pub fn another(&self) -> Self {
        let Files { storage, dir, local, .. } = &self.files;
        Self::new(storage.clone(), dir.clone()).preferring(local.clone())
    }

    /// Restores a state of which `parts` are all parts, the oldest first, but for the last step,
    /// [`restored`](Snapshots::restored). Parts that were narrowed to some of their key groups are read at those only (KG-05),
    /// and what has none left is not opened. A backend that can do so reads, checks and restores several groups at once.
    /// `done` is told, perhaps on other threads, how many keys and how many bytes more are there.
    ///
    /// # Errors
    /// A file that is missing, too short, damaged, or that the state cannot use, is named (ER-22).
    pub fn restore(
        &self,
        parts: &[&KeyedHandle],
        into: &mut (impl Snapshots + ?Sized),
        done: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<(), StateError> {
        into.restore_groups(&Groups::new(&self.files, parts, done))
    }

    /// The bytes of one key group of `handle`.
    pub(crate) fn group(&self, handle: &Handle, range: &GroupRange) -> Result<Vec<u8>, StateError> {
        let mut bytes = Vec::new();
        self.files.read(handle, (range.offset, range.len), range.crc, &mut bytes)?;
        Ok(bytes)
    }

    /// Some bytes of a key group of `handle`, of which whoever asks knows another checksum.
    pub(crate) fn unchecked(&self, handle: &Handle, range: (u64, u64)) -> Result<Vec<u8>, StateError> {
        let mut bytes = Vec::new();
        self.files.read_unchecked(handle, range, &mut bytes)?;
        Ok(bytes)
    }

    /// The file that the bytes of a handle are in.
    pub(crate) fn path_of(&self, handle: &Handle) -> PathBuf {
        self.files.path_of(handle)
    }

    /// The bytes of a list.
    pub(crate) fn list_bytes(&self, list: &ListHandle) -> Result<Vec<u8>, StateError> {
        let mut bytes = Vec::new();
        self.files.read(&list.data, (0, list.data.len()), list.crc, &mut bytes)?;
        Ok(bytes)
    }

    /// The elements of a list as they are encoded.
    ///
    /// # Errors
    /// A file that is missing, too short or damaged is named.
    pub fn encoded_list(&mut self, handle: &ListHandle) -> Result<Vec<Vec<u8>>, StateError> {
        self.files.read(&handle.data, (0, handle.data.len()), handle.crc, &mut self.buffer)?;
        elements(&self.buffer, handle.elements).map_err(|source| {
            let path = self.files.path_of(&handle.data);
            StateError::Damaged { path, source }
        })
    }
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

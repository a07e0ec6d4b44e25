//! The files of a checkpoint, and the copies of them nearby, as several threads read them.

use crate::error::{FormatError, StateError};
use crate::layout::data_file;
use crate::local::LocalCopies;
use crate::metadata::{Handle, METADATA_FILE};
use millstream_io::storage::{self, ReadFile, Storage};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes that are read at once: few enough that they are still in the core's cache for their checksum.
const PIECE: usize = 512 << 10;

/// Files of one checkpoint that are opened when they are read first, and stay open. One that is not read is not opened.
pub(super) struct Files {
    pub storage: Arc<dyn Storage>,
    pub dir: PathBuf,
    pub local: Option<Arc<LocalCopies>>,
    open: Mutex<HashMap<Arc<str>, Arc<Open>>>,
    /// Of files that were wanted, the copies that are still trusted.
    copies: Mutex<HashMap<Arc<str>, Option<Arc<Open>>>>,
}

/// A file, which nobody changes, and its length.
struct Open {
    file: Box<dyn ReadFile>,
    len: u64,
}

impl Open {
    fn new(file: Box<dyn ReadFile>) -> storage::Result<Arc<Self>> {
        let len = file.stat()?.len;
        Ok(Arc::new(Self { file, len }))
    }
}

impl Files {
    pub fn new(storage: Arc<dyn Storage>, dir: PathBuf) -> Self {
        Self { storage, dir, local: None, open: Mutex::default(), copies: Mutex::default() }
    }

    /// The same, which prefers copies nearby.
    pub fn preferring(self, local: Option<Arc<LocalCopies>>) -> Self {
        Self { local, ..self }
    }

    /// The file that the bytes of a handle are in.
    pub fn path_of(&self, handle: &Handle) -> PathBuf {
        match handle {
            Handle::Inline(_) => self.dir.join(METADATA_FILE),
            Handle::File { name, .. } => data_file(&self.dir, name),
        }
    }

    /// Puts a part of a handle's bytes into the buffer, in place of what is there, if they have that checksum.
    ///
    /// # Errors
    /// A file that is missing, too short or damaged.
    pub fn read(
        &self,
        handle: &Handle,
        (offset, len): (u64, u64),
        crc: u32,
        buffer: &mut Vec<u8>,
    ) -> Result<(), StateError> {
        if let Handle::File { name, offset: begin, .. } = handle
            && self.read_copy(name, (begin.saturating_add(offset), len), crc, buffer)
        {
            return Ok(());
        }
        let found = self.fill(handle, (offset, len), buffer)?;
        let source = match found {
            Ok(computed) if computed == crc => return Ok(()),
            Ok(computed) => FormatError::Checksum { part: "data", stored: crc, computed },
            Err(problem) => problem,
        };
        Err(self.damaged(handle, source))
    }

    /// The error that the bytes of a handle are damaged.
    pub fn damaged(&self, handle: &Handle, source: FormatError) -> StateError {
        StateError::Damaged { path: self.path_of(handle), source }
    }

    /// Puts a part of a handle's bytes into the buffer, in place of what is there; whoever asks has another checksum of them.
    ///
    /// # Errors
    /// A file that is missing or too short.
    pub fn read_unchecked(
        &self,
        handle: &Handle,
        (offset, len): (u64, u64),
        buffer: &mut Vec<u8>,
    ) -> Result<(), StateError> {
        self.fill(handle, (offset, len), buffer)?.map(drop).map_err(|source| self.damaged(handle, source))
    }

    fn fill(
        &self,
        handle: &Handle,
        (offset, len): (u64, u64),
        buffer: &mut Vec<u8>,
    ) -> Result<Result<u32, FormatError>, StateError> {
        match handle {
            Handle::Inline(all) => Ok(match slice(all, offset, len) {
                Some(bytes) => {
                    buffer.clear();
                    buffer.extend_from_slice(bytes);
                    Ok(crc32fast::hash(bytes))
                }
                None => {
                    let expected = offset.saturating_add(len);
                    Err(FormatError::Truncated { expected, found: all.len() as u64 })
                }
            }),
            Handle::File { name, offset: begin, .. } => {
                Ok(fill(&*self.open(name)?, begin.saturating_add(offset), len, buffer)?)
            }
        }
    }

    /// Reads from a copy nearby, if that is there and right.
    fn read_copy(&self, name: &Arc<str>, (offset, len): (u64, u64), crc: u32, buffer: &mut Vec<u8>) -> bool {
        let Some(local) = &self.local else { return false };
        let path = data_file(&self.dir, name);
        let copy = {
            let mut copies = self.copies.lock();
            let open = || local.open(&path).and_then(|file| Open::new(file).ok());
            copies.entry(name.clone()).or_insert_with(open).clone()
        };
        let Some(file) = copy else { return false };
        let why = match fill(&file, offset, len, buffer) {
            Ok(Ok(computed)) if computed == crc => return true,
            Ok(Ok(_)) => "its checksum is wrong".to_owned(),
            Ok(Err(problem)) => problem.to_string(),
            Err(error) => error.to_string(),
        };
        // Others may have found the same.
        if self.copies.lock().insert(name.clone(), None).flatten().is_some() {
            local.distrust(&path, &why);
        }
        false
    }

    fn open(&self, name: &Arc<str>) -> Result<Arc<Open>, StateError> {
        let mut open = self.open.lock();
        if let Some(file) = open.get(name) {
            return Ok(file.clone());
        }
        let path = data_file(&self.dir, name);
        let file = self.storage.open(&path).map_err(|e| StateError::data_file(&self.dir, e))?;
        let file = Open::new(file)?;
        open.insert(name.clone(), file.clone());
        Ok(file)
    }
}

/// Fills the buffer with a part of a file, and gives its checksum; says so when the file is too short, before memory is asked
/// for.
fn fill(
    open: &Open,
    offset: u64,
    len: u64,
    buffer: &mut Vec<u8>,
) -> storage::Result<Result<u32, FormatError>> {
    let (found, expected) = (open.len, offset.saturating_add(len));
    if found < expected {
        return Ok(Err(FormatError::Truncated { expected, found }));
    }
    buffer.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
    let mut crc = crc32fast::Hasher::new();
    let mut used = 0;
    while used < buffer.len() {
        let end = buffer.len().min(used + PIECE);
        let n = open.file.read_at(&mut buffer[used..end], offset + used as u64)?;
        if n == 0 {
            let found = offset + used as u64;
            return Ok(Err(FormatError::Truncated { expected, found }));
        }
        crc.update(&buffer[used..used + n]);
        used += n;
    }
    Ok(Ok(crc.finalize()))
}

fn slice(bytes: &[u8], offset: u64, len: u64) -> Option<&[u8]> {
    let begin = usize::try_from(offset).ok()?;
    bytes.get(begin..begin.checked_add(usize::try_from(len).ok()?)?)
}

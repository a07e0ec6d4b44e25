//! Bytes in order, in memory or in a file: which, is decided by how many they become.

use super::WriteOptions;
use crate::layout::data_file;
use crate::metadata::{FileEntry, Handle};
use millstream_io::storage::{Result, Storage, WriteFile};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What became of an output: the content when it stayed in memory, else the file that it is in, durable.
pub(crate) struct Written {
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

/// Bytes in order, kept in memory until they are more than the threshold.
pub(crate) struct Output {
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

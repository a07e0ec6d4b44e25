//! Where a record stood: from an inode and a byte offset to a path and a line.

use super::file_source::discover::files_now;
use crate::storage::{ReadFile, Storage};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes read at a time to count lines.
const CHUNK: usize = 256 * 1024;

/// Finds out, when asked, which file and line a record came from.
///
/// Records carry an inode and an offset only (ruling 27). The path is looked up among a job's inputs and where they
/// used to be, the line counted by reading the file up to the record; each file's count goes on where it stood, so that
/// asking in ascending order reads a file once.
pub struct Places {
    storage: Arc<dyn Storage>,
    inputs: Vec<PathBuf>,
    paths: HashMap<u64, PathBuf>,
    /// By file: an offset, and the number of line breaks before it.
    counted: HashMap<u64, (u64, u64)>,
}

impl Places {
    /// For records of these files and directories.
    pub fn new(storage: Arc<dyn Storage>, inputs: Vec<PathBuf>) -> Self {
        Self { storage, inputs, paths: HashMap::new(), counted: HashMap::new() }
    }

    /// What the caller knows already.
    pub(crate) fn learn(&mut self, file: u64, path: &Path) {
        if self.paths.get(&file).is_none_or(|known| known != path) {
            self.paths.insert(file, path.to_owned());
        }
    }

    /// The path of the file with this inode, if it is still among the inputs or where it was last.
    pub fn path(&mut self, file: u64) -> Option<&Path> {
        let there = |path: &PathBuf| self.storage.stat(path).is_ok_and(|stat| stat.inode == file);
        if !self.paths.get(&file).is_some_and(there) {
            self.paths.remove(&file);
            let found = files_now(&*self.storage, &self.inputs).unwrap_or_default();
            self.paths.extend(found.into_iter().map(|found| (found.inode, found.path)));
        }
        self.paths.get(&file).map(PathBuf::as_path)
    }

    /// The number of the line in which byte `offset` of a file lies, from 1; nothing when the file cannot be read up
    /// to there any more.
    pub fn line(&mut self, file: u64, offset: u64) -> Option<u64> {
        let path = self.path(file)?.to_owned();
        let open = self.storage.open(&path).ok()?;
        let known = self.counted.get(&file).copied().filter(|(at, _)| *at <= offset).unwrap_or((0, 0));
        let breaks = known.1 + breaks(&*open, known.0, offset)?;
        self.counted.insert(file, (offset, breaks));
        Some(breaks + 1)
    }

    /// `path:line (byte offset n)`, as far as it can be found out.
    pub fn describe(&mut self, file: u64, offset: u64) -> String {
        let line = self.line(file, offset).map_or(String::new(), |line| format!(":{line}"));
        match self.path(file) {
            Some(path) => format!("{}{line} (byte offset {offset})", path.display()),
            None => format!("file with inode {file}, now gone (byte offset {offset})"),
        }
    }
}

/// Line breaks in `from..to`.
fn breaks(file: &dyn ReadFile, mut from: u64, to: u64) -> Option<u64> {
    let mut buffer = vec![0; usize::try_from(to - from).unwrap_or(CHUNK).min(CHUNK)];
    let mut count = 0;
    while from < to {
        let want = usize::try_from(to - from).unwrap_or(CHUNK).min(buffer.len());
        let n = file.read_at(&mut buffer[..want], from).ok()?;
        if n == 0 {
            return None;
        }
        count += memchr::memchr_iter(b'\n', &buffer[..n]).count() as u64;
        from += n as u64;
    }
    Some(count)
}

//! Files in memory, with a live and a durable image.

mod file;
mod image;
mod tree;

use super::{Entry, Kind, Lock, ReadFile, Result, Stat, Storage, Syncer, WriteFile};
use crate::error::StorageError;
use file::{Data, FileNode};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tree::{Node, Tree};

/// Files in memory that forget, when asked to, what was never made durable.
///
/// Clones share their files. [`MemoryStorage::kill_image`] gives what a killed process leaves behind,
/// [`MemoryStorage::crash_image`] what a power cut leaves: both are new storages with files of their own. Nothing
/// depends on time or on chance: equal operations and equal seeds give equal images.
///
/// Paths are absolute; a relative one counts from the root, which always exists.
///
/// ```
/// use millstream_io::storage::{MemoryStorage, Storage};
/// use std::path::Path;
///
/// let storage = MemoryStorage::new();
/// storage.create(Path::new("/a"))?.append(b"never synced")?;
/// assert!(storage.kill_image().stat(Path::new("/a")).is_ok());
/// assert!((0..100).any(|seed| storage.crash_image(seed).stat(Path::new("/a")).is_err()));
/// # Ok::<(), millstream_io::error::StorageError>(())
/// ```
#[derive(Clone, Debug)]
pub struct MemoryStorage {
    tree: Arc<Tree>,
}

impl Default for MemoryStorage {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStorage {
    /// Nothing but the root directory.
    pub fn new() -> Self {
        Self { tree: Arc::new(Tree::new()) }
    }

    /// What a process that starts after this one was killed finds: every file as it was last seen. What was not
    /// durable still is not. Handles and locks of the old storage do not reach the new one.
    #[must_use]
    pub fn kill_image(&self) -> Self {
        Self { tree: Arc::new(image::after_kill(&self.tree)) }
    }

    /// What is found after a power cut: everything durable, and of the rest what `seed` chooses. Bytes that were not
    /// synced may be gone, cut at any byte, replaced by zeros from any byte on, or there; each creation, rename and
    /// removal whose directory was not synced may have happened or not, independently of the others.
    #[must_use]
    pub fn crash_image(&self, seed: u64) -> Self {
        Self { tree: Arc::new(image::after_power_cut(&self.tree, seed)) }
    }

    fn file(&self, path: &Path, operation: &'static str) -> Result<Arc<FileNode>> {
        let found = self.tree.with(|names| names.find(path));
        match found.map_err(|kind| not_done(operation, path, kind))? {
            Node::File(file) => Ok(file),
            Node::Dir(_) => Err(not_done(operation, path, ErrorKind::IsADirectory)),
        }
    }
}

fn not_done(operation: &'static str, path: &Path, kind: ErrorKind) -> StorageError {
    StorageError::not_done(operation, path, kind.into())
}

impl Storage for MemoryStorage {
    fn create(&self, path: &Path) -> Result<Box<dyn WriteFile>> {
        let file =
            self.tree.with(|names| names.create(path)).map_err(|kind| not_done("create", path, kind))?;
        Ok(Box::new(MemoryFile { file, path: path.into() }))
    }

    fn append(&self, path: &Path, len: u64) -> Result<Box<dyn WriteFile>> {
        let file = self.file(path, "open for appending")?;
        file.data.lock().cut(len).map_err(|present| {
            StorageError::not_done("open for appending", path, super::too_short(present, len))
        })?;
        Ok(Box::new(MemoryFile { file, path: path.into() }))
    }

    fn open(&self, path: &Path) -> Result<Box<dyn ReadFile>> {
        let file = self.file(path, "open")?;
        Ok(Box::new(MemoryFile { file, path: path.into() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.tree.with(|names| names.rename(from, to)).map_err(|kind| not_done("rename", from, kind))
    }

    fn publish(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let data = Data::durable(bytes.to_vec());
        self.tree.with(|names| names.publish(path, data)).map_err(|kind| not_done("publish", path, kind))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.tree.with(|names| names.remove(path)).map_err(|kind| not_done("remove", path, kind))
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.tree
            .with(|names| names.remove_dir(path))
            .map_err(|kind| not_done("remove directory", path, kind))
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        self.tree
            .with(|names| names.create_dir_all(path))
            .map_err(|kind| not_done("create directory", path, kind))
    }

    fn list(&self, dir: &Path) -> Result<Vec<Entry>> {
        self.tree.with(|names| names.list(dir)).map_err(|kind| not_done("list", dir, kind))
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.tree.with(|names| names.sync(dir)).map_err(|kind| not_done("sync directory", dir, kind))
    }

    fn stat(&self, path: &Path) -> Result<Stat> {
        let found = self.tree.with(|names| names.find(path)).map_err(|kind| not_done("stat", path, kind))?;
        Ok(match found {
            Node::File(file) => file.stat(),
            Node::Dir(dir) => Stat { kind: Kind::Dir, len: 0, inode: dir.0 },
        })
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf> {
        self.stat(path).map_err(|e| StorageError { operation: "resolve", ..e })?;
        Ok(tree::absolute(path))
    }

    fn try_lock(&self, path: &Path, holder: &str) -> Result<Option<Box<dyn Lock>>> {
        let file = self
            .tree
            .with(|names| match names.create(path) {
                Err(ErrorKind::AlreadyExists) => match names.find(path)? {
                    Node::File(file) => Ok(file),
                    Node::Dir(_) => Err(ErrorKind::IsADirectory),
                },
                other => other,
            })
            .map_err(|kind| not_done("lock", path, kind))?;
        let mut data = file.data.lock();
        if std::mem::replace(&mut data.locked, true) {
            return Ok(None);
        }
        data.replace(holder.as_bytes());
        drop(data);
        Ok(Some(Box::new(MemoryLock { file })))
    }
}

struct MemoryFile {
    file: Arc<FileNode>,
    path: Box<Path>,
}

impl ReadFile for MemoryFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        Ok(self.file.data.lock().read(buffer, offset))
    }

    fn stat(&self) -> Result<Stat> {
        Ok(self.file.stat())
    }
}

impl WriteFile for MemoryFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.data.lock().append(bytes).map_err(|_| {
            let cause = io::Error::from(ErrorKind::OutOfMemory);
            StorageError::not_done("write", &self.path, cause)
        })
    }

    fn sync(&mut self) -> Result<()> {
        self.file.data.lock().sync(usize::MAX);
        Ok(())
    }

    /// Makes durable what is there now and no more, so that nothing comes to rely on more than was promised.
    fn syncer(&self) -> Result<Syncer> {
        let file = Arc::clone(&self.file);
        let len = file.data.lock().len();
        Ok(Box::new(move || {
            file.data.lock().sync(len);
            Ok(())
        }))
    }
}

struct MemoryLock {
    file: Arc<FileNode>,
}

impl Lock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.file.data.lock().locked = false;
    }
}

#[cfg(test)]
mod tests;

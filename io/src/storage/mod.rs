//! The only door to files: everything durable, and every foreign file that is read, goes through [`Storage`].
//!
//! Two things are kept apart: what a reader sees now (the *live* image) and what survives a power cut (the *durable*
//! image). Each method says what it does to both. A name (creation, rename, removal) becomes durable with
//! [`Storage::sync_dir`] of its directory, content with [`WriteFile::sync`]. A killed process loses nothing of the
//! live image; a power cut may lose everything that is not durable, in any order.

mod disk;
#[cfg(any(test, feature = "test-util"))]
pub mod fault;
mod memory;
#[cfg(test)]
mod tests;

pub use disk::DiskStorage;
pub use memory::MemoryStorage;

use crate::error::StorageError;
use std::path::{Path, PathBuf};

/// Result of a storage operation.
pub type Result<T> = std::result::Result<T, StorageError>;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// Anything else: a socket, a device, a dangling link.
    Other,
}

/// What is known about a file or directory without opening it (links are followed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: Kind,
    /// Bytes (of a file).
    pub len: u64,
    /// Number that stays with a file when it is renamed; unique among the files that exist.
    pub inode: u64,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, without the directory.
    pub name: std::ffi::OsString,
    /// What it is; of a link, what it leads to.
    pub kind: Kind,
    /// Whether it is a symbolic link.
    pub link: bool,
}

/// A file open for reading.
pub trait ReadFile: Send + Sync {
    /// Reads at `offset` into `buffer`; fewer bytes than asked only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize>;

    /// What is known about the open file (also after a rename or removal of its name).
    fn stat(&self) -> Result<Stat>;
}

/// A file open for writing at its end.
pub trait WriteFile: Send {
    /// Appends bytes: live, not durable. After an error the file's length is unknown between the old and the new.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Makes the content durable. After an error nothing may be assumed durable, and the file must be given up: a
    /// second sync could succeed although data was lost.
    fn sync(&mut self) -> Result<()>;

    /// Work that makes durable what has been appended up to now, for another thread to do while this one goes on
    /// appending. When it fails in [`Outcome::Indeterminate`](crate::error::Outcome::Indeterminate) the file must be
    /// given up, and it gives itself up: every later operation on it fails.
    ///
    /// # Errors
    /// An earlier sync failed, or the system has no handle left.
    fn syncer(&self) -> Result<Syncer>;
}

/// Background work that makes content durable: see [`WriteFile::syncer`].
pub type Syncer = Box<dyn FnOnce() -> Result<()> + Send>;

/// A held lock; gone when dropped, and with its process.
pub trait Lock: Send + Sync {}

/// Files and directories. All paths are taken as given; implementations share no state with the current directory
/// beyond resolving relative paths.
pub trait Storage: Send + Sync + 'static {
    /// Creates a file that must not exist. Live at once; the name is durable after [`Storage::sync_dir`].
    fn create(&self, path: &Path) -> Result<Box<dyn WriteFile>>;

    /// Opens an existing file for appending, cut to `len` bytes first (which must not exceed its length).
    fn append(&self, path: &Path, len: u64) -> Result<Box<dyn WriteFile>>;

    /// Opens an existing file for reading.
    fn open(&self, path: &Path) -> Result<Box<dyn ReadFile>>;

    /// Renames atomically; `ErrorKind::AlreadyExists` when `to` exists, which is left alone.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Puts `bytes` at `path`, replacing what was there, atomically and durably: afterwards, and after a crash at any
    /// moment, readers find either the old content or the new one, never a part. Name and content are durable on
    /// success; after an error either may be there.
    fn publish(&self, path: &Path, bytes: &[u8]) -> Result<()>;

    /// Removes a file; of a link the link itself. `ErrorKind::NotFound` when there is none, `ErrorKind::IsADirectory`
    /// for a directory, which is left alone.
    fn remove(&self, path: &Path) -> Result<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> Result<()>;

    /// Creates a directory and those above it, durably. Fine when it exists.
    fn create_dir_all(&self, path: &Path) -> Result<()>;

    /// The entries of a directory, in no particular order.
    fn list(&self, dir: &Path) -> Result<Vec<Entry>>;

    /// Makes creations, renames and removals in a directory durable.
    fn sync_dir(&self, dir: &Path) -> Result<()>;

    /// What is known about a path.
    fn stat(&self, path: &Path) -> Result<Stat>;

    /// The path made absolute, with links resolved.
    fn canonical(&self, path: &Path) -> Result<PathBuf>;

    /// Takes the exclusive lock on a lock file, which is created when missing, and removed by nobody but who holds the lock,
    /// if at all. `holder` is written into it, for the next one that is refused to read. `None` when somebody else
    /// holds it.
    fn try_lock(&self, path: &Path, holder: &str) -> Result<Option<Box<dyn Lock>>>;
}

/// Reads a whole file.
///
/// # Errors
/// Those of [`Storage::open`] and [`ReadFile::read_at`].
pub fn read_all(storage: &dyn Storage, path: &Path) -> Result<Vec<u8>> {
    let file = storage.open(path)?;
    let mut bytes = vec![0; usize::try_from(file.stat()?.len).unwrap_or(0)];
    let mut used = 0;
    loop {
        if used == bytes.len() {
            bytes.resize(used + 4096, 0);
        }
        let n = file.read_at(&mut bytes[used..], used as u64)?;
        if n == 0 {
            bytes.truncate(used);
            return Ok(bytes);
        }
        used += n;
    }
}

/// Removes what is at a path, of a directory everything in it; fine when there is nothing. A link is removed itself and
/// never followed: what it leads to is outside of the tree.
///
/// # Errors
/// Those of [`Storage::remove`], [`Storage::list`] and [`Storage::remove_dir`].
pub fn remove_tree(storage: &dyn Storage, path: &Path) -> Result<()> {
    // Only what refuses this is a directory: a listing says of a link what it leads to.
    match storage.remove(path) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::IsADirectory => {}
        Err(error) => return Err(error),
    }
    for entry in storage.list(path)? {
        let path = path.join(&entry.name);
        match entry.kind {
            Kind::Dir => remove_tree(storage, &path)?,
            Kind::File | Kind::Other => storage.remove(&path)?,
        }
    }
    storage.remove_dir(path)
}

/// Why a file cannot be cut to `len`.
fn too_short(present: u64, len: u64) -> std::io::Error {
    std::io::Error::new(
        std::io::ErrorKind::UnexpectedEof,
        format!("the file has {present} bytes, fewer than the {len} it must have"),
    )
}

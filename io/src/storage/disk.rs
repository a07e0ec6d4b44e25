//! The machine's files.
#![expect(clippy::disallowed_methods, reason = "this is the one place that touches the file system")]

use super::{Entry, Kind, Lock, ReadFile, Result, Stat, Storage, Syncer, WriteFile};
use crate::error::StorageError;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Local files, made durable by `fsync`.
///
/// Errors of the operating system (`ENOSPC`, `EROFS`, `EACCES`, …) come out unchanged as the source of the
/// [`StorageError`]. An interrupted [`Storage::publish`] may leave a file named `.<name>.<process>-<n>.tmp`; such files
/// mean nothing and may be removed by whoever owns the directory.
#[derive(Debug, Default)]
pub struct DiskStorage {
    /// Directories whose own name this process knows to be durable.
    known: Mutex<HashSet<PathBuf>>,
}

impl DiskStorage {
    /// The file system as this process sees it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Syncs the directory that holds `dir`, once for each `dir`.
    fn make_name_durable(&self, dir: &Path) -> Result<()> {
        if self.known.lock().contains(dir) {
            return Ok(());
        }
        match sync_dir(&parent(dir)) {
            // A directory that we may not read is somebody else's; it is theirs to keep.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
            other => other?,
        }
        self.known.lock().insert(dir.to_owned());
        Ok(())
    }
}

impl Storage for DiskStorage {
    fn create(&self, path: &Path) -> Result<Box<dyn WriteFile>> {
        let file = File::create_new(path).map_err(|e| StorageError::not_done("create", path, e))?;
        Ok(Box::new(DiskWriter::new(file, path)))
    }

    fn append(&self, path: &Path, len: u64) -> Result<Box<dyn WriteFile>> {
        let failed = |e| StorageError::not_done("open for appending", path, e);
        let mut file = OpenOptions::new().write(true).open(path).map_err(failed)?;
        let present = file.metadata().map_err(failed)?.len();
        if present < len {
            return Err(failed(super::too_short(present, len)));
        }
        if present > len {
            file.set_len(len).map_err(|e| StorageError::perhaps_done("truncate", path, e))?;
        }
        file.seek(SeekFrom::Start(len)).map_err(failed)?;
        Ok(Box::new(DiskWriter::new(file, path)))
    }

    fn open(&self, path: &Path) -> Result<Box<dyn ReadFile>> {
        let failed = |e| StorageError::not_done("open", path, e);
        // A pipe would otherwise wait here for somebody who writes.
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(failed(io::Error::new(ErrorKind::InvalidInput, "not a file")));
        }
        Ok(Box::new(DiskReader { file, path: path.to_owned() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        match rename_exclusive(from, to) {
            Err(error) if error.kind() == ErrorKind::Unsupported => rename_by_link(from, to),
            other => other.map_err(|e| StorageError::not_done("rename", from, e)),
        }
    }

    fn publish(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let (mut file, temp) = create_temporary(path)?;
        let written = file
            .write_all(bytes)
            .map_err(|e| StorageError::not_done("write", path, e))
            .and_then(|()| file.sync_all().map_err(|e| StorageError::not_done("sync", path, e)))
            .and_then(|()| fs::rename(&temp, path).map_err(|e| StorageError::not_done("publish", path, e)));
        if let Err(error) = written {
            // The first error is the one to report; a leftover is harmless.
            let _ = fs::remove_file(&temp);
            return Err(error);
        }
        sync_dir(&parent(path))
            .map_err(|e| StorageError { outcome: crate::error::Outcome::Indeterminate, ..e })
    }

    fn remove(&self, path: &Path) -> Result<()> {
        fs::remove_file(path).map_err(|error| {
            // Some systems say of a directory that removing it as a file is not permitted.
            let dir = error.kind() == ErrorKind::PermissionDenied
                && fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
            let error = if dir { ErrorKind::IsADirectory.into() } else { error };
            StorageError::not_done("remove", path, error)
        })
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.known.lock().remove(path);
        fs::remove_dir(path).map_err(|e| StorageError::not_done("remove directory", path, e))
    }

    /// Directories are made from the top down and each name is synced before the next is made; so after a crash at
    /// most the deepest one that exists may still be unsynced, and it is synced first.
    fn create_dir_all(&self, path: &Path) -> Result<()> {
        let failed = |at: &Path, e| StorageError::not_done("create directory", at, e);
        let mut missing = Vec::new();
        let mut at = path;
        loop {
            match fs::metadata(at) {
                Ok(found) if found.is_dir() => break,
                Ok(_) => return Err(failed(at, ErrorKind::NotADirectory.into())),
                Err(error) if error.kind() == ErrorKind::NotFound => missing.push(at),
                Err(error) => return Err(failed(at, error)),
            }
            match at.parent() {
                Some(above) if !above.as_os_str().is_empty() => at = above,
                _ => break,
            }
        }
        if missing.last() != Some(&at) {
            self.make_name_durable(at)?;
        }
        for dir in missing.into_iter().rev() {
            match fs::create_dir(dir) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                other => other.map_err(|e| failed(dir, e))?,
            }
            self.make_name_durable(dir)?;
        }
        Ok(())
    }

    fn list(&self, dir: &Path) -> Result<Vec<Entry>> {
        let failed = |e| StorageError::not_done("list", dir, e);
        let mut entries = Vec::new();
        for entry in fs::read_dir(dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let found = entry.file_type().map_err(failed)?;
            let kind = match found {
                t if t.is_symlink() => fs::metadata(entry.path()).map_or(Kind::Other, |found| kind(&found)),
                t if t.is_dir() => Kind::Dir,
                t if t.is_file() => Kind::File,
                _ => Kind::Other,
            };
            entries.push(Entry { name: entry.file_name(), kind, link: found.is_symlink() });
        }
        Ok(entries)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        sync_dir(dir)
    }

    fn stat(&self, path: &Path) -> Result<Stat> {
        fs::metadata(path).map(|found| stat(&found)).map_err(|e| StorageError::not_done("stat", path, e))
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf> {
        fs::canonicalize(path).map_err(|e| StorageError::not_done("resolve", path, e))
    }

    fn try_lock(&self, path: &Path, holder: &str) -> Result<Option<Box<dyn Lock>>> {
        let failed = |e| StorageError::not_done("lock", path, e);
        let mut file = loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let file = options.open(path).map_err(failed)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Ok(()) => {}
            }
            // Whoever held it may have removed the file since it was opened: then the lock is another file's.
            let locked = file.metadata().map_err(failed)?;
            match fs::metadata(path) {
                Ok(there) if (there.dev(), there.ino()) == (locked.dev(), locked.ino()) => break file,
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        };
        file.set_len(0).and_then(|()| file.write_all(holder.as_bytes())).map_err(failed)?;
        Ok(Some(Box::new(DiskLock { _file: file })))
    }
}

struct DiskReader {
    file: File,
    path: PathBuf,
}

impl ReadFile for DiskReader {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let mut used = 0;
        while used < buffer.len() {
            match self.file.read_at(&mut buffer[used..], offset + used as u64) {
                Ok(0) => break,
                Ok(n) => used += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(StorageError::not_done("read", &self.path, error)),
            }
        }
        Ok(used)
    }

    fn stat(&self) -> Result<Stat> {
        let found = self.file.metadata().map_err(|e| StorageError::not_done("stat", &self.path, e))?;
        Ok(stat(&found))
    }
}

struct DiskWriter {
    file: File,
    path: PathBuf,
    /// Set by a failed sync, here or in a syncer: the system may have dropped pages and reports that once only.
    poisoned: Arc<AtomicBool>,
}

impl DiskWriter {
    fn new(file: File, path: &Path) -> Self {
        Self { file, path: path.to_owned(), poisoned: Arc::default() }
    }
}

fn refuse_poisoned(poisoned: &AtomicBool, operation: &'static str, path: &Path) -> Result<()> {
    if poisoned.load(Ordering::Acquire) {
        let cause = io::Error::other("an earlier sync of this file failed, its content cannot be relied on");
        return Err(StorageError::perhaps_done(operation, path, cause));
    }
    Ok(())
}

fn sync_file(file: &File, poisoned: &AtomicBool, path: &Path) -> Result<()> {
    refuse_poisoned(poisoned, "sync", path)?;
    file.sync_data().map_err(|error| {
        poisoned.store(true, Ordering::Release);
        StorageError::perhaps_done("sync", path, error)
    })
}

impl WriteFile for DiskWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        refuse_poisoned(&self.poisoned, "write", &self.path)?;
        self.file.write_all(bytes).map_err(|e| StorageError::perhaps_done("write", &self.path, e))
    }

    fn sync(&mut self) -> Result<()> {
        sync_file(&self.file, &self.poisoned, &self.path)
    }

    fn syncer(&self) -> Result<Syncer> {
        refuse_poisoned(&self.poisoned, "sync", &self.path)?;
        let file = self.file.try_clone().map_err(|e| StorageError::not_done("sync", &self.path, e))?;
        let (poisoned, path) = (Arc::clone(&self.poisoned), self.path.clone());
        Ok(Box::new(move || sync_file(&file, &poisoned, &path)))
    }
}

/// The operating system's lock belongs to the open file and goes with it.
struct DiskLock {
    _file: File,
}

impl Lock for DiskLock {}

fn kind(found: &Metadata) -> Kind {
    if found.is_file() {
        Kind::File
    } else if found.is_dir() {
        Kind::Dir
    } else {
        Kind::Other
    }
}

fn stat(found: &Metadata) -> Stat {
    Stat { kind: kind(found), len: found.len(), inode: found.ino() }
}

/// The directory that holds `path`; the current one for a bare name.
fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir.to_owned(),
        Some(_) => PathBuf::from("."),
        None => path.to_owned(),
    }
}

fn sync_dir(dir: &Path) -> Result<()> {
    let file = File::open(dir).map_err(|e| StorageError::not_done("open directory", dir, e))?;
    match file.sync_all() {
        // Some network and user-space file systems cannot sync a directory: their names are durable by themselves,
        // or never.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        other => other.map_err(|e| StorageError::perhaps_done("sync directory", dir, e)),
    }
}

/// A new file beside `path` that readers of the directory leave alone.
fn create_temporary(path: &Path) -> Result<(File, PathBuf)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let failed = |e| StorageError::not_done("create", path, e);
    let name = path.file_name().ok_or_else(|| failed(ErrorKind::InvalidFilename.into()))?;
    loop {
        let mut temp = OsString::from(".");
        temp.push(name);
        temp.push(format!(".{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        let temp = path.with_file_name(temp);
        match File::create_new(&temp) {
            // Left by an earlier process of the same number.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            other => return other.map(|file| (file, temp)).map_err(failed),
        }
    }
}

#[cfg(target_os = "linux")]
fn rename_exclusive(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(|errno| match errno {
        // What file systems answer that do not know the flag.
        Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP => ErrorKind::Unsupported.into(),
        other => other.into(),
    })
}

#[cfg(not(target_os = "linux"))]
fn rename_exclusive(_from: &Path, _to: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Gives the file its second name, which fails when that exists, then takes the first one away. A crash in between
/// leaves both names on one file; doing it again then only takes the first one away.
fn rename_by_link(from: &Path, to: &Path) -> Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && is_same_file(from, to) => {}
        other => other.map_err(|e| StorageError::not_done("rename", from, e))?,
    }
    fs::remove_file(from).map_err(|e| StorageError::perhaps_done("rename", from, e))
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    match (fs::symlink_metadata(a), fs::symlink_metadata(b)) {
        (Ok(a), Ok(b)) => a.is_file() && a.ino() == b.ino() && a.dev() == b.dev(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;

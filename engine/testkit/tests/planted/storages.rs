//! Storages that do not do what they say.

use crate::found_in;
use millstream::storage::{Entry, Lock, MemoryStorage, ReadFile, Stat, Storage, Syncer, WriteFile, read_all};
use millstream_io::error::StorageError;
use millstream_testkit::campaign::Campaign;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Result<T> = std::result::Result<T, StorageError>;

/// What a storage leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    Nothing,
    /// Content is not synced.
    Sync,
    /// Names are not synced.
    SyncDir,
    /// What is published is written in place, and not synced.
    Publish,
    /// What is renamed is copied, in two steps.
    Rename,
    /// A file that is opened for appending is not cut.
    Cut,
}

struct Liar(MemoryStorage, Lie);

pub(crate) fn honest(disk: MemoryStorage) -> Arc<dyn Storage> {
    Arc::new(Liar(disk, Lie::Nothing))
}

impl Storage for Liar {
    fn create(&self, path: &Path) -> Result<Box<dyn WriteFile>> {
        Ok(Box::new(LiarFile(self.0.create(path)?, self.1)))
    }

    fn append(&self, path: &Path, len: u64) -> Result<Box<dyn WriteFile>> {
        let len = if self.1 == Lie::Cut { self.0.stat(path)?.len } else { len };
        Ok(Box::new(LiarFile(self.0.append(path, len)?, self.1)))
    }

    fn open(&self, path: &Path) -> Result<Box<dyn ReadFile>> {
        self.0.open(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        if self.1 != Lie::Rename {
            return self.0.rename(from, to);
        }
        let bytes = read_all(&self.0, from)?;
        self.0.create(to)?.append(&bytes)?;
        self.0.remove(from)
    }

    fn publish(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        if self.1 != Lie::Publish {
            return self.0.publish(path, bytes);
        }
        if self.0.stat(path).is_ok() {
            self.0.remove(path)?;
        }
        self.0.create(path)?.append(bytes)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.0.remove(path)
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.0.remove_dir(path)
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        self.0.create_dir_all(path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<Entry>> {
        self.0.list(dir)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        if self.1 == Lie::SyncDir { Ok(()) } else { self.0.sync_dir(dir) }
    }

    fn stat(&self, path: &Path) -> Result<Stat> {
        self.0.stat(path)
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf> {
        self.0.canonical(path)
    }

    fn try_lock(&self, path: &Path, holder: &str) -> Result<Option<Box<dyn Lock>>> {
        self.0.try_lock(path, holder)
    }
}

struct LiarFile(Box<dyn WriteFile>, Lie);

impl WriteFile for LiarFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.append(bytes)
    }

    fn sync(&mut self) -> Result<()> {
        if self.1 == Lie::Sync { Ok(()) } else { self.0.sync() }
    }

    fn syncer(&self) -> Result<Syncer> {
        if self.1 == Lie::Sync { Ok(Box::new(|| Ok(()))) } else { self.0.syncer() }
    }
}

#[test]
fn planted_a_sync_that_does_nothing() {
    found_in(&Campaign::new().storage(|disk| Arc::new(Liar(disk, Lie::Sync))), 500);
}

#[test]
fn planted_a_directory_sync_that_does_nothing() {
    found_in(&Campaign::new().storage(|disk| Arc::new(Liar(disk, Lie::SyncDir))), 500);
}

#[test]
fn planted_a_publication_that_is_not_atomic() {
    found_in(&Campaign::new().storage(|disk| Arc::new(Liar(disk, Lie::Publish))), 500);
}

#[test]
fn planted_a_rename_that_is_a_copy() {
    found_in(&Campaign::new().storage(|disk| Arc::new(Liar(disk, Lie::Rename))), 500);
}

#[test]
fn planted_a_file_that_is_not_cut() {
    found_in(&Campaign::new().storage(|disk| Arc::new(Liar(disk, Lie::Cut))), 500);
}

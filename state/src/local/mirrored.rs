//! A storage of checkpoints whose files have copies elsewhere.

use super::LocalCopies;
use millstream_io::storage::{Entry, Lock, ReadFile, Result, Stat, Storage, Syncer, WriteFile};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Does everything to a storage, and what concerns data files of the job to their [copies](LocalCopies), too. All answers are
/// the storage's own.
pub struct Mirrored {
    main: Arc<dyn Storage>,
    copies: Arc<LocalCopies>,
}

impl Mirrored {
    /// `main` with copies of what is written there from now on.
    pub fn new(main: Arc<dyn Storage>, copies: Arc<LocalCopies>) -> Self {
        Self { main, copies }
    }

    fn new_copy(&self, path: &Path) -> Option<Copy> {
        let place = self.copies.place_of(path)?;
        let storage = &self.copies.storage;
        let made = place.parent().map_or(Ok(()), |dir| storage.create_dir_all(dir)).and_then(|()| {
            // Of an attempt that died.
            let _ = storage.remove(&place);
            storage.create(&place)
        });
        match made {
            // Nobody would remove it.
            Ok(_) if self.copies.is_over() => {
                self.copies.forget_new(path);
                None
            }
            Ok(file) => Some(Copy { copies: self.copies.clone(), of: path.to_owned(), file }),
            Err(error) => {
                (self.copies.tell)(&format!("no copy is made of {}: {error}", path.display()));
                None
            }
        }
    }
}

impl Storage for Mirrored {
    fn create(&self, path: &Path) -> Result<Box<dyn WriteFile>> {
        // First, so that whoever finds the file, to remove it, finds its copy.
        let copy = self.new_copy(path);
        match self.main.create(path) {
            Ok(file) if copy.is_none() => Ok(file),
            Ok(file) => Ok(Box::new(Both { file, copy })),
            Err(error) => {
                if copy.is_some() {
                    self.copies.forget_new(path);
                }
                Err(error)
            }
        }
    }

    fn append(&self, path: &Path, len: u64) -> Result<Box<dyn WriteFile>> {
        self.copies.forget(path);
        self.main.append(path, len)
    }

    fn open(&self, path: &Path) -> Result<Box<dyn ReadFile>> {
        self.main.open(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.main.rename(from, to)?;
        if let (Some(here), Some(there)) = (self.copies.place_of(from), self.copies.place_of(to)) {
            let _ = self.copies.storage.remove(&there);
            if self.copies.storage.rename(&here, &there).is_err() {
                let _ = self.copies.storage.remove(&here);
            }
            if self.copies.is_over() {
                self.copies.forget(to);
            }
        }
        Ok(())
    }

    fn publish(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.main.publish(path, bytes)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        // First, so that a copy is never of what is not there.
        self.copies.forget(path);
        self.main.remove(path)
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        // Of a directory itself there is no copy, but it is where those of its files are.
        if let Some(dir) = self.copies.place_of(&path.join("-")).as_deref().and_then(Path::parent) {
            let _ = self.copies.storage.remove_dir(dir);
        }
        self.main.remove_dir(path)
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        self.main.create_dir_all(path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<Entry>> {
        self.main.list(dir)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.main.sync_dir(dir)
    }

    fn stat(&self, path: &Path) -> Result<Stat> {
        self.main.stat(path)
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf> {
        self.main.canonical(path)
    }

    fn try_lock(&self, path: &Path, holder: &str) -> Result<Option<Box<dyn Lock>>> {
        self.main.try_lock(path, holder)
    }
}

/// A copy that is being written.
struct Copy {
    copies: Arc<LocalCopies>,
    of: PathBuf,
    file: Box<dyn WriteFile>,
}

/// A file and its copy.
struct Both {
    file: Box<dyn WriteFile>,
    copy: Option<Copy>,
}

impl WriteFile for Both {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.append(bytes)?;
        if let Some(copy) = &mut self.copy
            && let Err(error) = copy.file.append(bytes)
        {
            (copy.copies.tell)(&format!("no copy is made of {}: {error}", copy.of.display()));
            copy.copies.forget(&copy.of);
            self.copy = None;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync()
    }

    fn syncer(&self) -> Result<Syncer> {
        self.file.syncer()
    }
}

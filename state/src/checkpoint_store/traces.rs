//! What a start has made before it was certain, to be taken away again when it is refused.

use millstream_io::storage::{Result, Storage};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Directories and the lock file that were not there before; dropped, they go, unless somebody else uses them by then.
pub(super) struct Traces {
    storage: Arc<dyn Storage>,
    /// From the top down.
    dirs: Vec<PathBuf>,
    lock: Option<PathBuf>,
}

impl Traces {
    pub(super) fn new(storage: Arc<dyn Storage>) -> Self {
        Self { storage, dirs: Vec::new(), lock: None }
    }

    /// Makes a directory and those above it.
    pub(super) fn make(&mut self, dir: &Path) -> Result<()> {
        let missing = |dir: &&Path| {
            !dir.as_os_str().is_empty()
                && self.storage.stat(dir).is_err_and(|error| error.kind() == ErrorKind::NotFound)
        };
        let mut made: Vec<_> = dir.ancestors().take_while(missing).map(Path::to_owned).collect();
        made.reverse();
        self.dirs.extend(made);
        self.storage.create_dir_all(dir)
    }

    /// The lock file is this start's, which holds the lock: nobody who comes later can take a file for the lock that goes
    /// while it is held ([`Storage::try_lock`]).
    pub(super) fn locked(&mut self, path: PathBuf) {
        self.lock = Some(path);
    }

    /// The start is certain, or somebody else has started: all of it stays.
    pub(super) fn keep(&mut self) {
        self.dirs.clear();
        self.lock = None;
    }
}

impl Drop for Traces {
    /// What does not go stays; the refusal is what there is to report.
    fn drop(&mut self) {
        if let Some(lock) = &self.lock {
            let _ = self.storage.remove(lock);
        }
        for dir in self.dirs.iter().rev() {
            // Only an empty one goes.
            let _ = self.storage.remove_dir(dir);
        }
    }
}

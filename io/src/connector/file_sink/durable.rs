//! Making files durable in the background: what one checkpoint did not manage the next one does.

use crate::error::{ConnectorError, Outcome, StorageError};
use crate::sink::DurableWork;
use crate::storage::{Storage, Syncer, WriteFile};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A closed file that has to be synced once, by whichever checkpoint's work comes first.
pub(super) struct Unsynced(Mutex<State>);

enum State {
    Waiting(Box<dyn WriteFile>),
    Done,
    /// A sync failed: what is on disk is unknown, and asking again could answer "fine" (habit 10).
    Failed(String),
}

impl Unsynced {
    pub fn new(file: Box<dyn WriteFile>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State::Waiting(file))))
    }

    pub fn is_done(&self) -> bool {
        matches!(*self.0.lock(), State::Done)
    }

    /// Why the file can never become durable, if so.
    pub fn failure(&self) -> Option<String> {
        match &*self.0.lock() {
            State::Failed(cause) => Some(cause.clone()),
            State::Waiting(_) | State::Done => None,
        }
    }

    /// Syncs the file unless that is done. Whoever comes meanwhile waits for the outcome.
    pub fn sync(&self) -> Result<(), ConnectorError> {
        let mut state = self.0.lock();
        match &mut *state {
            State::Done => Ok(()),
            State::Failed(cause) => Err(failed_before(cause)),
            State::Waiting(file) => match file.sync() {
                Ok(()) => {
                    *state = State::Done;
                    Ok(())
                }
                Err(error) => {
                    if error.outcome == Outcome::Indeterminate {
                        *state = State::Failed(error.to_string());
                    }
                    Err(error.into())
                }
            },
        }
    }
}

/// The error of everything that comes after a failed sync.
pub(super) fn failed_before(cause: &str) -> ConnectorError {
    let cause = format!("{cause}; a failed sync is not tried again");
    ConnectorError::new(crate::error::Class::Restart, "sync", "an output file", cause)
}

/// The names in the output directory: how many changes were made to them, and how many are durable.
#[derive(Debug, Default)]
pub(super) struct Names {
    changed: AtomicU64,
    durable: AtomicU64,
}

impl Names {
    /// Notes a change that was just made.
    pub fn change(&self) {
        self.changed.fetch_add(1, Ordering::AcqRel);
    }

    /// Changes up to this one cannot be taken back.
    fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    fn changed(&self) -> u64 {
        self.changed.load(Ordering::Acquire)
    }
}

/// The output directory, as one subtask has changed it.
#[derive(Clone)]
pub(super) struct Directory {
    pub storage: Arc<dyn Storage>,
    pub path: PathBuf,
    pub names: Arc<Names>,
}

impl Directory {
    /// Whether changes of names wait to be made durable.
    pub fn is_dirty(&self) -> bool {
        self.names.durable() < self.names.changed()
    }

    /// Makes all changes so far durable.
    pub fn sync(&self) -> Result<(), StorageError> {
        let changed = self.names.changed();
        if self.names.durable() < changed {
            self.storage.sync_dir(&self.path)?;
            self.names.durable.fetch_max(changed, Ordering::AcqRel);
        }
        Ok(())
    }
}

/// Durable bytes of the file that is being written.
pub(super) struct Prefix {
    pub syncer: Syncer,
    pub len: u64,
    pub durable: Arc<AtomicU64>,
}

/// What has to become durable before a checkpoint may rely on it.
pub(super) struct Debts {
    pub files: Vec<Arc<Unsynced>>,
    pub prefix: Option<Prefix>,
    pub directory: Option<Directory>,
}

impl Debts {
    /// The work that pays them: content first, then the names; none when nothing is owed.
    pub fn work(self) -> Option<DurableWork> {
        if self.files.is_empty() && self.prefix.is_none() && self.directory.is_none() {
            return None;
        }
        Some(Box::new(move || {
            for file in &self.files {
                file.sync()?;
            }
            if let Some(Prefix { syncer, len, durable }) = self.prefix {
                syncer()?;
                durable.fetch_max(len, Ordering::AcqRel);
            }
            if let Some(directory) = &self.directory {
                directory.sync()?;
            }
            Ok(())
        }))
    }
}

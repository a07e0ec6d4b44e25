//! What a simulation found.

use crate::coverage::Coverage;
use millstream::Summary;
use millstream_io::clock::Moment;
use millstream_io::storage::{Kind, MemoryStorage, Storage, read_all};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// Something that must not happen in any run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Violation {
    /// Nobody has anything to do, nothing is due, and the job has not ended.
    Stuck {
        /// The virtual time.
        at: Moment,
    },
    /// The run does not end.
    Endless {
        /// Steps after which it was given up.
        steps: u64,
    },
    /// The supervisor says that it is done and has no outcome.
    NoOutcome,
    /// The job has ended, and somebody who asked for a checkpoint has got no answer.
    Unanswered,
    /// Somebody was told of a checkpoint that is not there.
    NoCheckpoint {
        /// Where it should be.
        path: PathBuf,
    },
    /// What is left between two processes is wrong, as whoever watches the run says.
    Left {
        /// What is wrong.
        what: String,
    },
    /// The shared files are not those that the checkpoints name.
    Shared {
        /// What is wrong.
        what: String,
    },
    /// The job failed although the fault was one that it must survive.
    Failed {
        /// The job's error.
        error: String,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stuck { at } => write!(f, "stuck at {at:?}: nothing to do and nothing due"),
            Self::Endless { steps } => write!(f, "not done after {steps} steps"),
            Self::NoOutcome => f.write_str("done without an outcome"),
            Self::Unanswered => f.write_str("a request for a checkpoint was not answered"),
            Self::NoCheckpoint { path } => write!(f, "told of {}, which is not there", path.display()),
            Self::Shared { what } => write!(f, "shared files: {what}"),
            Self::Left { what } => write!(f, "left between two processes: {what}"),
            Self::Failed { error } => write!(f, "the job failed: {error}"),
        }
    }
}

impl std::error::Error for Violation {}

/// A run that came to its end.
pub struct Run {
    /// What the last process said; nothing when it died after the job's end was on record, before it could say so.
    pub summary: Option<Summary>,
    /// The disk as it is left.
    pub storage: MemoryStorage,
    /// What happened.
    pub coverage: Coverage,
    /// Storage operations of the last process.
    pub(crate) last_operations: u64,
    /// Checkpoints that belong to the user: kept at a stop, or of a line that a start from a path has left.
    pub(crate) kept: BTreeSet<String>,
    /// Whether the last process met no failing operation and no power cut: nothing excuses what it leaves behind.
    pub(crate) clean: bool,
}

impl Run {
    /// All lines of the visible files below `dir`, sorted: what a reader of the output sees, as a multiset.
    pub fn lines(&self, dir: impl AsRef<Path>) -> Vec<String> {
        lines(&self.storage, dir.as_ref())
    }

    /// Names of hidden files in and below `dir`: work in progress that should not outlive the job.
    pub fn hidden(&self, dir: impl AsRef<Path>) -> Vec<String> {
        let mut names = Vec::new();
        hidden(&self.storage, dir.as_ref(), &mut names);
        names
    }
}

fn hidden(storage: &MemoryStorage, dir: &Path, names: &mut Vec<String>) {
    for entry in storage.list(dir).unwrap_or_default() {
        let name = entry.name.to_string_lossy().into_owned();
        if entry.kind == Kind::Dir {
            hidden(storage, &dir.join(name), names);
        } else if name.starts_with('.') {
            names.push(name);
        }
    }
}

/// All lines of the visible files below `dir`, sorted.
pub(crate) fn lines(storage: &MemoryStorage, dir: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    collect(storage, dir, &mut lines);
    lines.sort_unstable();
    lines
}

fn collect(storage: &MemoryStorage, dir: &Path, lines: &mut Vec<String>) {
    for entry in storage.list(dir).unwrap_or_default() {
        let name = entry.name.to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        let path = dir.join(&*name);
        match entry.kind {
            Kind::Dir => collect(storage, &path, lines),
            _ => {
                let bytes = read_all(storage, &path).unwrap_or_default();
                lines.extend(String::from_utf8_lossy(&bytes).lines().map(str::to_owned));
            }
        }
    }
}

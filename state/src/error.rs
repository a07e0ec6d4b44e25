//! What can go wrong with state: each error names the operation, the thing at fault, the cause, and a remedy where
//! there is one.

mod format;

use crate::assign::Mismatch;
use crate::keyed::RestoreError;
use crate::processor::NotFound;
use crate::recovery::Refusal;
use crate::savepoint::SavepointFault;
use millstream_io::error::{Class, ConnectorError, StorageError};
use millstream_io::id::CheckpointId;
use millstream_io::record::SchemaError;
use std::fmt;
use std::path::{Path, PathBuf};

pub use format::FormatError;

/// Something about state failed: `<what failed>: <thing at fault>: <cause>`, and perhaps a hint.
#[derive(Debug)]
#[non_exhaustive]
pub enum StateError {
    /// An operation of the storage.
    Storage(StorageError),
    /// The checkpoint directory cannot be used at all (MS-009).
    Unusable(StorageError),
    /// There is no snapshot at a path (ER-05).
    NoSnapshot {
        /// The path.
        path: PathBuf,
        /// What was tried.
        source: StorageError,
    },
    /// A data file of a snapshot cannot be opened or read (ER-22).
    DataFile {
        /// The snapshot.
        snapshot: PathBuf,
        /// The operation, the file and the cause.
        source: StorageError,
    },
    /// A file of a snapshot is damaged, cut off, of a newer release, or something else altogether (ER-06).
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: FormatError,
    },
    /// The entries of a keyed state in a file are not those of the program's types, although the checksum is right.
    Entries {
        /// The file.
        path: PathBuf,
        /// What is wrong with them.
        source: RestoreError,
    },
    /// The lineage file is damaged.
    Lineage {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: FormatError,
    },
    /// Another process runs the job (MS-074).
    InUse {
        /// The lock file.
        path: PathBuf,
        /// Who holds it, as far as the file says.
        holder: String,
    },
    /// Late work for a job that has ended: its directory belongs to whoever starts next.
    Released {
        /// The job's directory.
        dir: PathBuf,
    },
    /// A checkpoint was to be begun or discarded under the number of a completed one.
    Completed {
        /// Its directory.
        path: PathBuf,
    },
    /// The type of a state cannot be described in a checkpoint.
    Schema {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// Why not.
        source: SchemaError,
    },
    /// Metadata to be published names a file that is not there as it should be.
    Incomplete {
        /// The file.
        path: PathBuf,
        /// Length that it should have.
        expected: u64,
        /// Length that it has.
        found: u64,
    },
    /// It is not known whether a checkpoint was published, and it could not be taken back.
    Unsettled {
        /// Its directory.
        path: PathBuf,
        /// Why it could not be taken back.
        source: StorageError,
    },
    /// The start is refused.
    Refused(Refusal),
    /// A snapshot does not fit the program.
    Mismatch(Mismatch),
    /// A snapshot has no operator or state of a name.
    NotFound(NotFound),
    /// A savepoint cannot be made or disposed of, or state not be read without its program.
    Savepoint(SavepointFault),
}

/// Whether a file that should be there is gone or has become something else, which no second try mends.
pub(crate) fn is_damage(error: &StorageError) -> bool {
    use std::io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | IsADirectory)
}

/// An error in the parts that a message is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// What failed, in a few words.
    pub what: String,
    /// The thing at fault.
    pub at: String,
    /// Why.
    pub cause: String,
}

impl Parts {
    pub(crate) fn new(what: impl Into<String>, at: impl fmt::Display, cause: impl fmt::Display) -> Self {
        Self { what: what.into(), at: at.to_string(), cause: cause.to_string() }
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.what, self.at, self.cause)
    }
}

impl StateError {
    /// A data file of the snapshot in directory `snapshot` could not be opened or read.
    pub(crate) fn data_file(snapshot: &Path, source: StorageError) -> Self {
        Self::DataFile { snapshot: snapshot.to_owned(), source }
    }

    /// What the error means for the job.
    pub fn class(&self) -> Class {
        match self {
            Self::Storage(_) | Self::Incomplete { .. } | Self::Released { .. } => Class::Restart,
            // A disk that cannot be read at the moment says nothing about the checkpoint (ruling 8).
            Self::DataFile { source, .. } if !is_damage(source) => Class::Restart,
            Self::Completed { .. } | Self::Unsettled { .. } => Class::Fatal,
            Self::Schema { .. } => Class::Data,
            Self::Unusable(_)
            | Self::NoSnapshot { .. }
            | Self::DataFile { .. }
            | Self::Damaged { .. }
            | Self::Entries { .. }
            | Self::Lineage { .. }
            | Self::InUse { .. }
            | Self::Refused(_)
            | Self::Mismatch(_)
            | Self::Savepoint(_)
            | Self::NotFound(_) => Class::Refuse,
        }
    }

    /// The message in its parts.
    pub fn parts(&self) -> Parts {
        match self {
            Self::Storage(e) => Parts::new(e.operation, e.path.display(), &e.source),
            Self::Unusable(e) => Parts::new(
                format!("use the checkpoint directory ({})", e.operation),
                e.path.display(),
                &e.source,
            ),
            Self::NoSnapshot { path, source } => Parts::new(
                "restore",
                path.display(),
                format_args!(
                    "no valid snapshot there ({} {}: {})",
                    source.operation,
                    source.path.display(),
                    source.source
                ),
            ),
            Self::DataFile { snapshot, source } => Parts::new(
                format!("restore from snapshot {}", snapshot.display()),
                source.path.display(),
                format_args!("cannot {} this file of it: {}", source.operation, source.source),
            ),
            Self::Damaged { path, source } => {
                Parts::new("restore", path.display(), format_args!("damaged: {source}"))
            }
            Self::Entries { path, source } => Parts::new("restore", path.display(), source),
            Self::Lineage { path, source } => {
                Parts::new("read the lineage", path.display(), format_args!("damaged: {source}"))
            }
            Self::InUse { path, holder } => {
                Parts::new("lock the checkpoint directory", path.display(), format_args!("held by {holder}"))
            }
            Self::Released { dir } => Parts::new("take a checkpoint", dir.display(), "the job has ended"),
            Self::Completed { path } => Parts::new(
                "begin a checkpoint",
                path.display(),
                "a completed checkpoint is there, and is never overwritten",
            ),
            Self::Schema { checkpoint, source } => {
                Parts::new("describe the types of the state", format_args!("checkpoint {checkpoint}"), source)
            }
            Self::Incomplete { path, expected, found } => Parts::new(
                "publish a checkpoint",
                path.display(),
                format_args!("the file has {found} bytes instead of {expected}"),
            ),
            Self::Unsettled { path, source } => Parts::new(
                "take back a checkpoint that was perhaps published",
                path.display(),
                format_args!("{source}"),
            ),
            Self::Refused(refusal) => refusal.parts(),
            Self::Mismatch(mismatch) => mismatch.parts(),
            Self::Savepoint(fault) => fault.parts(),
            Self::NotFound(missing) => missing.parts(),
        }
    }

    /// What the user may do, where there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Refused(refusal) => refusal.hint(),
            Self::Mismatch(mismatch) => mismatch.hint(),
            Self::Savepoint(fault) => fault.hint(),
            Self::NotFound(missing) => missing.hint(),
            Self::Unusable(_) => Some(
                "name a directory that this user may write to with `execution.checkpointing.dir`".to_owned(),
            ),
            Self::NoSnapshot { .. } => Some(
                "name the directory of a checkpoint or savepoint, or the `_metadata` file in it".to_owned(),
            ),
            Self::InUse { .. } => {
                Some("stop the other process first, or use another job name (`--name`)".to_owned())
            }
            Self::Lineage { path, .. } => Some(format!(
                "move {} away, then go on from a checkpoint with `-s PATH` or begin without state with `--fresh`",
                path.display()
            )),
            _ => None,
        }
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts().fmt(f)
    }
}

impl std::error::Error for StateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Storage(source)
            | Self::Unusable(source)
            | Self::NoSnapshot { source, .. }
            | Self::DataFile { source, .. }
            | Self::Unsettled { source, .. } => Some(source),
            Self::Damaged { source, .. } | Self::Lineage { source, .. } => Some(source),
            Self::Entries { source, .. } => Some(source),
            Self::Schema { source, .. } => Some(source),
            Self::Refused(refusal) => refusal.cause().map(|cause| cause as _),
            Self::InUse { .. }
            | Self::Released { .. }
            | Self::Completed { .. }
            | Self::Incomplete { .. }
            | Self::Mismatch(_)
            | Self::Savepoint(_)
            | Self::NotFound(_) => None,
        }
    }
}

impl From<StorageError> for StateError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl From<Refusal> for StateError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<NotFound> for StateError {
    fn from(missing: NotFound) -> Self {
        Self::NotFound(missing)
    }
}

impl From<SavepointFault> for StateError {
    fn from(fault: SavepointFault) -> Self {
        Self::Savepoint(fault)
    }
}

impl From<Mismatch> for StateError {
    fn from(mismatch: Mismatch) -> Self {
        Self::Mismatch(mismatch)
    }
}

impl From<StateError> for ConnectorError {
    fn from(error: StateError) -> Self {
        let (class, hint) = (error.class(), error.hint());
        let Parts { what, at, cause } = error.parts();
        Self { what, at, cause: cause.into(), hint, class }
    }
}

//! Why a start is refused, with what the user can do about it.

use crate::error::{Parts, StateError};
use std::path::PathBuf;

/// A start that is refused: nothing was created or deleted.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// There are checkpoints, but the record of which line is current is gone.
    LineageMissing {
        /// The file that is missing.
        lineage: PathBuf,
        /// The newest completed checkpoint.
        newest: PathBuf,
    },
    /// A checkpoint of the line was completed, and neither it nor a newer one is there: others have deleted it (MS-020).
    Gone {
        /// Where it was.
        dir: PathBuf,
        /// The newest older checkpoint of the line.
        older: Option<PathBuf>,
    },
    /// The newest checkpoint of the line fails verification (ruling 1).
    DamagedNewest {
        /// What is wrong; names the file.
        cause: Box<StateError>,
        /// The newest older checkpoint of the line that is intact.
        older: Option<PathBuf>,
    },
    /// An older retained checkpoint of the line is damaged, so that it is not known which uncommitted output it names.
    DamagedOlder {
        /// What is wrong; names the file.
        cause: Box<StateError>,
        /// What the start goes on from, which is intact.
        intact: PathBuf,
    },
    /// The snapshot that the job would go on from by itself is gone or damaged: what it was stopped with, or what
    /// its line began with.
    Base {
        /// What is wrong; names the file.
        cause: Box<StateError>,
    },
    /// A checkpoint in the job's directory was not taken by this job, or not under this number.
    Foreign {
        /// The checkpoint.
        dir: PathBuf,
        /// What does not fit.
        why: String,
    },
    /// Another process started the job between the look at its directory and the lock.
    Overtaken {
        /// The job's directory.
        dir: PathBuf,
    },
}

impl Refusal {
    /// The message in its parts.
    pub fn parts(&self) -> Parts {
        match self {
            Self::LineageMissing { lineage, .. } => Parts::new(
                "resume",
                lineage.display(),
                "the file is missing although there are completed checkpoints, so it is not known which one the job \
                 would go on from",
            ),
            Self::Gone { dir, .. } => Parts::new(
                "resume",
                dir.display(),
                "the checkpoint was completed, and neither its _metadata nor that of a newer one is there, so the job \
                 cannot go on where it was",
            ),
            Self::DamagedNewest { cause, .. } | Self::DamagedOlder { cause, .. } | Self::Base { cause } => {
                cause.parts()
            }
            Self::Foreign { dir, why } => Parts::new("resume", dir.display(), why),
            Self::Overtaken { dir } => {
                Parts::new("start", dir.display(), "another process has started this job in the meantime")
            }
        }
    }

    /// The error that it comes from, where there is one.
    pub fn cause(&self) -> Option<&StateError> {
        match self {
            Self::DamagedNewest { cause, .. } | Self::DamagedOlder { cause, .. } | Self::Base { cause } => {
                Some(cause)
            }
            Self::LineageMissing { .. }
            | Self::Gone { .. }
            | Self::Foreign { .. }
            | Self::Overtaken { .. } => None,
        }
    }

    /// What the user may do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::LineageMissing { newest, .. } => Some(format!(
                "go on from the newest one with `-s {}`, or begin without state with `--fresh`",
                newest.display()
            )),
            Self::DamagedNewest { older: Some(older), .. } | Self::Gone { older: Some(older), .. } => Some(format!(
                "go on from the checkpoint before it with `-s {}`; output after that checkpoint may repeat, because \
                 files of the newer one are already committed",
                older.display()
            )),
            Self::DamagedOlder { intact, .. } => Some(format!(
                "the newest checkpoint is intact: go on from it with `-s {}`, in a new line that needs no older ones",
                intact.display()
            )),
            Self::DamagedNewest { older: None, .. } | Self::Gone { older: None, .. } | Self::Base { .. } => Some(
                "go on from another snapshot with `-s PATH`, or begin without state with `--fresh`; output that is \
                 already committed may repeat"
                    .to_owned(),
            ),
            Self::Foreign { .. } => {
                Some("use another `execution.checkpointing.dir`, or another job name (`--name`)".to_owned())
            }
            Self::Overtaken { .. } => None,
        }
    }
}

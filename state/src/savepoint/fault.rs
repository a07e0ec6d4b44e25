//! Why a savepoint cannot be made of a snapshot, or state not be read without its program.

use crate::descriptor::{BackendName, StateDescriptor};
use crate::error::Parts;
use crate::metadata::OperatorState;
use millstream_io::record::ShapeError;
use std::path::PathBuf;

/// See the module page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SavepointFault {
    /// There is something where the savepoint is to be.
    Exists {
        /// Its directory.
        path: PathBuf,
    },
    /// A checkpoint was to be disposed of, which belongs to its job.
    Checkpoint {
        /// Its directory.
        path: PathBuf,
    },
    /// The snapshot has records that were in flight, which belong to the graph and the exchanges of one program.
    InFlight {
        /// The snapshot.
        snapshot: PathBuf,
        /// The operators before which they were.
        operators: Vec<String>,
    },
    /// The types of a state say too little of how its entries are told apart.
    Type {
        /// The state and its operator.
        state: String,
        /// What is not known.
        cause: ShapeError,
    },
    /// A state is kept by a backend of a program's own, whose form nobody else knows.
    Own {
        /// The state and its operator.
        state: String,
        /// The backend.
        backend: BackendName,
    },
}

/// How a person calls a state.
pub(crate) fn label(operator: &OperatorState, state: &StateDescriptor) -> String {
    format!("state {:?} of {}", state.name, operator.label())
}

impl SavepointFault {
    /// The message in its parts.
    pub fn parts(&self) -> Parts {
        match self {
            Self::Exists { path } => {
                Parts::new("write a savepoint", path.display(), "something of this name is there already")
            }
            Self::Checkpoint { path } => Parts::new(
                "dispose of a savepoint",
                path.display(),
                "it is a checkpoint, which belongs to its job",
            ),
            Self::InFlight { snapshot, operators } => Parts::new(
                "make a savepoint",
                snapshot.display(),
                format_args!(
                    "it is of an unaligned checkpoint, which has records in flight before {}",
                    operators.join(", ")
                ),
            ),
            Self::Type { state, cause } => Parts::new("read state without its program", state, cause),
            Self::Own { state, backend } => Parts::new(
                "read state without its program",
                state,
                format_args!("the form of the backend {backend} is its program's own"),
            ),
        }
    }

    /// What the user may do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Exists { .. } => Some("name another directory".to_owned()),
            Self::Checkpoint { .. } => None,
            Self::InFlight { .. } => Some("take an aligned checkpoint or a savepoint of the job".to_owned()),
            Self::Type { .. } | Self::Own { .. } => Some(
                "a native savepoint has this state as it is, for the program and backend that wrote it"
                    .to_owned(),
            ),
        }
    }
}

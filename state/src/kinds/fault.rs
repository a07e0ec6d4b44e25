//! What a state could not do.

use crate::paged::PagedFault;
use millstream_io::record::DecodeError;
use thiserror::Error;

/// A change that was not made. All else is as it was: it can be read, and be part of a snapshot; but a job whose state lacks
/// a change must not go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StateFault {
    /// The backend does not take it.
    #[error("state {state:?}, key with hash {key:#018x}: {source}")]
    Backend {
        /// The state's name.
        state: String,
        /// Hash of the key.
        key: u64,
        /// Why not.
        source: PagedFault,
    },
    /// A list has no room for another element (MS-028).
    #[error(
        "state {state:?}, key with hash {key:#018x}: with {more} bytes more its list has {bytes}, and {most} is the \
         most: clear it earlier, or spread it over keys or namespaces"
    )]
    ListTooLong {
        /// The state's name.
        state: String,
        /// Hash of the key.
        key: u64,
        /// Bytes that the element takes.
        more: u64,
        /// Bytes that the list would have.
        bytes: u64,
        /// Bytes that it may have.
        most: u64,
    },
    /// What the backend returned is nothing that was put there.
    #[error("state {state:?}, key with hash {key:#018x}: the backend returned what cannot be read: {cause}")]
    Unreadable {
        /// The state's name.
        state: String,
        /// Hash of the key.
        key: u64,
        /// What is wrong.
        cause: DecodeError,
    },
    /// A change of a state's backend got lost earlier.
    #[error("state {state:?}: {source}")]
    Lost {
        /// The state's name.
        state: String,
        /// What happened.
        source: PagedFault,
    },
}

impl StateFault {
    /// Whether the same records would lead to it again: a matter of their size, not of the machine.
    pub fn is_of_data(&self) -> bool {
        match self {
            Self::Backend { source, .. } | Self::Lost { source, .. } => {
                !matches!(source, PagedFault::Memory(_) | PagedFault::Own(_))
            }
            Self::ListTooLong { .. } => true,
            Self::Unreadable { .. } => false,
        }
    }
}

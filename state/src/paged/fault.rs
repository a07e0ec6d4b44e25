//! What a table on pages cannot do.

use millstream_io::scratch::ScratchError;
use thiserror::Error;

/// Why a value could not be kept. The table goes on without it: whoever is told must give up the attempt.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PagedFault {
    /// There is no more memory, and no room in files in its place.
    #[error("no more memory for state pages: {0}")]
    Memory(#[from] ScratchError),
    /// Key and value are too large.
    #[error("a key and its value take {size} bytes, more than the {most} that a state on pages can hold")]
    TooLarge {
        /// Bytes they take, encoded.
        size: usize,
        /// Bytes that are possible.
        most: usize,
    },
    /// A key of ordered state is too long.
    #[error("a key takes {size} bytes, more than the {most} that ordered state on pages can hold")]
    LongKey {
        /// Bytes it takes.
        size: usize,
        /// Bytes that are possible.
        most: usize,
    },
    /// More keys with nearly the same hash than a bucket takes.
    #[error("key group {group} has too many keys of nearly the same hash")]
    Crowded {
        /// The key group.
        group: u16,
    },
    /// What a backend of the program's own could not do.
    #[error(transparent)]
    Own(Box<dyn std::error::Error + Send + Sync>),
}

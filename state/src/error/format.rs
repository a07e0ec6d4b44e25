//! What can be wrong with the bytes of a file.

use thiserror::Error;

/// The bytes of a file are not what this build can read (ER-06).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// It is a directory, a pipe or the like.
    #[error("it is no regular file")]
    NotAFile,
    /// The file begins with something else.
    #[error(
        "it does not begin with the magic number {:?}: not such a file, or its beginning is damaged",
        String::from_utf8_lossy(expected)
    )]
    Magic {
        /// What it should begin with.
        expected: [u8; 8],
    },
    /// The file was written by a newer release.
    #[error("its format version is {found}, this release reads up to {supported}")]
    Version {
        /// The version of the file.
        found: u32,
        /// The newest version that can be read.
        supported: u32,
    },
    /// The file is shorter than it says.
    #[error("it is cut off: {found} of {expected} bytes are there")]
    Truncated {
        /// Length that it should have.
        expected: u64,
        /// Length that it has.
        found: u64,
    },
    /// The file is longer than it says.
    #[error("it is longer than written: {found} instead of {expected} bytes")]
    Trailing {
        /// Length that it should have.
        expected: u64,
        /// Length that it has.
        found: u64,
    },
    /// Bytes have changed.
    #[error("checksum mismatch in its {part}: stored {stored:08x}, computed {computed:08x}")]
    Checksum {
        /// Which part of the file.
        part: &'static str,
        /// The checksum that was written.
        stored: u32,
        /// The checksum of what is there.
        computed: u32,
    },
    /// A field makes no sense although the checksum is right.
    #[error("its field `{field}` (ending at byte {offset} of the body) makes no sense: {problem}")]
    Field {
        /// The field.
        field: &'static str,
        /// Where it ends, counted from the first byte of the body.
        offset: u64,
        /// What is wrong.
        problem: &'static str,
    },
}

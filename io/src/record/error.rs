//! What can be wrong with encoded bytes.

use thiserror::Error;

/// Bytes are not the encoding of the expected record type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end before the record does.
    #[error("the bytes end inside a record: {need} more expected, {have} left")]
    Truncated {
        /// Bytes that the next part takes at least.
        need: usize,
        /// Bytes that are there.
        have: usize,
    },
    /// A text is not UTF-8.
    #[error("a text is not valid UTF-8")]
    Utf8,
    /// A byte that names an alternative (option, bool, enum variant) has no meaning.
    #[error("tag {tag} names no alternative of {what}")]
    Tag {
        /// The byte found.
        tag: u8,
        /// The type that was read.
        what: &'static str,
    },
    /// A number is no Unicode scalar value.
    #[error("{0:#x} is no Unicode scalar value")]
    Char(u32),
    /// A length or count contradicts the bytes that follow.
    #[error("a length of {claimed} contradicts the {have} bytes that follow")]
    Length {
        /// The length in the bytes.
        claimed: u64,
        /// What is there.
        have: usize,
    },
    /// Lists are nested more deeply than a record may be.
    #[error("lists are nested more deeply than 128 levels")]
    Depth,
    /// Bytes remain after the last record.
    #[error("{0} bytes remain after the record")]
    Trailing(usize),
}

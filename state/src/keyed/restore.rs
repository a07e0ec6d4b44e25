//! Reading a snapshot's entries back: every byte is checked once (ruling 15).

use crate::key_group::{Grouping, KeyGroup};
use millstream_io::record::{DecodeError, Key, Record};
use thiserror::Error;

/// A snapshot's bytes are not what a snapshot of this state would hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The backend takes none of the entries that a savepoint of the canonical form has.
    #[error("key group {group}: this backend takes no entries of a canonical savepoint")]
    Canonical {
        /// The key group.
        group: KeyGroup,
    },
    /// A key or value cannot be read.
    #[error("key group {group}: the {part} of entry {entry}, at byte {at}: {cause}")]
    Decode {
        /// The key group.
        group: KeyGroup,
        /// `key` or `value`.
        part: &'static str,
        /// Index of the entry.
        entry: u64,
        /// Where it begins.
        at: usize,
        /// What is wrong.
        cause: DecodeError,
    },
    /// Bytes are left over after the last entry.
    #[error("key group {group}: {left} bytes remain after the last of {entries} entries")]
    Trailing {
        /// The key group.
        group: KeyGroup,
        /// Entries that were to be there.
        entries: u64,
        /// Bytes left over.
        left: usize,
    },
    /// A key that belongs to another group.
    #[error("key group {group}: the key of entry {entry}, at byte {at}, belongs to key group {belongs}")]
    Misplaced {
        /// The key group.
        group: KeyGroup,
        /// Index of the entry.
        entry: u64,
        /// Where it begins.
        at: usize,
        /// The group that the key's hash gives.
        belongs: KeyGroup,
    },
    /// Pages that are not what the backend writes.
    #[error("key group {group}: the pages, at byte {at}: {problem}")]
    Pages {
        /// The key group.
        group: KeyGroup,
        /// Where it was seen; 0 where the bytes are well-formed and what they hold is not.
        at: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// The system gives no more memory.
    #[error("key group {group}: no more memory for it ({kind})")]
    Memory {
        /// The key group.
        group: KeyGroup,
        /// What the system says.
        kind: std::io::ErrorKind,
    },
    /// A part of an entry of a function's state cannot be read.
    #[error("key group {group}: the {part} of an entry: {cause}")]
    Part {
        /// The key group.
        group: KeyGroup,
        /// Which part.
        part: &'static str,
        /// What is wrong.
        cause: DecodeError,
    },
    /// An entry of a function's state, of a key that belongs to another group.
    #[error("key group {group}: the key of an entry belongs to key group {belongs}")]
    Stray {
        /// The key group.
        group: KeyGroup,
        /// The group that the key's hash gives.
        belongs: KeyGroup,
    },
    /// A key that was there before.
    #[error("key group {group}: the key of entry {entry}, at byte {at}, occurs twice")]
    Duplicate {
        /// The key group.
        group: KeyGroup,
        /// Index of the entry.
        entry: u64,
        /// Where it begins.
        at: usize,
    },
}

/// Reads the entries of one key group. `add` takes hash, key and value, and says whether the key was new.
pub(crate) fn read_entries<K: Key, V: Record>(
    grouping: Grouping,
    group: KeyGroup,
    entries: u64,
    bytes: &[u8],
    mut add: impl FnMut(u64, K::Ref<'_>, V) -> bool,
) -> Result<(), RestoreError> {
    read_rows::<K, V>(group, entries, bytes, |entry, at, key, value| {
        let hash = K::hash(key);
        let belongs = grouping.group(hash);
        if belongs != group {
            return Err(RestoreError::Misplaced { group, entry, at, belongs });
        }
        let new = add(hash, key, V::own(value));
        if new { Ok(()) } else { Err(RestoreError::Duplicate { group, entry, at }) }
    })
}

/// Reads so many rows of a key, each followed by one of a value. `add` takes the index of an entry, where it begins, key and
/// value.
pub(crate) fn read_rows<K: Record, V: Record>(
    group: KeyGroup,
    entries: u64,
    bytes: &[u8],
    mut add: impl FnMut(u64, usize, K::Ref<'_>, V::Ref<'_>) -> Result<(), RestoreError>,
) -> Result<(), RestoreError> {
    let mut at = 0;
    for entry in 0..entries {
        let decode = |part, at| move |cause| RestoreError::Decode { group, part, entry, at, cause };
        let (key, key_size) = K::parse(&bytes[at..]).map_err(decode("key", at))?;
        let value_at = at + key_size;
        let (value, value_size) = V::parse(&bytes[value_at..]).map_err(decode("value", value_at))?;
        add(entry, at, key, value)?;
        at = value_at + value_size;
    }
    if at < bytes.len() {
        return Err(RestoreError::Trailing { group, entries, left: bytes.len() - at });
    }
    Ok(())
}

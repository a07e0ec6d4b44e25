//! The entries of a key group, out of whatever form a snapshot has them in, where the program's types are not known: what a
//! savepoint of the canonical form is written from, and what the state processor shows.
//!
//! A group is in memory as a whole, once, as it was read; entries are places in it.

#[cfg(test)]
mod tests;

use crate::descriptor::{Backend, Layout, StateDescriptor};
use crate::key_group::KeyGroup;
use crate::keyed::RestoreError;
use crate::ordered::flat as trees;
use crate::paged::{ENTRIES, PAGES, flat as buckets};
use millstream_io::record::{DecodeError, Shape, ShapeError};
use std::cmp::Ordering;

/// How key and value of an entry are told apart.
#[derive(Clone, Debug)]
pub(crate) enum Split {
    /// The row of the key, then that of the value.
    Hashed { key: Shape, value: Shape },
    /// Byte strings, each behind its length.
    Ordered,
}

/// Where an entry is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// The first bytes of the key, so that most are compared without a look at it.
    prefix: u64,
    key: usize,
    value: usize,
    key_len: u32,
    value_len: u32,
}

/// The entries of a group.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    bytes: Vec<u8>,
    rows: Vec<Row>,
}

/// A key group as a snapshot has it.
pub(crate) struct Source {
    /// Which one.
    pub group: KeyGroup,
    /// What wrote it.
    pub backend: Backend,
    /// Entries of the whole group, as the newest part says.
    pub entries: u64,
    /// All parts of it, the oldest first.
    pub parts: Vec<Vec<u8>>,
}

impl Split {
    /// That of a state.
    ///
    /// # Errors
    /// Its types are not known here.
    pub fn of(state: &StateDescriptor) -> Result<Self, ShapeError> {
        Ok(match state.layout {
            Layout::Hashed => Self::Hashed { key: Shape::new(&state.key)?, value: Shape::new(&state.value)? },
            Layout::Ordered => Self::Ordered,
        })
    }

    /// Appends an entry.
    pub fn put(&self, [key, value]: [&[u8]; 2], out: &mut Vec<u8>) {
        for part in [key, value] {
            if let Self::Ordered = self {
                out.extend_from_slice(&(part.len() as u32).to_le_bytes());
            }
            out.extend_from_slice(part);
        }
    }

    /// The entry that bytes begin with, which are at `at` of all of them; and which part of it is wrong.
    pub fn take(&self, bytes: &[u8], at: usize) -> Result<(Row, usize), (&'static str, DecodeError)> {
        let of_key = |cause| ("key", cause);
        let of_value = |cause| ("value", cause);
        match self {
            Self::Hashed { key, value } => {
                let key = key.check(bytes).map_err(of_key)?;
                let value = value.check(&bytes[key..]).map_err(of_value)?;
                Ok((Row::new(at, key, at + key, value), key + value))
            }
            Self::Ordered => {
                let key = prefixed(bytes).map_err(of_key)?;
                let value = prefixed(&bytes[4 + key..]).map_err(of_value)?;
                Ok((Row::new(at + 4, key, at + 8 + key, value), 8 + key + value))
            }
        }
    }

    fn of_pages(&self, pages: &mut [u8]) -> Result<Vec<Row>, (usize, &'static str)> {
        match self {
            Self::Hashed { key, value } => buckets::rows(pages, key, value),
            Self::Ordered => trees::rows(pages),
        }
    }
}

/// The length of the byte string that bytes begin with.
fn prefixed(bytes: &[u8]) -> Result<usize, DecodeError> {
    let (len, rest) =
        bytes.split_first_chunk().ok_or(DecodeError::Truncated { need: 4, have: bytes.len() })?;
    let len = u32::from_le_bytes(*len) as usize;
    if len <= rest.len() {
        Ok(len)
    } else {
        Err(DecodeError::Length { claimed: len as u64, have: rest.len() })
    }
}

impl Row {
    /// The places of key and value, and how long they are.
    pub fn new(key: usize, key_len: usize, value: usize, value_len: usize) -> Self {
        // Neither takes 4 GiB: all encodings have lengths of 32 bits.
        Self { prefix: 0, key, value, key_len: key_len as u32, value_len: value_len as u32 }
    }

    /// Key and value.
    pub fn parts<'a>(&self, bytes: &'a [u8]) -> [&'a [u8]; 2] {
        [&bytes[self.key..][..self.key_len as usize], &bytes[self.value..][..self.value_len as usize]]
    }
}

impl Rows {
    /// The entries of a group, ascending by key.
    ///
    /// # Errors
    /// What is wrong with the bytes; a key that occurs twice.
    pub fn sorted(split: &Split, source: Source) -> Result<Self, RestoreError> {
        let Source { group, backend, entries, mut parts } = source;
        let form = match backend {
            Backend::Paged => forms(group, &mut parts)?,
            _ => ENTRIES,
        };
        let mut rows = if form == PAGES {
            let images: Vec<_> = parts.iter().map(|part| &part[1..]).collect();
            let mut bytes = buckets::assemble(group, &images)?;
            let damaged = |(at, problem)| RestoreError::Pages { group, at, problem };
            let rows = split.of_pages(&mut bytes).map_err(damaged)?;
            if rows.len() as u64 != entries {
                let problem = "the pages do not have as many entries as they should";
                return Err(RestoreError::Pages { group, at: 0, problem });
            }
            Self { bytes, rows }
        } else {
            let bytes = if parts.len() == 1 { parts.swap_remove(0) } else { parts.concat() };
            let skip = usize::from(backend == Backend::Paged);
            Self { rows: of_entries(split, group, entries, &bytes, skip)?, bytes }
        };
        rows.sort();
        rows.unique(group)?;
        Ok(rows)
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        for row in &mut self.rows {
            let mut prefix = [0; 8];
            let key = &bytes[row.key..][..(row.key_len as usize).min(8)];
            prefix[..key.len()].copy_from_slice(key);
            row.prefix = u64::from_be_bytes(prefix);
        }
        self.rows.sort_unstable_by(|a, b| compare(bytes, a, b));
    }

    fn unique(&self, group: KeyGroup) -> Result<(), RestoreError> {
        let twice = self.rows.windows(2).position(|two| compare(&self.bytes, &two[0], &two[1]).is_eq());
        match twice {
            Some(entry) => {
                let at = self.rows[entry + 1].key;
                Err(RestoreError::Duplicate { group, entry: entry as u64 + 1, at })
            }
            None => Ok(()),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Bytes of all keys and values.
    pub fn size(&self) -> usize {
        self.rows.iter().map(|row| row.key_len as usize + row.value_len as usize).sum()
    }

    /// Key and value of an entry.
    pub fn get(&self, nth: usize) -> [&[u8]; 2] {
        self.rows[nth].parts(&self.bytes)
    }

    /// Key and value of each, in their order.
    pub fn iter(&self) -> impl Iterator<Item = [&[u8]; 2]> {
        self.rows.iter().map(|row| row.parts(&self.bytes))
    }
}

fn compare(bytes: &[u8], a: &Row, b: &Row) -> Ordering {
    a.prefix.cmp(&b.prefix).then_with(|| a.parts(bytes)[0].cmp(b.parts(bytes)[0]))
}

/// In which form parts of the paged backend are. Of entries the first byte of the first part is left, and that of others taken away.
fn forms(group: KeyGroup, parts: &mut [Vec<u8>]) -> Result<u8, RestoreError> {
    let problem = "they begin with a form that is not known, or that does not follow the one before";
    let refused = RestoreError::Pages { group, at: 0, problem };
    let form = parts.first().and_then(|part| part.first().copied());
    let form = form.filter(|form| matches!(*form, ENTRIES | PAGES)).ok_or(refused)?;
    if parts.iter().any(|part| part.first() != Some(&form)) {
        return Err(refused);
    }
    if form == ENTRIES {
        for part in parts.iter_mut().skip(1) {
            part.remove(0);
        }
    }
    Ok(form)
}

fn of_entries(
    split: &Split,
    group: KeyGroup,
    entries: u64,
    bytes: &[u8],
    mut at: usize,
) -> Result<Vec<Row>, RestoreError> {
    // As many as there can be bytes for, whatever they say.
    let mut rows = Vec::with_capacity(usize::try_from(entries).unwrap_or(usize::MAX).min(bytes.len() / 8));
    while at < bytes.len() {
        if rows.len() as u64 == entries {
            return Err(RestoreError::Trailing { group, entries, left: bytes.len() - at });
        }
        let entry = rows.len() as u64;
        let (row, size) = split.take(&bytes[at..], at).map_err(|(part, cause)| RestoreError::Decode {
            group,
            part,
            entry,
            at,
            cause,
        })?;
        if size == 0 {
            break;
        }
        rows.push(row);
        at += size;
    }
    // The one entry without bytes: a key that takes none, and a value that takes none.
    if rows.is_empty() && entries == 1 && at == bytes.len() {
        rows.extend(split.take(&[], at).map(|(row, _)| row));
    }
    if rows.len() as u64 == entries {
        Ok(rows)
    } else {
        let cause = DecodeError::Truncated { need: 1, have: 0 };
        Err(RestoreError::Decode { group, part: "key", entry: rows.len() as u64, at, cause })
    }
}

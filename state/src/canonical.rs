//! The canonical form of a key group: entries in the order of their keys, in blocks, with an index of what each begins with
//! (SP-03). Pure; the layout stands in `docs/format.md`.
//!
//! It says nothing of what kept the state, so that any backend restores it. The checksum of a block is its own, so that one key
//! is found with the index and one block.

use crate::codec::{Cursor, Encoder};
use crate::error::FormatError;
use std::ops::Range;

/// Bytes of entries after which a block ends: few to read for one key, and still few blocks in a group.
const BLOCK: usize = if cfg!(test) { 64 } else { 16 << 10 };

/// Bytes of a block's checksum, which stands in front of its entries.
const CHECKSUM: usize = 4;

/// Bytes behind the index: its length and its checksum.
pub(crate) const TRAILER: usize = 8 + 4;

/// The fewest bytes of the index for one block.
const INDEXED: usize = 8 + 8 + 4;

type Result<T> = std::result::Result<T, FormatError>;

/// A key group that is being brought into this form.
pub(crate) struct Writer {
    out: Vec<u8>,
    index: Encoder,
    /// Where the entries of the block begin that is being filled, if one is.
    block: Option<usize>,
    entries: u64,
    /// The first key of that block.
    first: Vec<u8>,
}

impl Writer {
    /// For about so many bytes of entries.
    pub fn new(bytes: usize) -> Self {
        let out = Vec::with_capacity(bytes + bytes / 256 + 1024);
        Self { out, index: Encoder::default(), block: None, entries: 0, first: Vec::new() }
    }

    /// Adds an entry, which `put` encodes. Keys ascend, compared as bytes.
    pub fn add(&mut self, key: &[u8], put: impl FnOnce(&mut Vec<u8>)) {
        let begin = match self.block {
            Some(begin) => begin,
            None => {
                self.first.clear();
                self.first.extend_from_slice(key);
                self.out.extend_from_slice(&[0; CHECKSUM]);
                *self.block.insert(self.out.len())
            }
        };
        put(&mut self.out);
        self.entries += 1;
        if self.out.len() - begin >= BLOCK {
            self.end_block(begin);
        }
    }

    fn end_block(&mut self, begin: usize) {
        let (front, entries) = self.out.split_at_mut(begin);
        front[begin - CHECKSUM..].copy_from_slice(&crc32fast::hash(entries).to_le_bytes());
        self.index.u64(entries.len() as u64);
        self.index.u64(std::mem::take(&mut self.entries));
        self.index.blob(&self.first);
        self.block = None;
    }

    /// The bytes of the group.
    pub fn finish(mut self) -> Vec<u8> {
        if let Some(begin) = self.block {
            self.end_block(begin);
        }
        let mut trailer = self.index;
        trailer.u64(trailer.bytes.len() as u64);
        let crc = crc32fast::hash(&trailer.bytes);
        trailer.u32(crc);
        self.out.extend_from_slice(&trailer.bytes);
        self.out
    }
}

/// What the index says of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block<'a> {
    /// Where it begins in the group: at its checksum.
    pub at: u64,
    /// Bytes of its entries.
    pub len: u64,
    /// How many these are.
    pub entries: u64,
    /// The key of the first one.
    pub first: &'a [u8],
}

impl Block<'_> {
    /// Bytes that it takes in the group.
    pub fn range(&self) -> (u64, u64) {
        (self.at, self.len + CHECKSUM as u64)
    }
}

/// The length of the index, from the last bytes of a group of `len` bytes.
pub(crate) fn index_len(trailer: &[u8], len: u64) -> Result<u64> {
    let mut c = Cursor::new(trailer);
    let index = c.u64("length of an index")?;
    match index.checked_add(TRAILER as u64) {
        Some(both) if both <= len => Ok(index),
        _ => Err(c.bad("length of an index", "it is longer than the key group")),
    }
}

/// The blocks of a group of `len` bytes, by index and trailer, which are the last bytes of it.
pub(crate) fn blocks(last: &[u8], len: u64) -> Result<Vec<Block<'_>>> {
    let (covered, stored) = last.split_at_checked(last.len().wrapping_sub(4)).unwrap_or((&[], &[]));
    let computed = crc32fast::hash(covered);
    let stored = Cursor::new(stored).u32("checksum of an index")?;
    if stored != computed {
        return Err(FormatError::Checksum { part: "index", stored, computed });
    }
    let (index, _) = covered.split_at_checked(covered.len().wrapping_sub(8)).unwrap_or((&[], &[]));
    let room = len.saturating_sub(last.len() as u64);
    let (mut c, mut all, mut at) = (Cursor::new(index), Vec::<Block<'_>>::new(), 0u64);
    all.reserve(index.len() / INDEXED);
    while !c.is_empty() {
        let (len, entries) = (c.u64("length of a block")?, c.u64("entries of a block")?);
        let block = Block { at, len, entries, first: c.blob("first key of a block")? };
        at = at.checked_add(CHECKSUM as u64).and_then(|at| at.checked_add(len)).unwrap_or(u64::MAX);
        if at > room {
            return Err(c.bad("length of a block", "it is longer than the key group"));
        }
        if all.last().is_some_and(|before| before.first >= block.first) {
            return Err(c.bad("first key of a block", "they do not ascend"));
        }
        all.push(block);
    }
    if at == room {
        Ok(all)
    } else {
        Err(c.bad("length of a block", "together they are not as long as the key group"))
    }
}

/// The blocks of a whole group, and where its index begins.
fn whole(bytes: &[u8]) -> Result<(Vec<Block<'_>>, usize)> {
    let len = bytes.len() as u64;
    let trailer = bytes
        .len()
        .checked_sub(TRAILER)
        .ok_or(FormatError::Truncated { expected: TRAILER as u64, found: len })?;
    let index = trailer - index_len(&bytes[trailer..], len)? as usize;
    Ok((blocks(&bytes[index..], len)?, index))
}

/// The entries of a block.
pub(crate) fn block_entries(bytes: &[u8]) -> Result<&[u8]> {
    let mut c = Cursor::new(bytes);
    let stored = c.u32("checksum of a block")?;
    let entries = &bytes[CHECKSUM..];
    let computed = crc32fast::hash(entries);
    if stored == computed {
        Ok(entries)
    } else {
        Err(FormatError::Checksum { part: "block", stored, computed })
    }
}

/// Leaves of the bytes of a group its entries alone, one behind the other. Its checksum was right, so those of the blocks are not
/// looked at.
pub(crate) fn leave_entries(bytes: &mut Vec<u8>) -> Result<()> {
    let (blocks, _) = whole(bytes)?;
    let ranges: Vec<Range<usize>> = blocks
        .iter()
        .map(|block| block.at as usize + CHECKSUM..(block.at + block.len) as usize + CHECKSUM)
        .collect();
    let mut used = 0;
    for range in ranges {
        let len = range.len();
        bytes.copy_within(range, used);
        used += len;
    }
    bytes.truncate(used);
    Ok(())
}

/// Checks every checksum of the bytes of a group. Returns its blocks with their entries.
pub(crate) fn verified(bytes: &[u8]) -> Result<Vec<(Block<'_>, &[u8])>> {
    let (blocks, _) = whole(bytes)?;
    let entries = |block: Block<'_>| {
        let begin = block.at as usize;
        block_entries(&bytes[begin..begin + CHECKSUM + block.len as usize])
    };
    blocks.into_iter().map(|block| Ok((block, entries(block)?))).collect()
}

#[cfg(test)]
mod tests;

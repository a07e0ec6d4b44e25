//! Runs: pages side by side that hold one value which is too large for a leaf.
//!
//! The first bytes of a run say what it is and how many pages it has, the value follows. What leads to it is the number of its first
//! page in the group and the length of the value.

use super::node::REFERENCE;
use crate::paged::memory::{PAGE, SEGMENT};
use crate::paged::pages::Pages;
use millstream_io::scratch::ScratchError;

/// The kind of a run's first page.
pub(super) const RUN: u8 = 6;

/// Bytes before the value.
pub(super) const HEADER: usize = 16;

/// The longest value.
pub(super) const MOST: usize = SEGMENT - HEADER;

/// What leads to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    /// The number of its first page, in the group.
    pub page: u32,
    /// Bytes of the value.
    pub len: u32,
}

impl Reference {
    pub fn bytes(self) -> [u8; REFERENCE] {
        let mut bytes = [0; REFERENCE];
        bytes[..4].copy_from_slice(&self.page.to_le_bytes());
        bytes[4..].copy_from_slice(&self.len.to_le_bytes());
        bytes
    }

    /// The one in the value of a leaf's entry.
    pub fn parse(bytes: &[u8]) -> Self {
        let word = |at: usize| bytes[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
        Self { page: word(0), len: word(4) }
    }

    fn first(self, pages: &Pages, group: usize) -> usize {
        pages.page_of(group, self.page as usize)
    }
}

/// How many pages, as `1 << log2`, a value takes.
pub(super) fn log2_of(len: usize) -> u32 {
    (len + HEADER).div_ceil(PAGE).next_power_of_two().ilog2()
}

/// How many pages a run says that it has, as `1 << log2`. Not checked.
pub(super) fn log2_at(pages: &Pages, page: usize) -> u32 {
    pages.page(page)[1].into()
}

/// Makes a run of a value.
///
/// # Errors
/// The system gives no more memory: then nothing has changed.
pub(super) fn add(pages: &mut Pages, group: usize, value: &[u8]) -> Result<Reference, ScratchError> {
    let log2 = log2_of(value.len());
    let first = pages.allocate(group, log2)?;
    pages.write(first * PAGE, 2).copy_from_slice(&[RUN, log2 as u8]);
    pages.write(first * PAGE + HEADER, value.len()).copy_from_slice(value);
    Ok(Reference { page: pages.local(first), len: value.len() as u32 })
}

/// The value.
pub(super) fn read(pages: &Pages, group: usize, run: Reference) -> &[u8] {
    pages.bytes(run.first(pages, group) * PAGE + HEADER, run.len as usize)
}

/// Gives the run another value of as many pages; only lines that differ change. Returns what leads to it now.
pub(super) fn change(pages: &mut Pages, group: usize, run: Reference, value: &[u8]) -> Reference {
    pages.replace(run.first(pages, group) * PAGE + HEADER, value);
    Reference { len: value.len() as u32, ..run }
}

/// Gives a run's pages back.
pub(super) fn release(pages: &mut Pages, group: usize, run: Reference) {
    pages.release(run.first(pages, group), log2_of(run.len as usize));
}

//! The memory that state pages are in: anonymous mappings of 2 MiB, which never move.
//!
//! Addressed by line or by byte from the beginning of the first mapping, as if they were one. Fresh memory is zero.

use memmap2::{Advice, MmapMut};
use std::io;

/// Bytes of a cache line: the unit of dirty tracking, of copy-on-write and of snapshots.
pub(super) const LINE: usize = 64;

/// Lines of a page.
pub(super) const PAGE_LINES: usize = 64;

/// Bytes of a page.
pub(super) const PAGE: usize = PAGE_LINES * LINE;

/// Pages of a segment. (Few in unit tests, so that models of some hundred keys meet all changes.)
pub(super) const SEGMENT_PAGES: usize = if cfg!(test) { 2 } else { 16 };

/// Bytes of a segment, which belongs to one key group.
pub(super) const SEGMENT: usize = SEGMENT_PAGES * PAGE;

/// Bytes of a mapping: a huge page.
const EXTENT: usize = 2 << 20;

const EXTENT_LINES: usize = EXTENT / LINE;

/// Segments of a mapping.
const EXTENT_SEGMENTS: usize = EXTENT / SEGMENT;

/// What a line holds.
pub(super) type Line = [u8; LINE];

/// See the module page.
#[derive(Debug, Default)]
pub(super) struct Memory {
    extents: Vec<MmapMut>,
}

impl Memory {
    /// Segments that there are.
    pub fn segments(&self) -> usize {
        self.extents.len() * EXTENT_SEGMENTS
    }

    /// Adds some segments.
    ///
    /// # Errors
    /// The system gives no more memory.
    pub fn grow(&mut self) -> io::Result<()> {
        let extent = MmapMut::map_anon(EXTENT)?;
        // A table within one mapping is small, and huge pages would make it large.
        #[cfg(target_os = "linux")]
        if !self.extents.is_empty() {
            // A hint: where it is not taken lookups wait longer for the walks through the page table.
            let _ = extent.advise(Advice::HugePage);
        }
        self.extents.push(extent);
        Ok(())
    }

    /// A line.
    #[inline(always)]
    pub fn line(&self, line: usize) -> &Line {
        &self.extents[line / EXTENT_LINES].as_chunks().0[line % EXTENT_LINES]
    }

    /// A line, to be changed.
    #[inline(always)]
    pub fn line_mut(&mut self, line: usize) -> &mut Line {
        &mut self.extents[line / EXTENT_LINES].as_chunks_mut().0[line % EXTENT_LINES]
    }

    /// So many bytes, which must be in one segment.
    #[inline(always)]
    pub fn bytes(&self, at: usize, len: usize) -> &[u8] {
        &self.extents[at / EXTENT][at % EXTENT..][..len]
    }

    /// So many bytes, which must be in one segment, to be changed.
    #[inline(always)]
    pub fn bytes_mut(&mut self, at: usize, len: usize) -> &mut [u8] {
        &mut self.extents[at / EXTENT][at % EXTENT..][..len]
    }

    /// Where a line is, for prefetching.
    pub fn address(&self, line: usize) -> usize {
        self.extents[line / EXTENT_LINES].as_ptr() as usize + line % EXTENT_LINES * LINE
    }
}

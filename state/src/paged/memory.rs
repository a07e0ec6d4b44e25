//! The memory that state pages are in: one range of addresses, which is handed out from its beginning and never moves.
//!
//! Addressed by line or by byte. Fresh memory is zero. Addresses cost nothing, memory is used where it is touched.

use memmap2::{Advice, MmapMut, MmapOptions};
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

/// Addresses that are asked for, and what is asked for in turn where the process may not map as many (ruling 19).
const RANGES: [usize; 3] =
    if usize::BITS == 64 { [1 << 36, 1 << 30, 1 << 26] } else { [1 << 28, 1 << 26, 1 << 24] };

/// Bytes of a huge page.
const HUGE_PAGE: usize = 2 << 20;

/// What a line holds.
pub(super) type Line = [u8; LINE];

/// See the module page.
#[derive(Debug)]
pub(super) struct Memory {
    range: MmapMut,
    segments: usize,
}

impl Memory {
    /// No segments, and room for one: for a table that is not used.
    ///
    /// # Errors
    /// The system gives no memory.
    pub fn least() -> io::Result<Self> {
        Ok(Self { range: MmapMut::map_anon(SEGMENT)?, segments: 0 })
    }

    /// No segments.
    ///
    /// # Errors
    /// The system gives no addresses.
    pub fn new() -> io::Result<Self> {
        let map = |len| MmapOptions::new().len(len).no_reserve_swap().map_anon();
        let range = map(RANGES[0]).or_else(|_| map(RANGES[1])).or_else(|_| map(RANGES[2]))?;
        Ok(Self { range, segments: 0 })
    }

    /// Adds a segment.
    ///
    /// # Errors
    /// There are no more addresses.
    pub fn grow(&mut self) -> io::Result<()> {
        let start = self.segments * SEGMENT;
        if start + SEGMENT > self.range.len() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        // A state in less than a huge page is small, and one would make it large.
        #[cfg(target_os = "linux")]
        if start > 0 && start.is_multiple_of(HUGE_PAGE) {
            // A hint: where it is not taken lookups wait longer for the walks through the page table.
            let _ = self.range.advise_range(Advice::HugePage, start, HUGE_PAGE);
        }
        self.segments += 1;
        Ok(())
    }

    /// A line.
    #[inline(always)]
    pub fn line(&self, line: usize) -> &Line {
        &self.range.as_chunks().0[line]
    }

    /// A line, to be changed.
    #[inline(always)]
    pub fn line_mut(&mut self, line: usize) -> &mut Line {
        &mut self.range.as_chunks_mut().0[line]
    }

    /// So many bytes.
    #[inline(always)]
    pub fn bytes(&self, at: usize, len: usize) -> &[u8] {
        &self.range[at..][..len]
    }

    /// So many bytes, to be changed.
    #[inline(always)]
    pub fn bytes_mut(&mut self, at: usize, len: usize) -> &mut [u8] {
        &mut self.range[at..][..len]
    }

    /// Where a line is, for prefetching.
    #[inline(always)]
    pub fn address(&self, line: usize) -> usize {
        self.range.as_ptr() as usize + line * LINE
    }
}

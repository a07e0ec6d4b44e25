//! The memory that state pages are in: one range of addresses, which is handed out from its beginning and never moves.
//!
//! Addressed by line or by byte. Fresh memory is zero.

use millstream_io::scratch::{Cutting, Region, ScratchError, Supply};

/// Bytes of a cache line: the unit of dirty tracking, of copy-on-write and of snapshots.
pub(crate) const LINE: usize = 64;

/// Lines of a page.
pub(crate) const PAGE_LINES: usize = 64;

/// Bytes of a page.
pub(crate) const PAGE: usize = PAGE_LINES * LINE;

/// Pages of a segment. (Few in unit tests, so that models of some hundred keys meet all changes.)
pub(crate) const SEGMENT_PAGES: usize = if cfg!(test) { 2 } else { 16 };

/// Bytes of a segment, which belongs to one key group.
pub(crate) const SEGMENT: usize = SEGMENT_PAGES * PAGE;

/// Addresses that are asked for, and what is asked for in turn where the process may not have as many (ruling 19).
const RANGES: [usize; 3] =
    if usize::BITS == 64 { [1 << 36, 1 << 30, 1 << 26] } else { [1 << 28, 1 << 26, 1 << 24] };

/// What a line holds.
pub(crate) type Line = [u8; LINE];

/// See the module page.
#[derive(Debug)]
pub(crate) struct Memory {
    range: Region,
    segments: usize,
}

impl Memory {
    /// No segments, and room for one: for a table that is not used.
    ///
    /// # Errors
    /// The system gives no memory.
    pub fn least() -> Result<Self, ScratchError> {
        // Too little to count.
        Ok(Self { range: Region::new(SEGMENT, Supply::default())?, segments: 0 })
    }

    /// No segments.
    ///
    /// # Errors
    /// The system gives no addresses.
    pub fn new(supply: &Supply) -> Result<Self, ScratchError> {
        let map = |len| Region::new(len, supply.clone());
        let range = map(RANGES[0]).or_else(|_| map(RANGES[1])).or_else(|_| map(RANGES[2]))?;
        Ok(Self { range, segments: 0 })
    }

    /// Adds a segment.
    ///
    /// # Errors
    /// There is no more memory, no room in files, or there are no more addresses.
    pub fn grow(&mut self) -> Result<(), ScratchError> {
        self.range.reach((self.segments + 1) * SEGMENT)?;
        self.segments += 1;
        Ok(())
    }

    /// Hands out further segments in pieces; they are [added](Self::added) when these are joined.
    pub fn cut(&mut self) -> Cutting<'_> {
        self.range.cut(self.segments * SEGMENT)
    }

    /// So many more segments are there.
    pub fn added(&mut self, segments: usize) {
        self.segments += segments;
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

    /// A page.
    #[inline(always)]
    pub fn page(&self, page: usize) -> &[u8; PAGE] {
        &self.range.as_chunks().0[page]
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

//! Segments: the buffers of encoded records that travel over rings.
//!
//! ```text
//! rows of one size   | row 0 | row 1 | ... free ...
//! rows that differ   | row 0 | row 1 | ... free ... | slot 1 | slot 0 |       slot i: u64 at end - 8 (i + 1)
//! slot               hash of the key, its top 48 bits | offset of the row, 16 bits
//! ```
//!
//! The partitioner has the key's hash at hand; kept in the slot, the consumer can prefetch state without touching the
//! row, and finds rows without walking. Rows of one size carry no slot: to hash a small key again costs less than eight
//! more bytes. Offsets of 16 bits bound a segment to [`MAX_CAPACITY`]; a row that exceeds a segment gets
//! [one of its own](Segment::single).
//!
//! Invariants, on which all unsafe code here rests. They hold because a `Segment<T>` is filled by [`Writer<T>`] alone,
//! and that with what the sealed encoding of `T` writes:
//!
//! - `start` is the beginning of an allocation of `capacity` bytes, or dangling where `capacity` is 0;
//! - `capacity` is a multiple of `ALIGN` (64), and at most [`MAX_CAPACITY`] unless `rows <= 1`;
//! - the first `used` bytes are the `rows` encoded rows, one behind the other (rows without bytes take one unused
//!   byte each, so that they too are counted by position);
//! - where rows differ, the last `8 * rows` bytes are their slots, and `used + 8 * rows <= capacity`.
#![expect(unsafe_code, reason = "the segment is one of the places that the architecture names")]

mod spilled;
#[cfg(test)]
mod tests;
mod writer;

pub use spilled::Spilled;
pub use writer::Writer;

use crate::record::trusted::{Trust, Wire};
use crate::record::{Record, Row};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Bytes of a segment where nothing else is configured.
pub const DEFAULT_CAPACITY: usize = 32 * 1024;

/// Most bytes of a segment with more than one row.
pub const MAX_CAPACITY: usize = 64 * 1024;

/// Segments begin at a cache line, and are whole cache lines long.
const ALIGN: usize = 64;

const SLOT: usize = size_of::<u64>();
const OFFSET: u64 = 0xffff;

/// Encoded records of one type, in the order in which they were written.
///
/// Owns its buffer, which is allocated when the segment is made but touched only as far as it is written. Cheap to
/// move. Dropping it frees the buffer; the records in it are bytes and need no drop.
pub struct Segment<T: Record> {
    start: NonNull<u8>,
    capacity: usize,
    used: usize,
    rows: usize,
    of: PhantomData<fn() -> T>,
}

// SAFETY: a segment owns its buffer alone, and the bytes in it refer to nothing.
unsafe impl<T: Record> Send for Segment<T> {}
// SAFETY: through a shared segment its bytes are only read.
unsafe impl<T: Record> Sync for Segment<T> {}

impl<T: Record> Segment<T> {
    /// Whether rows carry the hash they were pushed with: where their sizes differ.
    pub const HASHED: bool = Self::STEP.is_none();

    /// Bytes from one row to the next, where that is always the same.
    const STEP: Option<usize> = match T::Wire::FIXED {
        Some(0) => Some(1),
        fixed => fixed,
    };

    /// A segment of at least `capacity` bytes, rounded up to whole cache lines and capped at [`MAX_CAPACITY`].
    pub fn new(capacity: usize) -> Self {
        Self::allocate(capacity.min(MAX_CAPACITY))
    }

    /// A segment without a buffer. Allocates nothing.
    pub(crate) const fn none() -> Self {
        Self { start: NonNull::dangling(), capacity: 0, used: 0, rows: 0, of: PhantomData }
    }

    fn allocate(capacity: usize) -> Self {
        let layout = Self::layout(capacity.max(1).next_multiple_of(ALIGN));
        // SAFETY: the layout's size is at least ALIGN.
        let start = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Self { start, capacity: layout.size(), used: 0, rows: 0, of: PhantomData }
    }

    fn layout(capacity: usize) -> Layout {
        Layout::from_size_align(capacity, ALIGN).expect("no record is as large as half of the address space")
    }

    /// Rows in it.
    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether it holds no row.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes of its rows and of what is kept beside them.
    pub fn bytes(&self) -> usize {
        self.used + if Self::HASHED { SLOT * self.rows } else { 0 }
    }

    /// Bytes of its buffer.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Whether it was made for one large row. Such a segment is not worth keeping for others.
    pub fn is_large(&self) -> bool {
        self.capacity > MAX_CAPACITY
    }

    /// Forgets its rows.
    #[inline]
    pub fn clear(&mut self) {
        self.used = 0;
        self.rows = 0;
    }

    /// Row `index`.
    ///
    /// # Panics
    /// Where there is no such row.
    #[inline(always)]
    pub fn row(&self, index: usize) -> Row<'_, T> {
        assert!(index < self.rows, "row {index} of a segment of {}", self.rows);
        // SAFETY: just checked.
        unsafe { self.row_unchecked(index) }
    }

    /// The hash that row `index` was pushed with, its low 16 bits cleared; `None` where rows do not carry it (their
    /// size is fixed), or where there is no such row.
    #[inline(always)]
    pub fn hash(&self, index: usize) -> Option<u64> {
        if Self::HASHED && index < self.rows {
            // SAFETY: just checked.
            Some(unsafe { self.slot(index) } & !OFFSET)
        } else {
            None
        }
    }

    /// The rows from `first` on.
    #[inline(always)]
    pub fn iter_from(&self, first: usize) -> Rows<'_, T> {
        Rows { segment: self, next: first.min(self.rows) }
    }

    /// # Safety
    /// `index < self.rows`, and rows differ in size.
    #[inline(always)]
    unsafe fn slot(&self, index: usize) -> u64 {
        // SAFETY: slot `index` lies in the last `8 * rows` bytes, is aligned as the buffer's end is, and was written.
        unsafe { self.start.add(self.capacity - SLOT * (index + 1)).cast::<u64>().read() }
    }

    /// # Safety
    /// `index < self.rows`.
    #[inline(always)]
    unsafe fn row_unchecked(&self, index: usize) -> Row<'_, T> {
        let (from, length) = match (Self::STEP, T::Wire::FIXED) {
            (Some(step), Some(length)) => (index * step, length),
            _ => {
                // SAFETY: the caller's promise; the second slot is read where there is one more row.
                let (from, end) = unsafe {
                    let end =
                        if index + 1 < self.rows { self.slot(index + 1) & OFFSET } else { self.used as u64 };
                    (self.slot(index) & OFFSET, end)
                };
                (from as usize, (end - from) as usize)
            }
        };
        // SAFETY: the row's bytes lie within the `used` ones, which are written and stay as they are while `self` is
        // borrowed.
        let bytes = unsafe { std::slice::from_raw_parts(self.start.add(from).as_ptr(), length) };
        Row::trusted(bytes, Trust::YES)
    }
}

impl<T: Record> Drop for Segment<T> {
    fn drop(&mut self) {
        if self.capacity != 0 {
            // SAFETY: allocated with this layout, and owned alone.
            unsafe { dealloc(self.start.as_ptr(), Self::layout(self.capacity)) }
        }
    }
}

impl<T: Record> std::fmt::Debug for Segment<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment")
            .field("rows", &self.rows)
            .field("bytes", &self.bytes())
            .field("capacity", &self.capacity)
            .finish()
    }
}

/// Rows of a segment, see [`Segment::iter_from`].
#[derive(Debug)]
pub struct Rows<'a, T: Record> {
    segment: &'a Segment<T>,
    next: usize,
}

impl<'a, T: Record> Iterator for Rows<'a, T> {
    type Item = Row<'a, T>;

    #[inline(always)]
    fn next(&mut self) -> Option<Row<'a, T>> {
        if self.next == self.segment.rows {
            return None;
        }
        // SAFETY: `next` begins at or below `rows`, grows by one, and stops there; just seen to be below.
        let row = unsafe { self.segment.row_unchecked(self.next) };
        self.next += 1;
        Some(row)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.segment.rows - self.next;
        (left, Some(left))
    }
}

impl<T: Record> ExactSizeIterator for Rows<'_, T> {}

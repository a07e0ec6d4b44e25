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

use crate::record::trusted::{Trust, Wire, write_at};
use crate::record::{Record, Row, WireView};
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

    /// A segment of exactly the size that `record` needs, with it as the only row: for one that a writer refuses though
    /// it has an empty segment open. What was written before it must be handed over before it.
    pub fn single(hash: u64, record: T::Ref<'_>) -> Self {
        let need = Cursor::<T>::need(T::Wire::size(T::to_wire(record)));
        let mut writer = Writer::closed();
        writer.open_any(Self::allocate(need));
        let written = writer.push(hash, record);
        assert!(written, "a segment made for a record holds it");
        writer.take(Self::none())
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

    /// The segment with the rows that were written through `cursor`, a cursor of it.
    fn written(mut self, cursor: Cursor<T>) -> Self {
        self.used = cursor.at as usize - self.start.as_ptr() as usize;
        self.rows = match Self::STEP {
            Some(step) => self.used / step,
            None => (self.start.as_ptr() as usize + self.capacity - cursor.limit as usize) / SLOT,
        };
        self
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

/// The open segment of a lane: writes rows until there is no more room.
///
/// Begins [closed](Writer::closed), without a buffer, so that lanes that never carry anything cost nothing.
///
/// ```
/// use millstream_io::segment::{Segment, Writer};
///
/// let mut writer = Writer::<u64>::closed();
/// assert!(!writer.push(0, 1), "nothing is open");
/// writer.open(Segment::new(64));
/// assert_eq!((0..100).take_while(|n| writer.push(0, *n)).count(), 8);
/// let full = writer.close().unwrap();
/// assert_eq!(full.iter_from(6).map(|row| row.view()).collect::<Vec<_>>(), [6, 7]);
/// ```
#[derive(Debug)]
pub struct Writer<T: Record> {
    cursor: Cursor<T>,
    /// What the cursor writes to. Its extent is brought up to date when it is closed.
    segment: Segment<T>,
}

// SAFETY: the cursor refers to the segment beside it, which may move between threads.
unsafe impl<T: Record> Send for Writer<T> {}
// SAFETY: a shared writer cannot write.
unsafe impl<T: Record> Sync for Writer<T> {}

impl<T: Record> Default for Writer<T> {
    fn default() -> Self {
        Self::closed()
    }
}

impl<T: Record> Writer<T> {
    /// A writer without a segment; it takes no row until one is [opened](Writer::open).
    pub fn closed() -> Self {
        let segment = Segment::none();
        Self { cursor: Cursor::new(&segment), segment }
    }

    /// Writes a row; `false`, and nothing written, when there is no room. `hash` is that of the record's key; it is
    /// kept only where [`Segment::HASHED`].
    #[inline(always)]
    pub fn push(&mut self, hash: u64, record: T::Ref<'_>) -> bool {
        // SAFETY: the cursor is one of the open segment.
        unsafe { self.cursor.push(hash, record) }
    }

    /// Copies a row; else like [`Writer::push`].
    #[inline(always)]
    pub fn push_row(&mut self, hash: u64, row: Row<'_, T>) -> bool {
        // SAFETY: the cursor is one of the open segment.
        unsafe { self.cursor.push_row(hash, row) }
    }

    /// Writes records until there is no more room: returns the one that no longer fitted, or `None` when all of them
    /// are written. `hash` is asked only where [`Segment::HASHED`].
    ///
    /// Faster than a [`Writer::push`] each for small rows of one size: the write position stays in a register.
    #[inline(always)]
    pub fn fill(
        &mut self,
        records: &mut impl Iterator<Item = T>,
        mut hash: impl FnMut(T::Ref<'_>) -> u64,
    ) -> Option<T> {
        // Nothing else can reach this copy, which keeps it in registers. Should the iterator panic, the rows written so
        // far are not counted; they are lost with the attempt.
        let mut cursor = self.cursor;
        let left = loop {
            let Some(record) = records.next() else { break None };
            let view = record.view();
            let hash = if Segment::<T>::HASHED { hash(view) } else { 0 };
            // SAFETY: the cursor is one of the open segment, which stays open meanwhile.
            if !unsafe { cursor.push(hash, view) } {
                break Some(record);
            }
        };
        self.cursor = cursor;
        left
    }

    /// Writes the records that come next, up to `most` of them and as many as there is room for, and returns how many;
    /// 0 where rows differ in size. Like [`Writer::fill`], which asks for room before each record.
    #[inline(always)]
    pub fn fill_some(&mut self, records: &mut impl Iterator<Item = T>, most: usize) -> usize {
        let (Some(step), Some(size)) = (Segment::<T>::STEP, T::Wire::FIXED) else { return 0 };
        let mut cursor = self.cursor;
        let most = most.min(cursor.room() / step);
        let mut written = 0;
        while written < most
            && let Some(record) = records.next()
        {
            // SAFETY: the cursor is one of the open segment, which stays open meanwhile, and there is room for `most` rows.
            unsafe { cursor.push_unchecked(0, T::to_wire(record.view()), size) };
            written += 1;
        }
        self.cursor = cursor;
        written
    }

    /// Copies the rows of `block` from row `from` on, in their order: to `first` those whose mark is 0, to `second` those
    /// whose mark is 1. Row `i` is marked with `marks[i]`, of which only the last bit counts. Returns the row before which
    /// it ended because there was no more room in one of the two: the number of rows, or of marks, where it came to the
    /// end. Where rows differ in size nothing is done.
    ///
    /// No branch depends on a mark, and the write positions stay in registers: every row is copied to both, where the next
    /// one overwrites it unless it counts.
    #[inline(always)]
    pub fn deal(
        first: &mut Self,
        second: &mut Self,
        block: &Segment<T>,
        from: usize,
        marks: &[u32],
    ) -> usize {
        let (Some(step), Some(size)) = (Segment::<T>::STEP, T::Wire::FIXED) else { return from };
        let marks = &marks[..marks.len().min(block.rows)];
        let (mut a, mut b) = (first.cursor, second.cursor);
        let mut row = from;
        while row < marks.len() {
            let room = a.room().min(b.room()) / step;
            if room == 0 {
                break;
            }
            let end = marks.len().min(row + room);
            for (row, mark) in (row..end).zip(&marks[row..end]) {
                // SAFETY: the block has this row, in another buffer than the open segments. Each row moves either position
                // by `step`, and there is room in both for all rows up to `end`.
                unsafe {
                    let from = block.start.as_ptr().add(row * step);
                    std::ptr::copy_nonoverlapping(from, a.at, size);
                    std::ptr::copy_nonoverlapping(from, b.at, size);
                    let to_b = step * (*mark & 1) as usize;
                    b.at = b.at.add(to_b);
                    a.at = a.at.add(step - to_b);
                }
            }
            row = end;
        }
        (first.cursor, second.cursor) = (a, b);
        row
    }

    /// Whether nothing is written that has not been taken.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.cursor.at == self.cursor.start
    }

    /// Whether no segment is open, or the open one has no room for one more row of the one size that all have. (Rows that
    /// differ may be too large for any room.)
    pub fn is_full(&self) -> bool {
        self.cursor.room() < Cursor::<T>::need(T::Wire::FIXED.unwrap_or(0))
    }

    /// Whether no segment is open.
    #[inline(always)]
    pub fn is_closed(&self) -> bool {
        self.segment.capacity == 0
    }

    /// Opens `next` for writing, its old content forgotten. What was open before is dropped with its rows. A segment that
    /// [is large](Segment::is_large) is not opened, as offsets in it would not fit: the writer is closed then.
    pub fn open(&mut self, next: Segment<T>) {
        self.open_any(if next.is_large() { Segment::none() } else { next });
    }

    /// Opens also a large segment, for one row.
    fn open_any(&mut self, next: Segment<T>) {
        self.segment = next;
        self.segment.clear();
        self.cursor = Cursor::new(&self.segment);
    }

    /// The segment with what was written, after which the writer is closed; `None`, and nothing changed, where nothing
    /// was.
    pub fn close(&mut self) -> Option<Segment<T>> {
        if self.is_empty() { None } else { Some(self.take(Segment::none())) }
    }

    /// Closes the open segment, written or not, and opens `next`.
    pub fn take(&mut self, next: Segment<T>) -> Segment<T> {
        let written = self.cursor;
        let segment = std::mem::replace(&mut self.segment, Segment::none());
        self.open(next);
        segment.written(written)
    }
}

/// A place in a segment that is written: `start <= at <= limit`, all in the segment's buffer, `limit` at the last slot
/// written, or at the buffer's end.
#[derive(Debug)]
struct Cursor<T: Record> {
    /// Where the next row goes.
    at: *mut u8,
    /// Where room for it ends.
    limit: *mut u8,
    start: *mut u8,
    of: PhantomData<fn() -> T>,
}

impl<T: Record> Clone for Cursor<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Record> Copy for Cursor<T> {}

impl<T: Record> Cursor<T> {
    /// The beginning of an empty segment.
    fn new(segment: &Segment<T>) -> Self {
        let start = segment.start.as_ptr();
        // The end of the allocation, or the dangling beginning plus nothing.
        Self { at: start, limit: start.wrapping_add(segment.capacity), start, of: PhantomData }
    }

    /// Room that a row of `size` bytes takes.
    #[inline(always)]
    fn need(size: usize) -> usize {
        match Segment::<T>::STEP {
            Some(step) => step,
            None => size + SLOT,
        }
    }

    /// Bytes that are free.
    #[inline(always)]
    fn room(&self) -> usize {
        self.limit as usize - self.at as usize
    }

    #[inline(always)]
    fn has_room(&self, size: usize) -> bool {
        self.room() >= Self::need(size)
    }

    /// # Safety
    /// The segment of this cursor is alive, and written through this cursor alone.
    #[inline(always)]
    unsafe fn push(&mut self, hash: u64, record: T::Ref<'_>) -> bool {
        // Asked once each: a view may say something else the next time.
        let wire = T::to_wire(record);
        let size = T::Wire::size(wire);
        let room = self.has_room(size);
        if room {
            // SAFETY: as promised, and there is room.
            unsafe { self.push_unchecked(hash, wire, size) }
        }
        room
    }

    /// # Safety
    /// As for [`Cursor::push`], and there is room for what a record of this `size` [needs](Self::need).
    #[inline(always)]
    unsafe fn push_unchecked(&mut self, hash: u64, wire: WireView<'_, T>, size: usize) {
        let at = self.at;
        // SAFETY: there is room for `size` bytes and a slot; `write_at` returns only when it has written exactly `size`,
        // whatever the record's code does.
        unsafe {
            write_at::<T::Wire>(wire, at, size);
            self.advance(at, hash, size);
        }
    }

    /// # Safety
    /// As for [`Cursor::push`].
    #[inline(always)]
    unsafe fn push_row(&mut self, hash: u64, row: Row<'_, T>) -> bool {
        let bytes = row.bytes();
        let size = T::Wire::FIXED.unwrap_or(bytes.len());
        debug_assert_eq!(size, bytes.len());
        let at = self.at;
        let room = self.has_room(size);
        if room {
            // SAFETY: there is room for `size` bytes and a slot; a row is the encoding of one `T`, so `size` bytes
            // long; free room overlaps no live row.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, size);
                self.advance(at, hash, size);
            }
        }
        room
    }

    /// `at` is `self.at`, which the caller read before it wrote the row: read again here it would be a load that waits
    /// for the row's stores, as these may go anywhere for all the compiler knows. (Measured: half of routing.)
    ///
    /// # Safety
    /// A row of `size` bytes was written at `at`, where there was room for what it [needs](Self::need).
    #[inline(always)]
    unsafe fn advance(&mut self, at: *mut u8, hash: u64, size: usize) {
        // SAFETY: all within the room that the caller promises. `limit` is aligned to slots: it begins at the buffer's
        // end and moves by whole slots. Where there can be a second row the buffer has at most MAX_CAPACITY bytes, so
        // that its offset fits 16 bits.
        unsafe {
            match Segment::<T>::STEP {
                Some(step) => self.at = at.add(step),
                None => {
                    let offset = (at as usize - self.start as usize) as u64;
                    self.limit = self.limit.sub(SLOT);
                    self.limit.cast::<u64>().write((hash & !OFFSET) | offset);
                    self.at = at.add(size);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;

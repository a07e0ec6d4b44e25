//! Writing rows into segments.
#![expect(unsafe_code, reason = "the writing half of the segment, one of the places the architecture names")]

use super::{OFFSET, SLOT, Segment};
use crate::record::trusted::{Wire, write_at};
use crate::record::{Record, Row, WireView};
use std::marker::PhantomData;

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

impl<T: Record> Segment<T> {
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

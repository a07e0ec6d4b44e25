//! Segments that lie in a file.
#![expect(unsafe_code, reason = "the segment is one of the places that the architecture names")]

use super::{ALIGN, SLOT, Segment};
use crate::record::Record;
use crate::record::trusted::Wire;
use crate::scratch::{Block, Part, ScratchError};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::slice;

/// A segment whose buffer is a [`Part`] of a file: read where it lies, never written again.
///
/// ```
/// use millstream_io::scratch::{Block, MemoryScratch};
/// use millstream_io::segment::{Segment, Spilled};
///
/// let segment = Segment::<u64>::single(0, 7);
/// let mut block = Block::new(4096, &MemoryScratch::new())?;
/// let spilled = Spilled::put(&segment, &mut block)?.expect("the block is large enough");
/// drop(segment);
/// assert_eq!(spilled.row(0).view(), 7);
/// # Ok::<(), millstream_io::scratch::ScratchError>(())
/// ```
pub struct Spilled<T: Record> {
    /// Its buffer is the part, so it must not be dropped, nor handed out: only what is read of it.
    segment: ManuallyDrop<Segment<T>>,
    _part: Part,
}

impl<T: Record> Spilled<T> {
    /// Copies a segment, without the free room in it, into the next part of a block; `None` where the block has less room
    /// than the segment [needs](Segment::packed).
    ///
    /// # Errors
    /// The block's file cannot be written.
    pub fn put(segment: &Segment<T>, block: &mut Block) -> Result<Option<Self>, ScratchError> {
        let capacity = segment.packed();
        let (rows, slots) = segment.ends();
        let Some(part) = block.put(capacity, rows, slots)? else { return Ok(None) };
        let start = NonNull::from(&*part).cast::<u8>();
        assert!(start.align_offset(ALIGN) == 0 && part.len() >= capacity, "parts are whole cache lines");
        let Segment { used, rows, of, .. } = *segment;
        // The invariants of a segment hold: whole cache lines, the rows in front, the slots, whose offsets count from the
        // front, at the end. What is at `start` stays there and as it is while the part is held.
        let segment = ManuallyDrop::new(Segment { start, capacity, used, rows, of });
        Ok(Some(Self { segment, _part: part }))
    }

    /// Bytes of the file that it takes.
    pub fn size(&self) -> usize {
        self.segment.capacity
    }
}

impl<T: Record> Segment<T> {
    /// Bytes of a buffer that holds its rows and nothing else.
    pub fn packed(&self) -> usize {
        self.bytes().next_multiple_of(ALIGN)
    }

    /// What has been written of its buffer: rows, and slots.
    fn ends(&self) -> (&[u8], &[u8]) {
        // Rows without bytes take place, but are never written.
        let rows = if T::Wire::FIXED == Some(0) { 0 } else { self.used };
        let slots = if Self::HASHED { SLOT * self.rows } else { 0 };
        // SAFETY: by the invariants, rows begin at the front and slots end at the end of the buffer, which is this
        // segment's and is not written while it is borrowed. Without a buffer both are empty.
        unsafe {
            let front = slice::from_raw_parts(self.start.as_ptr(), rows);
            let back = self.start.as_ptr().add(self.capacity - slots);
            (front, slice::from_raw_parts(back, slots))
        }
    }
}

impl<T: Record> Deref for Spilled<T> {
    type Target = Segment<T>;

    #[inline(always)]
    fn deref(&self) -> &Segment<T> {
        &self.segment
    }
}

impl<T: Record> fmt::Debug for Spilled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spilled").field("segment", &*self.segment).field("size", &self.size()).finish()
    }
}

#[cfg(test)]
mod tests {
    use crate::record::{Record, Row};
    use crate::scratch::{Block, MemoryScratch};
    use crate::segment::{Segment, Spilled, Writer};
    use proptest::prelude::*;

    /// A copy in a block that is no larger than it has to be.
    fn copy<T: Record>(segment: &Segment<T>) -> Spilled<T> {
        let mut block = Block::new(segment.packed().max(1), &MemoryScratch::new()).unwrap();
        Spilled::put(segment, &mut block).unwrap().unwrap()
    }

    /// What was pushed with these hashes comes out of the copy, when the original is gone and written over.
    fn check<T: Record + PartialEq + std::fmt::Debug>(capacity: usize, records: &[(u64, T)]) {
        let mut writer = Writer::<T>::closed();
        writer.open(Segment::new(capacity));
        let written = records.iter().take_while(|(hash, record)| writer.push(*hash, record.view())).count();
        let records = &records[..written];
        let Some(segment) = writer.close() else { return };
        assert!(segment.packed() < segment.bytes() + 64);
        let spilled = copy(&segment);
        writer.open(segment);
        for (hash, record) in records.iter().rev() {
            writer.push(!hash, record.view());
        }
        assert_eq!((spilled.rows(), spilled.is_empty()), (written, written == 0));
        let rows: Vec<T> = spilled.iter_from(0).map(|row| T::own(row.view())).collect();
        assert!(rows.iter().eq(records.iter().map(|(_, record)| record)));
        for (n, (hash, record)) in records.iter().enumerate() {
            assert_eq!(spilled.row(n).bytes(), &T::encode(record.view())[..]);
            assert_eq!(spilled.hash(n), Segment::<T>::HASHED.then_some(hash & !0xffff));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_copy_has_the_same_rows_and_hashes(
            capacity in 0usize..3000,
            words in prop::collection::vec(any::<(u64, u64)>(), 0..200),
            texts in prop::collection::vec((any::<u64>(), ".{0,40}"), 0..200),
            units in prop::collection::vec((any::<u64>(), Just(())), 0..200),
        ) {
            check(capacity, &words);
            check(capacity, &texts);
            check(capacity, &units);
        }
    }

    #[test]
    fn a_large_row_is_copied_as_well() {
        let text = "x".repeat(200_000);
        let segment = Segment::<String>::single(7 << 16, &text);
        let spilled = copy(&segment);
        drop(segment);
        assert_eq!((spilled.row(0).view(), spilled.hash(0)), (&text[..], Some(7 << 16)));
        let encoded = String::encode(&text);
        assert_eq!(spilled.row(0).bytes(), Row::<String>::parse(&encoded).unwrap().bytes());
    }

    #[test]
    fn a_block_that_is_too_small_takes_nothing() {
        let text = "a text that needs more than one cache line, as it has so many letters";
        let mut block = Block::new(64, &MemoryScratch::new()).unwrap();
        assert!(Spilled::put(&Segment::<String>::single(0, text), &mut block).unwrap().is_none());
    }
}

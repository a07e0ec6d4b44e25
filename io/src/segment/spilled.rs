//! Segments that lie in a file.
#![expect(unsafe_code, reason = "the segment is one of the places that the architecture names")]

use super::{ALIGN, SLOT, Segment};
use crate::record::Record;
use crate::record::trusted::Wire;
use crate::scratch::Part;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr;

/// A segment whose buffer is a [`Part`] of a file: read where it lies, never written again.
///
/// ```
/// use millstream_io::scratch::{Block, MemoryScratch};
/// use millstream_io::segment::{Segment, Spilled};
///
/// let segment = Segment::<u64>::single(0, 7);
/// let part = Block::new(4096, &MemoryScratch::new())?.part(segment.packed()).expect("it is large enough");
/// let spilled = Spilled::new(&segment, part);
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
    /// Copies a segment into a part, without the free room in it.
    ///
    /// # Panics
    /// Where the part is smaller than the segment [needs](Segment::packed).
    pub fn new(segment: &Segment<T>, mut part: Part) -> Self {
        let capacity = segment.packed();
        let to = ptr::NonNull::from(&mut part[..capacity]).cast::<u8>();
        assert_eq!(to.align_offset(ALIGN), 0, "parts begin at cache lines");
        let slots = segment.slots();
        // SAFETY: both buffers are as long as what is copied, at either end, and are not the same: the part was nobody
        // else's. Rows and slots do not overlap in the copy, since its capacity is at least both together. Rows without
        // bytes have nothing that could be copied.
        unsafe {
            if T::Wire::FIXED != Some(0) {
                ptr::copy_nonoverlapping(segment.start.as_ptr(), to.as_ptr(), segment.used);
            }
            let from = segment.start.as_ptr().add(segment.capacity - slots);
            ptr::copy_nonoverlapping(from, to.as_ptr().add(capacity - slots), slots);
        }
        let Segment { used, rows, of, .. } = *segment;
        // The invariants of a segment hold: whole cache lines, the rows in front, the slots, whose offsets count from the
        // front, at the end. What is at `to` stays there and as it is while the part is held.
        let segment = ManuallyDrop::new(Segment { start: to, capacity, used, rows, of });
        Self { segment, _part: part }
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

    /// Bytes of its slots.
    fn slots(&self) -> usize {
        if Self::HASHED { SLOT * self.rows } else { 0 }
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
    use crate::scratch::{Block, MemoryScratch, Part};
    use crate::segment::{Segment, Spilled, Writer};
    use proptest::prelude::*;

    fn part(bytes: usize) -> Part {
        let mut part = Block::new(bytes.max(1), &MemoryScratch::new()).unwrap().part(bytes).unwrap();
        part.fill(0xa5);
        part
    }

    /// What was pushed with these hashes comes out of the copy, when the original is gone and written over.
    fn check<T: Record + PartialEq + std::fmt::Debug>(capacity: usize, records: &[(u64, T)]) {
        let mut writer = Writer::<T>::closed();
        writer.open(Segment::new(capacity));
        let written = records.iter().take_while(|(hash, record)| writer.push(*hash, record.view())).count();
        let records = &records[..written];
        let Some(segment) = writer.close() else { return };
        let packed = segment.packed();
        assert!(packed < segment.bytes() + 64);
        let spilled = Spilled::new(&segment, part(packed));
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
        let spilled = Spilled::new(&segment, part(segment.packed()));
        drop(segment);
        assert_eq!((spilled.row(0).view(), spilled.hash(0)), (&text[..], Some(7 << 16)));
        let encoded = String::encode(&text);
        assert_eq!(spilled.row(0).bytes(), Row::<String>::parse(&encoded).unwrap().bytes());
    }

    #[test]
    #[should_panic = "out of range"]
    fn a_part_that_is_too_small_is_refused() {
        let segment = Segment::<String>::single(
            0,
            "a text that needs more than one cache line, as it has so many letters",
        );
        Spilled::new(&segment, part(64));
    }
}

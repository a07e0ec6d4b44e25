use super::{MAX_CAPACITY, Segment, Writer};
use crate::record::{Outer, Record, Row, Schema, WireView, trusted};
use proptest::prelude::*;
use std::cell::Cell;

/// What a writer does with a record in the model tests.
#[derive(Clone, Copy, Debug)]
enum How {
    Push,
    Row,
    Fill,
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![Just(How::Push), Just(How::Row), Just(How::Fill)]
}

/// Writes `records` over segments of `capacity` as a lane does, and returns the segments in order.
fn write<T: Record + Clone>(capacity: usize, records: &[(u64, T, How)]) -> Vec<Segment<T>> {
    let mut writer = Writer::closed();
    let mut out = Vec::new();
    for (hash, record, how) in records {
        let bytes = T::encode(record.view());
        let push = |writer: &mut Writer<T>| match how {
            How::Push => writer.push(*hash, record.view()),
            How::Row => writer.push_row(*hash, Row::parse(&bytes).unwrap()),
            How::Fill => writer.fill(&mut std::iter::once(record.clone()), |_| *hash).is_none(),
        };
        if push(&mut writer) {
            continue;
        }
        if writer.is_closed() {
            writer.open(Segment::new(capacity));
        } else {
            let full = writer.take(Segment::new(capacity));
            if !full.is_empty() {
                out.push(full);
            }
        }
        if !push(&mut writer) {
            assert!(writer.is_empty());
            out.push(Segment::single(*hash, record.view()));
        }
    }
    out.extend(writer.close());
    out
}

/// The segments hold exactly the records that were written, in order, by every way of reading, in minimal room.
fn check<T: Record + Clone + PartialEq + std::fmt::Debug>(
    capacity: usize,
    records: &[(u64, T, How)],
) -> Result<(), TestCaseError> {
    let segments = write(capacity, records);
    let mut at = 0;
    for segment in &segments {
        prop_assert!(!segment.is_empty());
        let all: Vec<T> = segment.iter_from(0).map(|row| T::own(row.view())).collect();
        let want = &records[at..at + segment.rows()];
        prop_assert_eq!(&all, &want.iter().map(|r| r.1.clone()).collect::<Vec<_>>());
        for (i, (hash, record, _)) in want.iter().enumerate() {
            prop_assert_eq!(segment.row(i).bytes(), T::encode(record.view()));
            prop_assert_eq!(segment.iter_from(i).len(), segment.rows() - i);
            prop_assert_eq!(segment.iter_from(i).next().unwrap().bytes(), segment.row(i).bytes());
            let slot = Segment::<T>::HASHED.then_some(hash >> 16 << 16);
            prop_assert_eq!(segment.hash(i), slot);
        }
        prop_assert!(segment.iter_from(segment.rows()).next().is_none());
        prop_assert_eq!(segment.hash(segment.rows()), None);
        prop_assert!(segment.bytes() <= segment.capacity());
        prop_assert!(segment.rows() == 1 || segment.capacity() <= MAX_CAPACITY);
        at += segment.rows();
    }
    prop_assert_eq!(at, records.len());
    Ok(())
}

fn writes<T: std::fmt::Debug>(record: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<(u64, T, How)>> {
    proptest::collection::vec((any::<u64>(), record, how()), 0..200)
}

proptest! {
    #[test]
    fn rows_of_one_size_come_back_as_written(records in writes(any::<u64>()), capacity in 0usize..600) {
        check(capacity, &records)?;
    }

    #[test]
    fn rows_of_odd_size_come_back_as_written(records in writes(any::<(u8, u16)>()), capacity in 0usize..600) {
        check(capacity, &records)?;
    }

    #[test]
    fn rows_without_bytes_are_counted(records in writes(Just(())), capacity in 0usize..300) {
        check(capacity, &records)?;
    }

    #[test]
    fn rows_that_differ_come_back_as_written(records in writes(".{0,40}"), capacity in 0usize..600) {
        check(capacity, &records)?;
    }

    #[test]
    fn rows_that_exceed_a_segment_get_one_of_their_own(
        lengths in proptest::collection::vec(prop_oneof![0usize..100, 60_000usize..140_000], 0..12),
        capacity in prop_oneof![Just(64usize), Just(32 * 1024), Just(64 * 1024), Just(1 << 20)],
    ) {
        let record = |n: &usize| ((*n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15), "x".repeat(*n), How::Push);
        check(capacity, &lengths.iter().map(record).collect::<Vec<_>>())?;
    }
}

/// Deals records with their marks into two rows of segments, as lanes do; returns what is in each, and how many rows were
/// dealt rather than pushed.
fn dealt<T: Record + Clone>(capacities: [usize; 2], records: &[(T, bool)]) -> ([Vec<T>; 2], usize) {
    let mut block = Writer::closed();
    block.open(Segment::new(MAX_CAPACITY));
    let written = block.fill_some(&mut records.iter().map(|(record, _)| record.clone()), usize::MAX);
    assert_eq!(written, records.len(), "a block has room for them");
    let marks: Vec<u32> = records.iter().map(|(_, mark)| u32::from(*mark)).collect();
    let (mut writers, mut out) = ([Writer::closed(), Writer::closed()], [Vec::new(), Vec::new()]);
    let block = block.close();
    let (mut row, mut many) = (0, 0);
    while let Some(block) = block.as_ref().filter(|_| row < marks.len()) {
        let [first, second] = &mut writers;
        let next = Writer::deal(first, second, block, row, &marks);
        many += next - row;
        row = next;
        assert!(row == marks.len() || first.is_full() || second.is_full());
        for ((writer, out), capacity) in writers.iter_mut().zip(&mut out).zip(capacities) {
            if writer.is_full() {
                collect(writer, out);
                writer.open(Segment::new(capacity));
            }
        }
    }
    for (writer, out) in writers.iter_mut().zip(&mut out) {
        collect(writer, out);
    }
    (out, many)
}

fn collect<T: Record>(writer: &mut Writer<T>, out: &mut Vec<T>) {
    out.extend(writer.close().iter().flat_map(|segment| segment.iter_from(0)).map(|row| T::own(row.view())));
}

proptest! {
    #[test]
    fn rows_are_dealt_by_their_marks_in_their_order(
        records in prop::collection::vec((any::<(u64, u8)>(), any::<bool>()), 0..300),
        first in 64usize..600,
        second in 64usize..600,
    ) {
        let of = |mark: bool| records.iter().filter(|r| r.1 == mark).map(|r| r.0).collect::<Vec<_>>();
        let (out, many) = dealt([first, second], &records);
        prop_assert_eq!(out, [of(false), of(true)]);
        prop_assert_eq!(many, records.len());
    }
}

#[test]
fn a_block_takes_as_many_records_as_it_is_asked_for_or_has_room_for() {
    let mut writer = Writer::<u64>::closed();
    assert_eq!(writer.fill_some(&mut (0..10), 5), 0, "nothing is open");
    writer.open(Segment::new(64));
    let mut records = 0..100;
    assert_eq!((writer.fill_some(&mut records, 5), records.start), (5, 5));
    assert_eq!((writer.fill_some(&mut records, 5), records.start), (3, 8), "eight fill a line");
    assert!(writer.is_full());
    assert_eq!(writer.close().unwrap().iter_from(0).map(|row| row.view()).sum::<u64>(), 28);
    let mut texts = Writer::<String>::closed();
    texts.open(Segment::new(64));
    assert_eq!(texts.fill_some(&mut std::iter::repeat(String::new()), 5), 0, "rows that differ");
}

/// A text that is short when it is asked for the first time, and long from then on.
struct Growing(Cell<&'static str>);

impl Record for Growing {
    type Ref<'a> = &'a str;
    type Wire = trusted::Text;
    type List = trusted::List<Self>;
    fn view(&self) -> &str {
        self.0.replace("a text that is much too long for the segment, which holds one cache line alone")
    }
    fn own(_: &str) -> Self {
        Self(Cell::new(""))
    }
    fn shorten<'short, 'long: 'short>(view: Self::Ref<'long>) -> Self::Ref<'short> {
        view
    }
    fn to_wire(view: Self::Ref<'_>) -> WireView<'_, Self> {
        view
    }
    fn from_wire(wire: WireView<'_, Self>) -> Self::Ref<'_> {
        wire
    }
    fn describe(_: &mut Outer) -> Schema {
        Schema::Primitive("growing".into())
    }
}

/// The size that a record is written with is the one that there was found to be room for.
#[test]
#[should_panic(expected = "a record's view changed while it was written")]
fn a_record_that_grows_after_room_was_found_for_it_cannot_leave_its_segment() {
    let mut writer = Writer::<Vec<Growing>>::closed();
    writer.open(Segment::new(64));
    let record = vec![Growing::own("")];
    let _ = writer.push(0, record.view());
    let written = writer.close().map_or(0, |segment| segment.bytes());
    assert!(written <= 64, "{written} bytes written to a segment of 64");
}

#[test]
fn a_segment_holds_what_the_layout_says() {
    // 512 bytes: 64 rows of 8 bytes; rows of 4 + 12 bytes take a slot of 8 besides: 512 / 24 = 21.
    let mut fixed = Writer::<u64>::closed();
    fixed.open(Segment::new(512));
    assert_eq!((0..100).take_while(|n| fixed.push(7, *n)).count(), 64);
    let mut texts = Writer::<String>::closed();
    texts.open(Segment::new(512));
    assert_eq!((0..100).take_while(|_| texts.push(7, "twelve bytes")).count(), 21);
    assert_eq!(texts.close().unwrap().bytes(), 21 * 24);
}

#[test]
fn the_last_row_of_the_largest_segment_is_found() {
    let mut writer = Writer::<String>::closed();
    writer.open(Segment::new(usize::MAX));
    let large = "x".repeat(MAX_CAPACITY - 4 - 8 - 12);
    assert!(writer.push(1 << 20, &large) && writer.push(u64::MAX, "") && !writer.push(0, ""));
    let segment = writer.close().unwrap();
    assert_eq!((segment.row(0).view().len(), segment.row(1).view()), (large.len(), ""));
    assert_eq!(segment.hash(1), Some(u64::MAX << 16));
    assert!(!segment.is_large());
}

#[test]
fn a_writer_refuses_until_it_is_opened_and_after_it_is_closed() {
    let mut writer = Writer::<String>::default();
    assert!(!writer.push(0, "a") && writer.close().is_none() && writer.is_closed());
    writer.open(Segment::new(64));
    assert!(writer.close().is_none() && !writer.is_closed(), "nothing written: stays open");
    assert!(writer.push(0, "a"));
    assert_eq!(writer.close().unwrap().rows(), 1);
    assert!(!writer.push(0, "a") && writer.is_closed());
    let mut nothing = Writer::<()>::closed();
    assert!(!nothing.push(0, ()), "rows without bytes need a segment too");
}

#[test]
fn a_reused_segment_forgets_its_rows() {
    let mut writer = Writer::<String>::closed();
    writer.open(Segment::new(128));
    assert!(writer.push(1, "old"));
    let old = writer.close().unwrap();
    writer.open(old);
    assert!(writer.is_empty() && writer.push(2, "new"));
    let segment = writer.close().unwrap();
    assert_eq!(segment.iter_from(0).map(|row| row.view()).collect::<Vec<_>>(), ["new"]);
}

#[test]
#[should_panic(expected = "row 1 of a segment of 1")]
fn a_row_that_is_not_there_is_refused() {
    let _ = Segment::<u64>::single(0, 5).row(1);
}

#[test]
fn a_large_segment_is_not_written_again() {
    let text = "x".repeat(2 * MAX_CAPACITY);
    let large = Segment::<String>::single(7, &text);
    assert!(large.is_large());
    let mut writer = Writer::<String>::closed();
    writer.open(large);
    assert!(writer.is_closed());
    assert!(!writer.push(7, "a row beyond the first 64 KiB would have no offset"));
}

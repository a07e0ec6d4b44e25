//! One lane leads from a subtask to one downstream subtask: the open segment, the ring, and the overdraft.

use super::Event;
use millstream_io::record::{Record, Row};
use millstream_io::ring::{Item, Tx};
use millstream_io::segment::{Segment, Writer};
use std::collections::VecDeque;

/// Empty segments kept: what one batch of a source may put into the overdraft, so that a batch that begins when the
/// ring is nearly full finds the segments of the one before.
const SPARES: usize = 8;

/// Invariant: while the overdraft holds anything, nothing goes straight into the ring, so order is kept.
pub(crate) struct Lane<T: Record> {
    writer: Writer<T>,
    tx: Tx<T, Event>,
    overdraft: VecDeque<Item<T, Event>>,
    /// Empty segments that came back, at most [`SPARES`].
    spares: Vec<Segment<T>>,
    capacity: usize,
}

impl<T: Record> Lane<T> {
    pub(crate) fn new(tx: Tx<T, Event>, capacity: usize) -> Self {
        Self { writer: Writer::closed(), tx, overdraft: VecDeque::new(), spares: Vec::new(), capacity }
    }

    /// Appends a record. Never blocks and never fails: what the ring has no room for waits in the overdraft. Says
    /// whether there may be more of that than before.
    #[inline(always)]
    pub(crate) fn push(&mut self, hash: u64, record: T::Ref<'_>) -> bool {
        let next = !self.writer.push(hash, record);
        if next {
            self.push_into_next(hash, record);
        }
        next
    }

    /// Appends a record by copying its encoded bytes.
    #[inline(always)]
    pub(crate) fn push_row(&mut self, hash: u64, row: Row<'_, T>) {
        if !self.writer.push_row(hash, row) {
            self.push_into_next(hash, row.view());
        }
    }

    /// Appends records whose hash does not matter, until there is overdraft; keeps the write position in a register.
    #[inline(always)]
    pub(crate) fn extend(&mut self, records: &mut impl Iterator<Item = T>) {
        while let Some(first) = self.writer.fill(records, |_| 0) {
            self.push_into_next(0, first.view());
            if self.is_full() {
                return;
            }
        }
    }

    /// Appends the rows of a block to the first lane where their mark is 0, to the second where it is 1.
    #[inline(always)]
    pub(crate) fn deal(first: &mut Self, second: &mut Self, block: &Segment<T>, marks: &[u32]) {
        let mut row = 0;
        loop {
            row = Writer::deal(&mut first.writer, &mut second.writer, block, row, marks);
            if row == marks.len() {
                return;
            }
            // Of the two one at least is full. The other lane of this row may be, and for long no row come for it.
            let lane = if marks[row] == 0 { &mut *first } else { &mut *second };
            lane.push_row(0, block.row(row));
            first.renew();
            second.renew();
            row += 1;
        }
    }

    #[cold]
    #[inline(never)]
    fn push_into_next(&mut self, hash: u64, record: T::Ref<'_>) {
        self.next();
        if !self.writer.push(hash, record) {
            // Larger than a segment: it gets one of its own.
            self.send(Item::Segment(Segment::single(hash, record)));
        }
    }

    /// Sees to it that there is an open segment with room.
    #[cold]
    #[inline(never)]
    fn renew(&mut self) {
        if self.writer.is_full() {
            self.next();
        }
    }

    /// Hands the open segment over, and opens one.
    fn next(&mut self) {
        self.flush();
        if self.writer.is_closed() {
            self.writer.open(self.spares.pop().unwrap_or_else(|| Segment::new(self.capacity)));
        }
    }

    /// Hands the open segment over when there is something in it. Was there?
    pub(crate) fn flush(&mut self) -> bool {
        match self.writer.close() {
            Some(segment) => {
                self.send(Item::Segment(segment));
                true
            }
            None => false,
        }
    }

    /// Sends an event behind everything pushed so far.
    pub(crate) fn event(&mut self, event: Event) {
        self.flush();
        self.send(Item::Event(event));
    }

    fn send(&mut self, item: Item<T, Event>) {
        if self.overdraft.is_empty() {
            match self.tx.push(item) {
                Ok(back) => self.keep(back),
                Err(item) => self.overdraft.push_back(item),
            }
        } else {
            self.overdraft.push_back(item);
        }
    }

    fn keep(&mut self, back: Option<Segment<T>>) {
        if self.spares.len() < SPARES {
            self.spares.extend(back);
        }
    }

    /// Whether there is overdraft.
    pub(crate) fn is_full(&self) -> bool {
        !self.overdraft.is_empty()
    }

    /// Tries to hand the overdraft over. Is it empty now?
    #[inline]
    pub(crate) fn ready(&mut self) -> bool {
        self.overdraft.is_empty() || self.hand_over()
    }

    /// What nobody will take any more is dropped: to a consumer that is gone, all is over that belongs to the job's end.
    fn hand_over(&mut self) -> bool {
        if self.tx.is_closed() {
            self.overdraft.clear();
        }
        while let Some(item) = self.overdraft.pop_front() {
            match self.tx.push(item) {
                Ok(back) => self.keep(back),
                Err(item) => {
                    self.overdraft.push_front(item);
                    return false;
                }
            }
        }
        true
    }
}

//! Records that a barrier has overtaken: into the snapshot, and out of it (UC-03, UC-04).

use super::{Intake, Restored};
use crate::alignment::{InFlight, Reached};
use crate::error::Error;
use crate::exchange::Next;
use millstream_io::error::Class;
use millstream_io::record::{Record, Row};
use millstream_io::segment::{Segment, Writer};
use millstream_state::OperatorId;
pub(crate) use millstream_state::descriptor::IN_FLIGHT;
use millstream_state::snapshot::ListSnapshot;
use std::ops::Range;

/// The only list of an operator behind a gate.
const LIST: u16 = 0;

/// What is in flight at a snapshot, as far as it has been met.
pub(super) struct Collecting {
    state: InFlight,
    records: ListSnapshot,
    /// Bytes of the records.
    bytes: u64,
}

impl Collecting {
    pub(super) fn new(state: InFlight) -> Self {
        Self { state, records: ListSnapshot::new(LIST), bytes: 0 }
    }

    pub(super) fn state(&self) -> &InFlight {
        &self.state
    }

    /// These rows of a segment are in flight.
    pub(super) fn rows<T: Record>(&mut self, segment: &Segment<T>, rows: Range<usize>) {
        for row in segment.iter_from(rows.start).take(rows.len()) {
            self.records.push(row.bytes());
            self.bytes += row.bytes().len() as u64;
        }
    }

    /// The next item of a channel that is waited for.
    pub(super) fn item<T: Record>(&mut self, channel: usize, item: &Next<T>) -> Reached {
        match item {
            Next::Batch(batch) => {
                self.rows(batch, 0..batch.rows());
                Reached::Nothing
            }
            Next::Event(event) => self.state.event(channel, *event),
        }
    }

    /// The records, and their bytes.
    pub(super) fn into_records(self) -> (ListSnapshot, u64) {
        (self.records, self.bytes)
    }
}

/// The records that were in flight before this subtask at the restored snapshot, in their order.
pub(super) fn restore<T: Record>(
    restored: &Restored,
    head: OperatorId,
    capacity: usize,
    intake: &mut impl Intake<T>,
) -> Result<Vec<Segment<T>>, Error> {
    let mut refill = Refill { writer: Writer::closed(), segments: Vec::new(), capacity };
    let lists = restored.lists.iter().filter(|(id, _)| *id == head);
    for bytes in lists.flat_map(|(_, elements)| elements) {
        let row = Row::<T>::parse(bytes).map_err(|error| {
            Error::new(Class::Fatal, "restore", format!("a record in flight before operator {head}"), error)
        })?;
        let (ours, hash) = intake.claim(millstream_io::View::new(row.view()));
        if ours {
            refill.push(hash, row);
        }
    }
    refill.segments.extend(refill.writer.close());
    Ok(refill.segments)
}

/// Writes segments one after the other.
struct Refill<T: Record> {
    writer: Writer<T>,
    segments: Vec<Segment<T>>,
    capacity: usize,
}

impl<T: Record> Refill<T> {
    fn push(&mut self, hash: u64, row: Row<'_, T>) {
        if self.writer.push_row(hash, row) {
            return;
        }
        self.segments.extend(self.writer.close());
        if self.writer.is_closed() {
            self.writer.open(Segment::new(self.capacity));
        }
        if !self.writer.push_row(hash, row) {
            self.segments.push(Segment::single(hash, row.view()));
        }
    }
}

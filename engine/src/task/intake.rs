//! What stands behind a gate: takes whole segments.

use crate::error::Error;
use crate::operator::{Control, Signal, Stage};
use millstream_io::clock::Moment;
use millstream_io::segment::Segment;
use millstream_io::{Record, View};
use std::ops::Range;

/// Takes rows of a segment at a time, so that a keyed operator can hash and prefetch over a batch.
pub(crate) trait Intake<T: Record>: Control + Send + 'static {
    /// Processes these rows of the segment, in order. Returns how many: fewer when there is overdraft, and at least one.
    fn take(&mut self, segment: &Segment<T>, rows: Range<usize>) -> usize;

    /// Whether a record that was in flight at a restored snapshot is for this subtask, and the hash that it is kept with.
    fn claim(&mut self, _record: View<'_, T>) -> (bool, u64) {
        (true, 0)
    }

    /// The input has ended: looks at about `rows` more of what is left and emits what is to be emitted, but ends where
    /// there is overdraft. Says whether that was all.
    fn finish(&mut self, rows: usize) -> bool;

    /// When it wants to be told of the time, if records that it has taken since it was told last have changed that.
    fn due(&mut self) -> Option<Moment> {
        None
    }
}

/// Hands the rows one by one to a chain.
pub(crate) struct Rows<S>(pub S);

impl<T: Record, S: Stage<T>> Intake<T> for Rows<S> {
    #[inline]
    fn take(&mut self, segment: &Segment<T>, rows: Range<usize>) -> usize {
        let many = rows.len();
        for (done, row) in segment.iter_from(rows.start).take(many).enumerate() {
            self.0.emit_row(row);
            if self.0.is_full() {
                return done + 1;
            }
        }
        many
    }

    fn finish(&mut self, _: usize) -> bool {
        true
    }
}

impl<S: Control> Control for Rows<S> {
    fn signal(&mut self, signal: &mut Signal<'_>) -> Result<(), Error> {
        self.0.signal(signal)
    }

    fn flush(&mut self) -> bool {
        self.0.flush()
    }

    fn ready(&mut self) -> bool {
        self.0.ready()
    }
}

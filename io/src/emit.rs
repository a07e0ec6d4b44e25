//! Where a source or an operator puts the records it makes.

use crate::record::{Record, Row};

/// Takes records of type `T`. Never blocks and never fails: when a ring is full the records wait in overdraft
/// segments, and the subtask takes no further input until they have been handed over.
pub trait Emit<T: Record> {
    /// Hands one record on.
    fn emit(&mut self, record: T::Ref<'_>);

    /// Whether a source should end its batch where it can: the rings are full, so that what it emits waits, or it has
    /// had its time, and control wants its turn. Costs a comparison: best asked after every record, as a chain below
    /// may take milliseconds for each. What is emitted all the same is never lost.
    fn is_full(&self) -> bool {
        false
    }

    /// How many records a source may emit before it has to ask [`Emit::is_full`] again, for one that emits many at once.
    fn portion(&self) -> usize {
        256
    }

    /// Hands on a record whose encoded bytes are at hand, so that a record that passes through unchanged is copied
    /// rather than encoded again.
    fn emit_row(&mut self, row: Row<'_, T>) {
        self.emit(row.view());
    }

    /// Hands on many records, until there are no more or the rings are full; what was not handed on is still in the
    /// iterator, when that was lent ([`Iterator::by_ref`]). Faster than one [`Emit::emit`] each for small fixed-size
    /// records, because the write position stays in a register, and nothing is asked in between.
    fn emit_all<I: Iterator<Item = T>>(&mut self, records: I)
    where
        Self: Sized,
    {
        for record in records {
            self.emit(record.view());
            if self.is_full() {
                return;
            }
        }
    }
}

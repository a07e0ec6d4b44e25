//! The end of a loop's body: what is put here goes back to the head.

use crate::error::Error;
use crate::operator::{Control, Signal, Stage};
use millstream_io::Record;
use millstream_io::emit::Emit;
use millstream_io::error::Class;
use millstream_io::record::Row;

/// Passes everything on, and sees to it that nothing comes too late for the head.
///
/// A loop ends when no record was on its way behind the last marker ([`crate::alignment::Rounds`]). So what is fed back
/// between that marker and the end was kept by an operator until its input ended, or until a timer was due, and nobody
/// takes it any more.
pub(crate) struct Feedback<S> {
    below: S,
    /// A record has gone by behind the last marker.
    fed: bool,
}

impl<S> Feedback<S> {
    pub(crate) fn new(below: S) -> Self {
        Self { below, fed: false }
    }
}

impl<T: Record, S: Stage<T>> Emit<T> for Feedback<S> {
    fn is_full(&self) -> bool {
        self.below.is_full()
    }

    #[inline(always)]
    fn emit(&mut self, record: T::Ref<'_>) {
        self.fed = true;
        self.below.emit(record);
    }

    #[inline(always)]
    fn emit_row(&mut self, row: Row<'_, T>) {
        self.fed = true;
        self.below.emit_row(row);
    }
}

impl<S: Control> Control for Feedback<S> {
    fn signal(&mut self, signal: &mut Signal<'_>) -> Result<(), Error> {
        match signal {
            Signal::Round(_) => self.fed = false,
            Signal::End if self.fed => {
                let cause = "a record was fed back after the loop had ended: an operator in it has kept it back until its \
                             input ended, or until a timer was due";
                return Err(Error::new(Class::Data, "loop", "feedback", cause).with_hint(
                    "feed back what is to go round when it comes, and nothing when the input ends",
                ));
            }
            _ => {}
        }
        self.below.signal(signal)
    }

    fn flush(&mut self) -> bool {
        self.below.flush()
    }

    fn ready(&mut self) -> bool {
        self.below.ready()
    }
}

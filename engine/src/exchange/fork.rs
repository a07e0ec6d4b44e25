//! `fork`: one chain, two streams.

use crate::error::Error;
use crate::operator::{Control, Signal};
use millstream_io::emit::Emit;
use millstream_io::record::{Record, Row};

/// Hands everything to two stages.
pub(crate) struct Fork<A, B> {
    first: A,
    second: B,
}

impl<A, B> Fork<A, B> {
    pub(crate) fn new(first: A, second: B) -> Self {
        Self { first, second }
    }
}

impl<T: Record, A: Emit<T>, B: Emit<T>> Emit<T> for Fork<A, B> {
    fn is_full(&self) -> bool {
        self.first.is_full() || self.second.is_full()
    }

    #[inline(always)]
    fn emit(&mut self, record: T::Ref<'_>) {
        self.first.emit(record);
        self.second.emit(record);
    }

    #[inline(always)]
    fn emit_row(&mut self, row: Row<'_, T>) {
        self.first.emit_row(row);
        self.second.emit_row(row);
    }
}

impl<A: Control, B: Control> Control for Fork<A, B> {
    fn signal(&mut self, signal: &mut Signal<'_>) -> Result<(), Error> {
        self.first.signal(signal)?;
        self.second.signal(signal)
    }

    fn flush(&mut self) -> bool {
        self.first.flush() | self.second.flush()
    }

    fn ready(&mut self) -> bool {
        self.first.ready() & self.second.ready()
    }
}

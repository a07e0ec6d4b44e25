//! `filter`: passes on the records that it likes, unchanged.

use super::{Chain, Control, Signal, Stage};
use crate::error::Error;
use crate::task::{BuildContext, Subtask};
use millstream_io::emit::Emit;
use millstream_io::{Record, Row};

/// Description of a `filter`.
#[derive(Clone)]
pub struct Filter<C, F> {
    above: C,
    f: F,
}

impl<C, F> Filter<C, F> {
    pub(crate) fn new(above: C, f: F) -> Self {
        Self { above, f }
    }
}

impl<C, F> Chain for Filter<C, F>
where
    C: Chain,
    F: for<'a> FnMut(<C::Out as Record>::Ref<'a>) -> bool + Clone + Send + 'static,
{
    type Out = C::Out;

    fn build<S: Stage<C::Out>>(self, cx: &mut BuildContext<'_>, below: S) -> Result<Box<dyn Subtask>, Error> {
        self.above.build(cx, FilterStage { f: self.f, below })
    }
}

struct FilterStage<F, S> {
    f: F,
    below: S,
}

impl<T, F, S> Emit<T> for FilterStage<F, S>
where
    T: Record,
    F: for<'a> FnMut(T::Ref<'a>) -> bool,
    S: Emit<T>,
{
    fn is_full(&self) -> bool {
        self.below.is_full()
    }

    #[inline(always)]
    fn emit(&mut self, record: T::Ref<'_>) {
        if (self.f)(record) {
            self.below.emit(record);
        }
    }

    #[inline(always)]
    fn emit_row(&mut self, row: Row<'_, T>) {
        if (self.f)(row.view()) {
            self.below.emit_row(row);
        }
    }

    #[inline(always)]
    fn emit_all<I: Iterator<Item = T>>(&mut self, records: I) {
        let f = &mut self.f;
        self.below.emit_all(records.filter(|record| f(record.view())));
    }
}

impl<F, S: Control> Control for FilterStage<F, S> {
    fn signal(&mut self, signal: &mut Signal<'_>) -> Result<(), Error> {
        self.below.signal(signal)
    }

    fn flush(&mut self) -> bool {
        self.below.flush()
    }

    fn ready(&mut self) -> bool {
        self.below.ready()
    }
}

//! `map`: one record in, one record out.

use super::{Chain, Control, Signal, Stage};
use crate::error::Error;
use crate::task::{BuildContext, Subtask};
use millstream_io::Record;
use millstream_io::emit::Emit;
use std::marker::PhantomData;

/// Description of a `map`.
pub struct Map<C, F, U> {
    above: C,
    f: F,
    out: PhantomData<fn() -> U>,
}

impl<C: Clone, F: Clone, U> Clone for Map<C, F, U> {
    fn clone(&self) -> Self {
        Self::new(self.above.clone(), self.f.clone())
    }
}

impl<C, F, U> Map<C, F, U> {
    pub(crate) fn new(above: C, f: F) -> Self {
        Self { above, f, out: PhantomData }
    }
}

impl<C, F, U> Chain for Map<C, F, U>
where
    C: Chain,
    U: Record,
    F: for<'a> FnMut(<C::Out as Record>::Ref<'a>) -> U + Clone + Send + 'static,
{
    type Out = U;

    fn build<S: Stage<U>>(self, cx: &mut BuildContext<'_>, below: S) -> Result<Box<dyn Subtask>, Error> {
        self.above.build(cx, MapStage { f: self.f, below, out: PhantomData })
    }
}

struct MapStage<F, U, S> {
    f: F,
    below: S,
    out: PhantomData<fn() -> U>,
}

impl<T, U, F, S> Emit<T> for MapStage<F, U, S>
where
    T: Record,
    U: Record,
    F: for<'a> FnMut(T::Ref<'a>) -> U,
    S: Emit<U>,
{
    fn is_full(&self) -> bool {
        self.below.is_full()
    }

    #[inline(always)]
    fn emit(&mut self, record: T::Ref<'_>) {
        self.below.emit((self.f)(record).view());
    }

    #[inline(always)]
    fn emit_all<I: Iterator<Item = T>>(&mut self, records: I) {
        let f = &mut self.f;
        self.below.emit_all(records.map(|record| f(record.view())));
    }
}

impl<U, F, S: Control> Control for MapStage<F, U, S> {
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

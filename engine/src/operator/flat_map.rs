//! `flat_map`: one record in, any number out.

use super::{Chain, Collector, Control, Signal, Stage};
use crate::error::Error;
use crate::task::{BuildContext, Fault, Subtask};
use millstream_io::Record;
use millstream_io::counters::Counters;
use millstream_io::emit::Emit;
use std::marker::PhantomData;
use std::sync::Arc;

/// Description of a `flat_map`.
pub struct FlatMap<C, F, U> {
    above: C,
    f: F,
    out: PhantomData<fn() -> U>,
}

impl<C: Clone, F: Clone, U> Clone for FlatMap<C, F, U> {
    fn clone(&self) -> Self {
        Self::new(self.above.clone(), self.f.clone())
    }
}

impl<C, F, U> FlatMap<C, F, U> {
    pub(crate) fn new(above: C, f: F) -> Self {
        Self { above, f, out: PhantomData }
    }
}

impl<C, F, U> Chain for FlatMap<C, F, U>
where
    C: Chain,
    U: Record,
    F: for<'a> FnMut(<C::Out as Record>::Ref<'a>, &mut Collector<'_, U>) + Clone + Send + 'static,
{
    type Out = U;

    fn build<S: Stage<U>>(self, cx: &mut BuildContext<'_>, below: S) -> Result<Box<dyn Subtask>, Error> {
        let stage = FlatMapStage {
            f: self.f,
            below,
            fault: cx.fault.clone(),
            counters: cx.counters.clone(),
            out: PhantomData,
        };
        self.above.build(cx, stage)
    }
}

struct FlatMapStage<F, U, S> {
    f: F,
    below: S,
    fault: Fault,
    counters: Arc<Counters>,
    out: PhantomData<fn() -> U>,
}

impl<T, U, F, S> Emit<T> for FlatMapStage<F, U, S>
where
    T: Record,
    U: Record,
    F: for<'a> FnMut(T::Ref<'a>, &mut Collector<'_, U>),
    S: Emit<U>,
{
    fn is_full(&self) -> bool {
        self.below.is_full()
    }

    #[inline(always)]
    fn emit(&mut self, record: T::Ref<'_>) {
        (self.f)(record, &mut Collector::new(&mut self.below, &self.fault, &self.counters));
    }
}

impl<U, F, S: Control> Control for FlatMapStage<F, U, S> {
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

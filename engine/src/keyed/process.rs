//! The keyed process function: one value per key, any number of results per record.
//!
//! This is the head of a subtask: it takes whole segments, so that hashing, prefetching and probing overlap over a
//! block of records while the function sees one record at a time.

use super::KeyContext;
use super::failed::failed;
use super::noted::Noted;
use crate::error::Error;
use crate::operator::{Chain, Collector, Control, Signal, Stage};
use crate::task::{BuildContext, EdgeIndex, Fault, InputTask, Intake, OperatorIndex, Restored, Subtask};
use millstream_io::counters::Counters;
use millstream_io::emit::Emit;
use millstream_io::record::{Key, Record, View};
use millstream_io::segment::Segment;
use millstream_state::key_group::Router;
use millstream_state::keyed::{Entry, KeyedBackend, Visit, batch};
use millstream_state::{Backend, HeapState, OperatorId, PagedState};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// The index of the only state.
const STATE: u16 = 0;

/// A function called for every key when the input has ended.
pub trait EndFunction<K: Key, V, U: Record>: Clone + Send + 'static {
    /// Whether there is one.
    const IS: bool = true;

    /// Calls it.
    fn call(&mut self, key: K::Ref<'_>, value: &mut V, out: &mut Collector<'_, U>);
}

/// No function.
#[derive(Clone, Copy, Debug)]
pub struct NoEnd;

impl<K: Key, V, U: Record> EndFunction<K, V, U> for NoEnd {
    const IS: bool = false;

    fn call(&mut self, _: K::Ref<'_>, _: &mut V, _: &mut Collector<'_, U>) {}
}

/// A closure.
#[derive(Clone, Copy, Debug)]
pub struct OnEnd<G>(pub(crate) G);

impl<K, V, U, G> EndFunction<K, V, U> for OnEnd<G>
where
    K: Key,
    U: Record,
    G: for<'a> FnMut(K::Ref<'a>, &mut V, &mut Collector<'_, U>) + Clone + Send + 'static,
{
    fn call(&mut self, key: K::Ref<'_>, value: &mut V, out: &mut Collector<'_, U>) {
        (self.0)(key, value, out);
    }
}

/// Description of a keyed process function; the head of its chain.
pub struct Process<T, K, V, U, KF, F, G> {
    pub(crate) inputs: Vec<EdgeIndex>,
    pub(crate) operator: OperatorIndex,
    pub(crate) key: KF,
    pub(crate) f: F,
    pub(crate) end: G,
    pub(crate) of: PhantomData<fn() -> (T, K, V, U)>,
}

impl<T, K, V, U, KF: Clone, F: Clone, G: Clone> Clone for Process<T, K, V, U, KF, F, G> {
    fn clone(&self) -> Self {
        Self {
            inputs: self.inputs.clone(),
            operator: self.operator,
            key: self.key.clone(),
            f: self.f.clone(),
            end: self.end.clone(),
            of: PhantomData,
        }
    }
}

impl<T, K, V, U, KF, F, G> Chain for Process<T, K, V, U, KF, F, G>
where
    T: Record,
    K: Key,
    V: Record + Default,
    U: Record,
    KF: for<'a> FnMut(View<'a, T>) -> K::Ref<'a> + Clone + Send + 'static,
    F: for<'a> FnMut(&mut KeyContext<'_, K>, T::Ref<'a>, &mut V, &mut Collector<'_, U>)
        + Clone
        + Send
        + 'static,
    G: EndFunction<K, V, U>,
{
    type Out = U;

    fn build<S: Stage<U>>(self, cx: &mut BuildContext<'_>, below: S) -> Result<Box<dyn Subtask>, Error> {
        let (groups, max) = (cx.key_groups(), cx.width.max());
        match cx.settings.backend {
            Backend::Paged => {
                let state = PagedState::<K, V>::new_in(groups, max, cx.supply.clone());
                let state = state.map_err(|fault| failed(cx.operator_id(self.operator), fault))?;
                let state = state.small_up_to(cx.settings.small_state).chunks_of(cx.settings.chunk);
                Ok(self.head(cx, state, below))
            }
            _ => Ok(self.head(cx, HeapState::<K, V>::new(groups, max), below)),
        }
    }
}

impl<T, K, V, U, KF, F, G> Process<T, K, V, U, KF, F, G>
where
    T: Record,
    K: Key,
    V: Record + Default,
    U: Record,
    KF: for<'a> FnMut(View<'a, T>) -> K::Ref<'a> + Clone + Send + 'static,
    F: for<'a> FnMut(&mut KeyContext<'_, K>, T::Ref<'a>, &mut V, &mut Collector<'_, U>)
        + Clone
        + Send
        + 'static,
    G: EndFunction<K, V, U>,
{
    fn head<B: KeyedBackend<K, V>, S: Stage<U>>(
        self,
        cx: &mut BuildContext<'_>,
        state: B,
        below: S,
    ) -> Box<dyn Subtask> {
        let intake = ProcessHead {
            id: cx.operator_id(self.operator),
            state,
            key: self.key,
            f: self.f,
            end: self.end,
            visit: Visit::default(),
            owner: cx.width.router(),
            subtask: cx.subtask,
            fault: cx.fault.clone(),
            counters: cx.counters.clone(),
            below,
            of: PhantomData,
        };
        Box::new(InputTask::new(cx, &self.inputs, self.operator, intake))
    }
}

struct ProcessHead<T, K, V, U, B, KF, F, G, S> {
    id: OperatorId,
    state: B,
    key: KF,
    f: F,
    end: G,
    /// How far the visit to all keys at the end has come.
    visit: Visit,
    /// Where keys belong.
    owner: Router,
    subtask: usize,
    fault: Fault,
    counters: Arc<Counters>,
    below: S,
    of: PhantomData<fn() -> (T, K, V, U)>,
}

impl<T, K, V, U, B, KF, F, G, S> Intake<T> for ProcessHead<T, K, V, U, B, KF, F, G, S>
where
    B: KeyedBackend<K, V>,
    T: Record,
    K: Key,
    V: Record + Default,
    U: Record,
    KF: for<'a> FnMut(View<'a, T>) -> K::Ref<'a> + Send + 'static,
    F: for<'a> FnMut(&mut KeyContext<'_, K>, T::Ref<'a>, &mut V, &mut Collector<'_, U>) + Send + 'static,
    G: EndFunction<K, V, U>,
    S: Stage<U>,
{
    #[inline(never)]
    fn take(&mut self, segment: &Segment<T>, rows: Range<usize>) -> usize {
        let Self { state, key, f, fault, counters, below, .. } = self;
        let mut batch = Batch { segment, key, f, fault, counters, below, over: false, of: PhantomData };
        let done = batch::for_batch(state, rows, &mut batch);
        if let Some(fault) = state.take_fault() {
            self.fault.raise(failed(self.id, fault));
        }
        done
    }

    fn claim(&mut self, record: View<'_, T>) -> (bool, u64) {
        let hash = K::hash((self.key)(record));
        (self.owner.subtask(hash) == self.subtask, hash)
    }

    fn finish(&mut self, rows: usize) -> bool {
        if !G::IS {
            return true;
        }
        let Self { state, visit, end, below, fault, counters, .. } = self;
        let mut out = Collector::new(below, fault, counters);
        let over = state.visit(visit, rows, |key, value| {
            end.call(key, value, &mut out);
            !out.is_full()
        });
        if let Some(fault) = state.take_fault() {
            self.fault.raise(failed(self.id, fault));
        }
        over
    }
}

/// Rows of a segment, and what is done with them.
struct Batch<'a, T: Record, U, KF, F, S> {
    segment: &'a Segment<T>,
    key: &'a mut KF,
    f: &'a mut F,
    fault: &'a Fault,
    counters: &'a Counters,
    below: &'a mut S,
    /// The last row has emitted, and there is overdraft (ruling 11).
    over: bool,
    of: PhantomData<fn() -> U>,
}

impl<'a, T, K, V, U, KF, F, S> batch::Rows<'a, K, V> for Batch<'a, T, U, KF, F, S>
where
    T: Record,
    K: Key,
    V: Record,
    U: Record,
    KF: for<'b> FnMut(View<'b, T>) -> K::Ref<'b>,
    F: for<'b> FnMut(&mut KeyContext<'_, K>, T::Ref<'b>, &mut V, &mut Collector<'_, U>),
    S: Stage<U>,
{
    #[inline(always)]
    fn known(&self) -> usize {
        self.segment.rows()
    }

    #[inline(always)]
    fn hash(&mut self, row: usize) -> u64 {
        self.segment.hash(row).unwrap_or_else(|| K::hash(self.key(row)))
    }

    #[inline(always)]
    fn key(&mut self, row: usize) -> K::Ref<'a> {
        (self.key)(View::new(self.segment.row(row).view()))
    }

    #[inline(always)]
    fn apply(&mut self, row: usize, key: K::Ref<'a>, mut entry: Entry<'_, V>) {
        let mut cx = KeyContext::new(key, entry.is_new());
        let record = self.segment.row(row).view();
        let mut below = Noted { below: &mut *self.below, any: false };
        (self.f)(&mut cx, record, &mut entry, &mut Collector::new(&mut below, self.fault, self.counters));
        self.over = below.any && below.is_full();
        if cx.cleared() {
            entry.clear();
        }
    }

    #[inline(always)]
    fn is_over(&self) -> bool {
        self.over
    }
}

impl<T, K, V, U, B, KF, F, G, S> ProcessHead<T, K, V, U, B, KF, F, G, S>
where
    K: Key,
    V: Record + Default,
    B: KeyedBackend<K, V>,
{
    fn restore(&mut self, restored: &mut Restored) -> Result<(), Error> {
        let settled = restored.state(self.id, STATE, &mut self.state);
        // What the state has no room for says more than that it could not be read.
        match self.state.take_fault() {
            Some(fault) => Err(failed(self.id, fault)),
            None => settled,
        }
    }
}

impl<T, K, V, U, B, KF, F, G, S: Control> Control for ProcessHead<T, K, V, U, B, KF, F, G, S>
where
    K: Key,
    V: Record + Default,
    B: KeyedBackend<K, V>,
{
    fn signal(&mut self, signal: &mut Signal<'_>) -> Result<(), Error> {
        match signal {
            Signal::Open(restored) => self.restore(restored)?,
            Signal::Drain(draining) => draining.state(self.id, STATE, &mut self.state),
            Signal::Collect(parts) => parts.collect(self.id, STATE, &mut self.state),
            Signal::ForgetBase => self.state.forget_base(),
            Signal::Abandon(left) => **left |= !self.state.abandon(),
            _ => {}
        }
        self.below.signal(signal)?;
        if let Signal::Barrier(..) = signal {
            self.state.freeze();
        }
        Ok(())
    }

    fn flush(&mut self) -> bool {
        self.below.flush()
    }

    fn ready(&mut self) -> bool {
        self.below.ready()
    }
}

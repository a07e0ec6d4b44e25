//! Users' own operators: one trait.

use super::{Chain, Collector, Control, Signal, SnapshotParts, Stage};
use crate::error::Error;
use crate::task::{BuildContext, Fault, OperatorIndex, Subtask};
use millstream_io::Record;
use millstream_io::counters::Counters;
use millstream_io::emit::Emit;
use millstream_io::error::ConnectorError;
use millstream_io::source::Redistribution;
use millstream_state::OperatorId;
use std::sync::Arc;

/// The name of a custom operator's list state.
pub(crate) const OPERATOR_STATE: &str = "operator";

/// What a custom operator's subtask is told when it opens.
#[derive(Clone, Copy, Debug)]
pub struct OperatorContext {
    /// Index of this subtask.
    pub subtask: usize,
    /// Number of subtasks.
    pub parallelism: usize,
}

/// A user's operator: sees each record, emits any number, and may keep list state that is part of every checkpoint.
///
/// ```
/// use millstream::{Collector, Operator};
///
/// /// Adds a running number to each line.
/// #[derive(Clone, Default)]
/// struct Number(u64);
///
/// impl Operator for Number {
///     type In = String;
///     type Out = (u64, String);
///     type State = u64;
///
///     fn process(&mut self, line: &str, out: &mut Collector<'_, (u64, String)>) {
///         self.0 += 1;
///         out.emit((self.0, line));
///     }
///
///     fn snapshot(&mut self) -> Vec<u64> {
///         vec![self.0]
///     }
///
///     fn open(
///         &mut self,
///         _: millstream::OperatorContext,
///         restored: Vec<u64>,
///     ) -> Result<(), millstream::ConnectorError> {
///         self.0 = restored.into_iter().max().unwrap_or(0);
///         Ok(())
///     }
/// }
/// ```
pub trait Operator: Clone + Send + 'static {
    /// What it takes.
    type In: Record;
    /// What it emits.
    type Out: Record;
    /// An element of its list state; `()` for an operator without state.
    type State: Record;

    /// How the list state is given out at a restore.
    const REDISTRIBUTION: Redistribution = Redistribution::EvenSplit;

    /// Begins, with this subtask's part of the restored list state (empty on a fresh start).
    ///
    /// # Errors
    /// The attempt fails.
    fn open(&mut self, _cx: OperatorContext, _restored: Vec<Self::State>) -> Result<(), ConnectorError> {
        Ok(())
    }

    /// Takes one record. Errors go to [`Collector::fail`].
    fn process(&mut self, record: <Self::In as Record>::Ref<'_>, out: &mut Collector<'_, Self::Out>);

    /// Before a barrier: may emit records, which then precede it (CP-23).
    fn before_barrier(&mut self, _out: &mut Collector<'_, Self::Out>) {}

    /// The list state as of now. Called at a barrier.
    fn snapshot(&mut self) -> Vec<Self::State> {
        Vec::new()
    }

    /// The input has ended: emit what is left.
    fn finish(&mut self, _out: &mut Collector<'_, Self::Out>) {}
}

/// Description of a custom operator in a chain.
#[derive(Clone)]
pub struct Apply<C, O> {
    above: C,
    operator: O,
    index: OperatorIndex,
}

impl<C, O> Apply<C, O> {
    pub(crate) fn new(above: C, operator: O, index: OperatorIndex) -> Self {
        Self { above, operator, index }
    }
}

impl<C: Chain, O: Operator<In = C::Out>> Chain for Apply<C, O> {
    type Out = O::Out;

    fn build<S: Stage<O::Out>>(self, cx: &mut BuildContext<'_>, below: S) -> Result<Box<dyn Subtask>, Error> {
        let stage = ApplyStage {
            operator: self.operator,
            id: cx.operator_id(self.index),
            cx: OperatorContext { subtask: cx.subtask, parallelism: cx.parallelism },
            fault: cx.fault.clone(),
            counters: cx.counters.clone(),
            below,
        };
        self.above.build(cx, stage)
    }
}

struct ApplyStage<O, S> {
    operator: O,
    id: OperatorId,
    cx: OperatorContext,
    fault: Fault,
    counters: Arc<Counters>,
    below: S,
}

impl<O: Operator, S: Stage<O::Out>> ApplyStage<O, S> {
    fn snapshot(&mut self, parts: &mut SnapshotParts) {
        let state = self.operator.snapshot();
        parts.list::<O::State>(self.id, &state);
    }
}

impl<O: Operator, S: Stage<O::Out>> Emit<O::In> for ApplyStage<O, S> {
    fn is_full(&self) -> bool {
        self.below.is_full()
    }

    #[inline(always)]
    fn emit(&mut self, record: <O::In as Record>::Ref<'_>) {
        self.operator.process(record, &mut Collector::new(&mut self.below, &self.fault, &self.counters));
    }
}

impl<O: Operator, S: Stage<O::Out>> Control for ApplyStage<O, S> {
    fn signal(&mut self, signal: &mut Signal<'_>) -> Result<(), Error> {
        match signal {
            Signal::Open(restored) => {
                let state = restored.list::<O::State>(self.id)?;
                self.operator.open(self.cx, state)?;
                self.below.signal(signal)
            }
            Signal::Barrier(..) => {
                let mut out = Collector::new(&mut self.below, &self.fault, &self.counters);
                self.operator.before_barrier(&mut out);
                self.below.signal(signal)?;
                if let Signal::Barrier(_, parts) = signal {
                    self.snapshot(parts);
                }
                Ok(())
            }
            Signal::End => {
                let mut out = Collector::new(&mut self.below, &self.fault, &self.counters);
                self.operator.finish(&mut out);
                self.below.signal(signal)
            }
            _ => self.below.signal(signal),
        }
    }

    fn flush(&mut self) -> bool {
        self.below.flush()
    }

    fn ready(&mut self) -> bool {
        self.below.ready()
    }
}

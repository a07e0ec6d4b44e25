//! The heads of chains: a source, or the gate behind an exchange.

use super::{BuildContext, EdgeIndex, IN_FLIGHT, InputTask, OperatorIndex, Rows, SourceTask, Subtask};
use crate::api::{Draft, Stream};
use crate::error::Error;
use crate::graph::OperatorNode;
use crate::operator::{Chain, Stage};
use millstream_io::Record;
use millstream_io::source::{Redistribution, Source};
use std::marker::PhantomData;

/// Description of a chain's head that is a source.
#[derive(Clone)]
pub struct SourceChain<S> {
    source: S,
    operator: OperatorIndex,
}

impl<S: Source> SourceChain<S> {
    pub(crate) fn new(source: S, operator: OperatorIndex) -> Self {
        Self { source, operator }
    }
}

impl<S: Source> Chain for SourceChain<S> {
    type Out = S::Out;

    fn build<P: Stage<S::Out>>(self, cx: &mut BuildContext<'_>, below: P) -> Result<Box<dyn Subtask>, Error> {
        let id = cx.operator_id(self.operator);
        let context = cx.source_context();
        let task = SourceTask::new(cx.core(), cx.restored(), context, id, self.source, below);
        Ok(Box::new(task))
    }
}

/// Description of a chain's head that is a gate.
pub struct InputChain<T> {
    inputs: Vec<EdgeIndex>,
    operator: OperatorIndex,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for InputChain<T> {
    fn clone(&self) -> Self {
        Self { inputs: self.inputs.clone(), operator: self.operator, of: PhantomData }
    }
}

impl<T: Record> InputChain<T> {
    /// A stream whose chain begins behind the draft's inputs.
    pub(crate) fn stream(mut draft: Draft, kind: &'static str) -> Stream<Self> {
        let mut node = OperatorNode::new(kind);
        node.lists = vec![OperatorNode::list::<T>(IN_FLIGHT, Redistribution::EvenSplit)];
        let operator = draft.operator(node);
        let inputs = draft.inputs.clone();
        Stream::new(draft, Self { inputs, operator, of: PhantomData })
    }
}

impl<T: Record> Chain for InputChain<T> {
    type Out = T;

    fn build<P: Stage<T>>(self, cx: &mut BuildContext<'_>, below: P) -> Result<Box<dyn Subtask>, Error> {
        Ok(Box::new(InputTask::new(cx, &self.inputs, self.operator, Rows(below))))
    }
}

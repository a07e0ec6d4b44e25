//! What can still be said of a stream that has ended in a sink.

use crate::graph::Graph;
use crate::task::OperatorIndex;
use std::cell::RefCell;
use std::rc::Rc;

/// A sink of a job that is being described.
pub struct SinkHandle {
    graph: Rc<RefCell<Graph>>,
    operator: OperatorIndex,
}

impl SinkHandle {
    pub(crate) fn new(graph: Rc<RefCell<Graph>>, operator: OperatorIndex) -> Self {
        Self { graph, operator }
    }

    /// Gives the sink a uid; see [`Stream::uid`](super::Stream::uid).
    pub fn uid(self, uid: impl Into<String>) -> Self {
        self.graph.borrow_mut().operators[self.operator.0].uid = Some(uid.into());
        self
    }

    /// Gives the sink a name; see [`Stream::name`](super::Stream::name).
    pub fn name(self, name: impl Into<String>) -> Self {
        self.graph.borrow_mut().operators[self.operator.0].name = name.into();
        self
    }
}

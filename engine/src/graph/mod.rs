//! The job graph: operators, the tasks they are chained into, and the edges between tasks.
//!
//! The API adds to a [`Graph`] while the user describes the job; [`validate`] refuses bad ones before anything runs;
//! [`plan`](Plan) fixes parallelism and ids.

mod edge;
mod hooks;
mod loops;
mod plan;
mod validate;

pub(crate) use edge::{Edge, Link};
pub(crate) use hooks::{OfSink, OfSource, SinkHooks, SourceHooks};
pub(crate) use loops::{Loop, Loops, check_checkpoints};
pub(crate) use plan::{Plan, PlannedTask};

use crate::error::{Error, drop_quietly};
use crate::task::{BuildContext, EdgeIndex, OperatorIndex, Subtask};
use millstream_io::Record;
use millstream_io::source::Redistribution;
use millstream_state::{BackendFactory, ListDescriptor, StateDescriptor};
use std::fmt;
use std::sync::Arc;

/// Place of a task in its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TaskIndex(pub(crate) usize);

/// Builds one subtask of a task.
pub(crate) type Build = Box<dyn FnMut(&mut BuildContext<'_>) -> Result<Box<dyn Subtask>, Error> + Send>;

/// A step of the job, as its user described it.
pub(crate) struct OperatorNode {
    /// What it is called in messages.
    pub name: String,
    /// The name that its state is found by, across changes of the job.
    pub uid: Option<String>,
    /// What sort of operator it is: `map`, `source`, …
    pub kind: &'static str,
    /// Keyed states, in the order of their index.
    pub states: Vec<StateDescriptor>,
    /// List states.
    pub lists: Vec<ListDescriptor>,
    /// What is done once for all subtasks of a source.
    pub source: Option<Box<dyn SourceHooks>>,
    /// What is done once for all subtasks of a sink.
    pub sink: Option<Box<dyn SinkHooks>>,
}

impl OperatorNode {
    /// The description of list state with elements of type `T`.
    pub(crate) fn list<T: Record>(name: &str, redistribution: Redistribution) -> ListDescriptor {
        ListDescriptor { name: name.to_owned(), redistribution, element: T::schema() }
    }

    pub(crate) fn new(kind: &'static str) -> Self {
        Self {
            name: kind.to_owned(),
            uid: None,
            kind,
            states: Vec::new(),
            lists: Vec::new(),
            source: None,
            sink: None,
        }
    }
}

/// A chain of operators that runs as subtasks.
pub(crate) struct TaskNode {
    pub operators: Vec<OperatorIndex>,
    pub inputs: Vec<EdgeIndex>,
    pub outputs: Vec<EdgeIndex>,
    /// As set by the user; the job's default otherwise. Not an unsigned number, so that a wrong one can be refused by
    /// its own value.
    pub parallelism: Option<i64>,
    pub max_parallelism: Option<i64>,
    pub build: Build,
}

/// A job, as its user described it.
#[derive(Default)]
pub(crate) struct Graph {
    pub operators: Vec<OperatorNode>,
    pub tasks: Vec<TaskNode>,
    pub edges: Vec<Edge>,
    /// Backends of the program's own, by name.
    pub backends: Vec<(String, OwnBackend)>,
}

/// A factory of backends of a program's own.
#[derive(Clone)]
pub(crate) struct OwnBackend(pub Arc<dyn BackendFactory>);

impl fmt::Debug for OwnBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnBackend")
    }
}

/// User code is dropped piece by piece, so that a panic of one harms no other.
impl Drop for Graph {
    fn drop(&mut self) {
        for task in self.tasks.drain(..) {
            let name = task.operators.first().map_or("job", |first| &*self.operators[first.0].name);
            drop_quietly(name, task.build);
        }
        for OperatorNode { name, source, sink, .. } in self.operators.drain(..) {
            drop_quietly(&name, source);
            drop_quietly(&name, sink);
        }
    }
}

impl Graph {
    pub(crate) fn add_operator(&mut self, node: OperatorNode) -> OperatorIndex {
        self.operators.push(node);
        OperatorIndex(self.operators.len() - 1)
    }

    pub(crate) fn add_edge(&mut self, edge: Edge) -> EdgeIndex {
        self.edges.push(edge);
        EdgeIndex(self.edges.len() - 1)
    }

    pub(crate) fn add_task(&mut self, task: TaskNode) -> TaskIndex {
        let index = TaskIndex(self.tasks.len());
        for edge in &task.inputs {
            self.edges[edge.0].to = Some(index);
        }
        for edge in &task.outputs {
            self.edges[edge.0].from = Some(index);
        }
        self.tasks.push(task);
        index
    }
}

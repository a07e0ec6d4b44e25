//! A stream of records, and what can be done with it.

use super::KeyedStream;
use super::sinking::SinkHandle;
use crate::error::Error;
use crate::exchange::{Broadcast, Exchange, Forward, Rebalance};
use crate::graph::{Edge, Graph, Link, OfSink, OperatorNode, TaskNode};
use crate::operator::{Apply, Chain, Collector, Filter, FlatMap, Map, Operator, SinkStage};
use crate::task::{BuildContext, EdgeIndex, InputChain, OperatorIndex, Subtask};
use millstream_io::record::{Key, Record, View};
use millstream_io::sink::Sink;
use std::cell::RefCell;
use std::rc::Rc;

/// What is known of a task whose chain is still being described.
pub(crate) struct Draft {
    pub graph: Rc<RefCell<Graph>>,
    pub operators: Vec<OperatorIndex>,
    pub inputs: Vec<EdgeIndex>,
    pub parallelism: Option<i64>,
    pub max_parallelism: Option<i64>,
}

impl Draft {
    pub(crate) fn new(graph: Rc<RefCell<Graph>>, inputs: Vec<EdgeIndex>) -> Self {
        Self { graph, operators: Vec::new(), inputs, parallelism: None, max_parallelism: None }
    }

    /// Adds an operator to the job and to this chain.
    pub(crate) fn operator(&mut self, node: OperatorNode) -> OperatorIndex {
        let index = self.graph.borrow_mut().add_operator(node);
        self.operators.push(index);
        index
    }

    pub(crate) fn last(&self) -> OperatorIndex {
        *self.operators.last().expect("a chain has an operator")
    }

    /// Ends the chain: the task is complete.
    pub(crate) fn end(self, outputs: Vec<EdgeIndex>, build: crate::graph::Build) -> Rc<RefCell<Graph>> {
        self.graph.borrow_mut().add_task(TaskNode {
            operators: self.operators,
            inputs: self.inputs,
            outputs,
            parallelism: self.parallelism,
            max_parallelism: self.max_parallelism,
            build,
        });
        self.graph
    }
}

/// Builds a chain whose end is an edge.
pub(super) trait BuildAt<C>:
    FnMut(&mut BuildContext<'_>, EdgeIndex, C) -> Result<Box<dyn Subtask>, Error> + Send + 'static
{
}

impl<C, F> BuildAt<C> for F where
    F: FnMut(&mut BuildContext<'_>, EdgeIndex, C) -> Result<Box<dyn Subtask>, Error> + Send + 'static
{
}

/// A stream of records of type `C::Out`.
///
/// Methods add operators to the chain that feeds the stream; a chain runs as one piece on one thread per subtask.
/// [`Stream::key_by`], [`Stream::rebalance`], [`Stream::broadcast`], [`Stream::union`] and [`Stream::fork`] end the
/// chain and begin the next one behind an exchange.
#[must_use = "a stream that leads to no sink does nothing"]
pub struct Stream<C: Chain> {
    pub(crate) draft: Draft,
    pub(crate) chain: C,
}

impl<C: Chain> Stream<C> {
    pub(crate) fn new(draft: Draft, chain: C) -> Self {
        Self { draft, chain }
    }

    /// Gives the last operator a uid: the name by which its state is found again after the job has changed. Unique in
    /// a job. Give one to every operator that keeps state.
    pub fn uid(self, uid: impl Into<String>) -> Self {
        self.draft.graph.borrow_mut().operators[self.draft.last().0].uid = Some(uid.into());
        self
    }

    /// Gives the last operator a name for people: messages, metrics, thread names.
    pub fn name(self, name: impl Into<String>) -> Self {
        self.draft.graph.borrow_mut().operators[self.draft.last().0].name = name.into();
        self
    }

    /// Sets the number of subtasks of the chain that feeds this stream (from its source or last exchange on).
    /// Refused at the start unless between 1 and the maximum.
    pub fn parallelism(mut self, parallelism: i64) -> Self {
        self.draft.parallelism = Some(parallelism);
        self
    }

    /// Sets the number of key groups of the chain that feeds this stream: the greatest parallelism it can ever have,
    /// bound for as long as its state lives (KG-04). Between 1 and 32768.
    pub fn max_parallelism(mut self, max_parallelism: i64) -> Self {
        self.draft.max_parallelism = Some(max_parallelism);
        self
    }

    /// Turns each record into another one.
    pub fn map<U, F>(mut self, f: F) -> Stream<Map<C, F, U>>
    where
        U: Record,
        F: for<'a> FnMut(<C::Out as Record>::Ref<'a>) -> U + Clone + Send + 'static,
    {
        self.draft.operator(OperatorNode::new("map"));
        Stream::new(self.draft, Map::new(self.chain, f))
    }

    /// Keeps the records for which `f` is true.
    pub fn filter<F>(mut self, f: F) -> Stream<Filter<C, F>>
    where
        F: for<'a> FnMut(<C::Out as Record>::Ref<'a>) -> bool + Clone + Send + 'static,
    {
        self.draft.operator(OperatorNode::new("filter"));
        Stream::new(self.draft, Filter::new(self.chain, f))
    }

    /// Turns each record into any number of others. What is emitted may borrow from the record:
    /// `lines.flat_map::<String>(|line, out| line.split(' ').for_each(|word| out.emit(word)))`.
    pub fn flat_map<U: Record>(
        mut self,
        f: impl for<'a> FnMut(<C::Out as Record>::Ref<'a>, &mut Collector<'_, U>) + Clone + Send + 'static,
    ) -> Stream<impl Chain<Out = U>> {
        self.draft.operator(OperatorNode::new("flat-map"));
        Stream::new(self.draft, FlatMap::new(self.chain, f))
    }

    /// Adds an operator of your own.
    pub fn apply<O: Operator<In = C::Out>>(mut self, operator: O) -> Stream<Apply<C, O>> {
        let mut node = OperatorNode::new("operator");
        node.lists = vec![OperatorNode::list::<O::State>(crate::operator::OPERATOR_STATE, O::REDISTRIBUTION)];
        let index = self.draft.operator(node);
        Stream::new(self.draft, Apply::new(self.chain, operator, index))
    }

    /// Divides the stream by key: all records of a key go to the same subtask. The key may borrow from the record:
    /// `clicks.key_by::<String>(|click| click.get().url)`. The function must be pure: it runs more than once for
    /// a record, and for some records before their turn.
    pub fn key_by<K: Key>(
        self,
        key: impl for<'a> FnMut(View<'a, C::Out>) -> K::Ref<'a> + Clone + Send + 'static,
    ) -> KeyedStream<C::Out, K, impl for<'a> FnMut(View<'a, C::Out>) -> K::Ref<'a> + Clone + Send + 'static>
    {
        let route = key.clone();
        let draft = self.exchange(Link::All, move |cx, edge, chain| {
            let route = crate::exchange::KeyRoute::new(route.clone(), cx.router(edge));
            let lanes = cx.lanes(edge);
            chain.build(cx, Exchange::new(lanes, route))
        });
        KeyedStream::new(draft, key)
    }

    /// Spreads the records evenly over the subtasks of the next chain, round robin.
    pub fn rebalance(self) -> Stream<InputChain<C::Out>> {
        let draft = self.exchange(Link::All, move |cx, edge, chain| {
            let lanes = cx.lanes(edge);
            let route = Rebalance::new(cx.subtask, lanes.len());
            chain.build(cx, Exchange::new(lanes, route))
        });
        InputChain::stream(draft, "rebalance")
    }

    /// Sends every record to every subtask of the next chain.
    pub fn broadcast(self) -> Stream<InputChain<C::Out>> {
        let draft = self.exchange(Link::Broadcast, move |cx, edge, chain| {
            let lanes = cx.lanes(edge);
            chain.build(cx, Broadcast::new(lanes))
        });
        InputChain::stream(draft, "broadcast")
    }

    /// Both streams as one, in no particular order between them.
    pub fn union<D: Chain<Out = C::Out>>(self, other: Stream<D>) -> Stream<InputChain<C::Out>> {
        let mut draft = self.hand_on();
        draft.inputs.extend(other.hand_on().inputs);
        InputChain::stream(draft, "union")
    }

    /// The same stream twice, to be used in two ways.
    pub fn fork(self) -> (Stream<InputChain<C::Out>>, Stream<InputChain<C::Out>>) {
        let graph = self.draft.graph.clone();
        let parallelism = self.draft.parallelism;
        let edges = [(); 2].map(|()| graph.borrow_mut().add_edge(Edge::new::<C::Out>(Link::Forward)));
        let chain = self.chain;
        self.draft.end(
            edges.to_vec(),
            Box::new(move |cx| {
                let [first, second] = edges.map(|edge| Exchange::new(cx.lanes(edge), Forward));
                chain.clone().build(cx, crate::exchange::Fork::new(first, second))
            }),
        );
        let [first, second] = edges.map(|edge| {
            let mut draft = Draft::new(graph.clone(), vec![edge]);
            draft.parallelism = parallelism;
            InputChain::stream(draft, "fork")
        });
        (first, second)
    }

    /// Ends the stream in a sink.
    pub fn sink<K: Sink<In = C::Out>>(mut self, sink: K) -> SinkHandle {
        let mut node = OperatorNode::new("sink");
        node.lists = vec![OperatorNode::list::<K::State>(crate::operator::SINK_STATE, K::REDISTRIBUTION)];
        node.sink = Some(Box::new(OfSink(sink.clone())));
        let index = self.draft.operator(node);
        let chain = self.chain;
        let graph = self.draft.end(
            Vec::new(),
            Box::new(move |cx| {
                let stage =
                    SinkStage::new(sink.clone(), cx.operator_id(index), cx.sink_context(), cx.fault.clone());
                chain.clone().build(cx, stage)
            }),
        );
        SinkHandle::new(graph, index)
    }

    /// Ends the chain at an exchange that spreads records evenly and keeps the parallelism.
    pub(super) fn hand_on(self) -> Draft {
        let parallelism = self.draft.parallelism;
        let mut draft = self.exchange(Link::All, move |cx, edge, chain| {
            let lanes = cx.lanes(edge);
            let route = Rebalance::new(cx.subtask, lanes.len());
            chain.build(cx, Exchange::new(lanes, route))
        });
        draft.parallelism = parallelism;
        draft
    }

    /// Ends the chain at one edge, and begins the draft of the task behind it.
    fn exchange(self, link: Link, build: impl BuildAt<C>) -> Draft {
        let edge = self.draft.graph.borrow_mut().add_edge(Edge::new::<C::Out>(link));
        Draft::new(self.end_at(edge, build), vec![edge])
    }

    /// Ends the chain at this edge.
    pub(super) fn end_at(self, edge: EdgeIndex, mut build: impl BuildAt<C>) -> Rc<RefCell<Graph>> {
        let chain = self.chain;
        self.draft.end(vec![edge], Box::new(move |cx| build(cx, edge, chain.clone())))
    }
}

//! `iterate`: a stream whose records go round.

use super::stream::Stream;
use super::{Draft, KeyedStream};
use crate::exchange::{Exchange, Feedback, KeyRoute, Rebalance};
use crate::graph::{Edge, Link};
use crate::operator::Chain;
use crate::task::{EdgeIndex, InputChain};
use millstream_io::record::{Key, Record, View};

impl<C: Chain> Stream<C> {
    /// A loop. `body` gets the stream of what comes from this one and of what is fed back, and returns two streams: the
    /// records that go round once more, and those that leave. A body that handles a record in one of two ways forks and
    /// filters.
    ///
    /// ```
    /// use millstream::Env;
    /// use millstream::connector::{CollectSink, Collection};
    ///
    /// let env = Env::new();
    /// let sink = CollectSink::new();
    /// let found = sink.collected();
    /// // (first, now, steps)
    /// let numbers = env.source(Collection::new(vec![(6u64, 6u64, 0u64), (7, 7, 0), (1, 1, 0)]));
    /// let ends = numbers.iterate(|numbers| {
    ///     let step = |n: u64| if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
    ///     let stepped = numbers.map(move |(first, n, steps)| match n {
    ///         1 => (first, n, steps),
    ///         n => (first, step(n), steps + 1),
    ///     });
    ///     let (on, ends) = stepped.fork();
    ///     (on.filter(|(_, n, _)| n != 1), ends.filter(|(_, n, _)| n == 1))
    /// });
    /// ends.map(|(first, _, steps)| (first, steps)).sink(sink);
    /// env.execute("collatz")?;
    /// let mut found = found.take();
    /// found.sort();
    /// assert_eq!(found, [(1, 0), (6, 8), (7, 16)]);
    /// # Ok::<(), millstream::Error>(())
    /// ```
    ///
    /// **The end.** The loop ends when its input has ended and no record is in it; that is exact, and no matter of time.
    /// What an operator in the loop emits at the end of its input (`on_end`, `finish`, timers of event time) may leave, but
    /// not be fed back: there is nobody any more who takes it, and the job fails ([`Class::Data`](crate::Class::Data)). The
    /// same is true of a timer of processing time that is due just then; one that is due later is not called.
    ///
    /// **Room.** Records that are fed back go first. What the loop has no room for stands aside as what an alignment holds
    /// back does, in memory and then in files (`execution.checkpointing.alignment.memory`, `…max-spill`), and nothing new is
    /// taken in meanwhile, so that a full loop does not stand still. A loop that makes ever more records fails the attempt
    /// when there is no more room.
    ///
    /// **Checkpoints** are refused (IT-01) unless `execution.checkpointing.iterations.forced` is set: each of them then has,
    /// with the state of the stream's head, the records that were in the loop. After a failure, also at another parallelism,
    /// they go on from there, each once. Barriers go round as well: a checkpoint takes as long as the loop takes for one turn
    /// or more, and one begins its turn when the one before has come back. For barriers that overtake what is in the loop there
    /// is `execution.checkpointing.unaligned.forced`.
    pub fn iterate<B, O>(
        self,
        body: impl FnOnce(Stream<InputChain<C::Out>>) -> (Stream<B>, Stream<O>),
    ) -> Stream<O>
    where
        B: Chain<Out = C::Out>,
        O: Chain,
    {
        let mut draft = self.hand_on();
        let edge = feed_into::<C::Out>(&mut draft);
        let (back, out) = body(InputChain::stream(draft, "iterate"));
        back.end_at(edge, move |cx, edge, chain| {
            let lanes = cx.lanes(edge);
            let route = Rebalance::new(cx.subtask, lanes.len());
            chain.build(cx, Feedback::new(Exchange::new(lanes, route)))
        });
        out
    }
}

impl<T, K, KF> KeyedStream<T, K, KF>
where
    T: Record,
    K: Key,
    KF: for<'a> FnMut(View<'a, T>) -> K::Ref<'a> + Clone + Send + 'static,
{
    /// A loop whose head is a keyed operator: what is fed back goes to the subtask of its key. Otherwise as
    /// [`Stream::iterate`].
    ///
    /// ```
    /// use millstream::Env;
    /// use millstream::connector::{CollectSink, Collection};
    ///
    /// let env = Env::new();
    /// let sink = CollectSink::new();
    /// let visits = sink.collected();
    /// // Each number goes down to 0, and all numbers that it comes by count it.
    /// let numbers = env.source(Collection::new(vec![3u64, 1, 3]));
    /// let counted = numbers.key_by::<u64>(|n| n.get()).iterate(|numbers| {
    ///     let counted = numbers.process::<u64, (u64, u64)>("visits", |cx, n, visits, out| {
    ///         *visits += 1;
    ///         out.emit((cx.key(), *visits));
    ///     });
    ///     let (on, out) = counted.fork();
    ///     (on.filter(|(n, _)| n > 0).map(|(n, _)| n - 1), out)
    /// });
    /// counted.sink(sink);
    /// env.execute("visits")?;
    /// let visits = visits.take();
    /// let most = |n| visits.iter().filter(|(of, _)| *of == n).map(|(_, visits)| *visits).max();
    /// assert_eq!([0, 1, 2, 3].map(most), [Some(3), Some(3), Some(2), Some(2)]);
    /// # Ok::<(), millstream::Error>(())
    /// ```
    pub fn iterate<B, O>(mut self, body: impl FnOnce(Self) -> (Stream<B>, Stream<O>)) -> Stream<O>
    where
        B: Chain<Out = T>,
        O: Chain,
    {
        let edge = feed_into::<T>(&mut self.draft);
        let key = self.key.clone();
        let (back, out) = body(self);
        back.end_at(edge, move |cx, edge, chain| {
            let route = KeyRoute::new(key.clone(), cx.router(edge));
            let lanes = cx.lanes(edge);
            chain.build(cx, Feedback::new(Exchange::new(lanes, route)))
        });
        out
    }
}

/// An edge that leads back to the chain that begins with this draft.
fn feed_into<T: Record>(draft: &mut Draft) -> EdgeIndex {
    let edge = draft.graph.borrow_mut().add_edge(Edge::new::<T>(Link::Feedback));
    draft.inputs.push(edge);
    edge
}

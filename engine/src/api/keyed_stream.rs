//! A stream divided by key, and the operators that keep state for each key.

use super::{Draft, Stream};
use crate::graph::OperatorNode;
use crate::keyed::{Function, KeyContext, KeyedFunction, NoEnd, OnEnd, Process};
use crate::operator::{Chain, Collector};
use crate::task::IN_FLIGHT;
use millstream_io::record::{Key, Record, View};
use millstream_io::source::Redistribution;
use millstream_state::descriptor::Layout;
use millstream_state::kinds::Declarations;
use millstream_state::{Backend, ListDescriptor, StateDescriptor, StateKind};
use std::marker::PhantomData;

/// A stream whose records of one key all go to the same subtask.
#[must_use = "a keyed stream needs an operator: `process`, `reduce`, `aggregate` or `function`"]
pub struct KeyedStream<T, K, KF> {
    pub(super) draft: Draft,
    pub(super) key: KF,
    of: PhantomData<fn() -> (T, K)>,
}

/// The stream behind a process function.
pub type ProcessStream<T, K, V, U, KF, F, G> = Stream<Process<T, K, V, U, KF, F, G>>;

impl<T, K, KF> KeyedStream<T, K, KF>
where
    T: Record,
    K: Key,
    KF: for<'a> FnMut(View<'a, T>) -> K::Ref<'a> + Clone + Send + 'static,
{
    pub(crate) fn new(draft: Draft, key: KF) -> Self {
        Self { draft, key, of: PhantomData }
    }

    /// Calls `f` with every record and its key's value, which begins as `V::default()`. `state` names the value for
    /// snapshots and tools; the stream's uid and this name are what finds it again.
    ///
    /// ```no_run
    /// # use millstream::{Env, connector::Collection};
    /// # let env = Env::new();
    /// let words = env.source(Collection::new(vec!["to".to_string(), "be".to_string()]));
    /// let counts = words.key_by::<String>(|word| word.get()).process::<u64, (String, u64)>(
    ///     "count",
    ///     |cx, _word, count, out| {
    ///         *count += 1;
    ///         out.emit((cx.key(), *count));
    ///     },
    /// );
    /// # let _ = counts;
    /// ```
    pub fn process<V, U>(
        mut self,
        state: impl Into<String>,
        f: impl for<'a> FnMut(&mut KeyContext<'_, K>, T::Ref<'a>, &mut V, &mut Collector<'_, U>)
        + Clone
        + Send
        + 'static,
    ) -> ProcessStream<
        T,
        K,
        V,
        U,
        KF,
        impl for<'a> FnMut(&mut KeyContext<'_, K>, T::Ref<'a>, &mut V, &mut Collector<'_, U>)
        + Clone
        + Send
        + 'static,
        NoEnd,
    >
    where
        V: Record + Default,
        U: Record,
    {
        let mut node = OperatorNode::new("process");
        node.states = vec![StateDescriptor {
            name: state.into(),
            kind: StateKind::Value,
            key: K::schema(),
            value: V::schema(),
            namespace: None,
            ttl: false,
            layout: Layout::Hashed,
            // The configuration decides when the job starts.
            backend: Backend::default(),
        }];
        node.lists = vec![in_flight::<T>()];
        let operator = self.draft.operator(node);
        let chain = Process {
            inputs: self.draft.inputs.clone(),
            operator,
            key: self.key,
            f,
            end: NoEnd,
            of: PhantomData,
        };
        Stream::new(self.draft, chain)
    }

    /// Adds a function with states of any kind for each key, and timers: see [`KeyedFunction`]. `name` is what it is called in
    /// messages; `declare` declares its states and puts their handles into it. The stream's uid and the names of the states
    /// are what finds them again.
    pub fn function<F>(
        mut self,
        name: impl Into<String>,
        declare: impl FnOnce(&mut Declarations<K>) -> F,
    ) -> Stream<Function<T, K, F, KF>>
    where
        F: KeyedFunction<Key = K, In = T>,
    {
        let mut declared = Declarations::new();
        let f = declare(&mut declared);
        let mut node = OperatorNode::new("function");
        node.name = name.into();
        node.states = declared.all().iter().map(|state| state.descriptor().clone()).collect();
        node.lists = vec![in_flight::<T>()];
        let operator = self.draft.operator(node);
        let inputs = self.draft.inputs.clone();
        Stream::new(self.draft, Function { inputs, operator, key: self.key, f, declared, of: PhantomData })
    }

    /// Combines the records of a key into one, and emits the result so far for every record. The first record of a
    /// key is emitted as it is.
    pub fn reduce(
        self,
        f: impl for<'a> FnMut(&mut T, T::Ref<'a>) + Clone + Send + 'static,
    ) -> Stream<impl Chain<Out = T>> {
        let mut f = f;
        self.process::<Option<T>, T>("reduce", move |_, record, value, out| {
            let so_far = match value {
                Some(so_far) => {
                    f(so_far, record);
                    so_far
                }
                none => none.insert(T::own(record)),
            };
            out.emit(so_far.view());
        })
    }

    /// Folds the records of a key into an accumulator, which begins as `A::default()`, and emits `result` of it for
    /// every record.
    pub fn aggregate<A, U>(
        self,
        add: impl for<'a> FnMut(&mut A, T::Ref<'a>) + Clone + Send + 'static,
        result: impl for<'a> FnMut(K::Ref<'a>, &A) -> U + Clone + Send + 'static,
    ) -> Stream<impl Chain<Out = U>>
    where
        A: Record + Default,
        U: Record,
    {
        let (mut add, mut result) = (add, result);
        self.process::<A, U>("aggregate", move |cx, record, value, out| {
            add(value, record);
            out.emit(result(cx.key(), value).view());
        })
    }
}

impl<T, K, V, U, KF, F> ProcessStream<T, K, V, U, KF, F, NoEnd>
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
{
    /// Calls `end` once for every key that has a value when the input has ended, in no particular order.
    pub fn on_end<G>(self, end: G) -> ProcessStream<T, K, V, U, KF, F, OnEnd<G>>
    where
        G: for<'a> FnMut(K::Ref<'a>, &mut V, &mut Collector<'_, U>) + Clone + Send + 'static,
    {
        let Process { inputs, operator, key, f, of, .. } = self.chain;
        Stream::new(self.draft, Process { inputs, operator, key, f, end: OnEnd(end), of })
    }
}

/// What is in flight before a keyed operator: each subtask looks for its keys in all of it, so that it may have been kept at
/// any parallelism (UC-06).
fn in_flight<T: Record>() -> ListDescriptor {
    OperatorNode::list::<T>(IN_FLIGHT, Redistribution::Union)
}

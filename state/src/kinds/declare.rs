//! Which states a function has.

use super::check::{self, Check};
use super::{Aggregate, Aggregating, List, Map, Reduce, Reducing, Timers, Ttl, Value};
use crate::descriptor::{Backend, Layout, StateDescriptor, StateKind};
use millstream_io::Schema;
use millstream_io::record::{Key, Record, Wire};
use std::fmt;
use std::marker::PhantomData;

/// The states of a function, while it declares them: each method adds one and returns the handle that it is used with.
///
/// Names are unique within the function (ST-03); they are what finds a state again after a restore. Of which kind a state
/// is, its types, and whether it has namespaces and a time to live are part of every snapshot: a program that has it
/// otherwise is refused (ER-10 to ER-12, ER-23).
pub struct Declarations<K> {
    all: Vec<Declared>,
    of: PhantomData<fn() -> K>,
}

/// A state as it was declared.
#[derive(Clone)]
pub struct Declared {
    pub(super) descriptor: StateDescriptor,
    pub(super) ttl: Option<Ttl>,
    pub(super) check: Check,
}

impl Declared {
    /// What snapshots say of it; what keeps it is still to be decided.
    pub fn descriptor(&self) -> &StateDescriptor {
        &self.descriptor
    }
}

impl fmt::Debug for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Declared").field("descriptor", &self.descriptor).field("ttl", &self.ttl).finish()
    }
}

impl<K> Clone for Declarations<K> {
    fn clone(&self) -> Self {
        Self { all: self.all.clone(), of: PhantomData }
    }
}

impl<K> fmt::Debug for Declarations<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.all).finish()
    }
}

impl<K: Key> Default for Declarations<K> {
    fn default() -> Self {
        Self { all: Vec::new(), of: PhantomData }
    }
}

impl<K: Key> Declarations<K> {
    /// No state.
    pub fn new() -> Self {
        Self::default()
    }

    /// The states, in the order in which they were declared: their indexes count in it.
    pub fn all(&self) -> &[Declared] {
        &self.all
    }

    fn plain(&mut self) -> Declare<'_, K, ()> {
        Declare { all: &mut self.all, ttl: None, of: PhantomData }
    }

    /// What the next one declares has this time to live, for each value, element, and entry of a map (TT-01).
    ///
    /// ```
    /// # use millstream_state::kinds::{Declarations, List, Ttl};
    /// # use std::time::Duration;
    /// let mut states = Declarations::<u64>::new();
    /// let recent: List<String> = states.with_ttl(Ttl::new(Duration::from_secs(3600))).list("recent");
    /// # let _ = recent;
    /// ```
    pub fn with_ttl(&mut self, ttl: Ttl) -> Declare<'_, K, ()> {
        self.plain().with_ttl(ttl)
    }

    /// What the next one declares has namespaces of this type besides the void one: in each a key has a state of its own
    /// (ST-01).
    ///
    /// ```
    /// # use millstream_io::record::Key;
    /// # use millstream_state::kinds::{Declarations, States, Value};
    /// # use millstream_state::{HeapOrdered, Parallelism};
    /// let mut declared = Declarations::<u64>::new();
    /// let sum: Value<i64, u32> = declared.with_namespaces::<u32>().value("sum");
    /// # let width = Parallelism::new(1, None)?;
    /// # let mut states = States::new(&declared, width, 0, |_, range| Ok(Box::new(HeapOrdered::new(range))))?;
    /// let mut seven = states.at(u64::hash(7), 7);
    /// seven.value(sum).within(2026).set(-5);
    /// assert_eq!(seven.value(sum).within(2026).get(), Some(-5));
    /// assert_eq!(seven.value(sum).within(2027).get(), None);
    /// assert_eq!(seven.value(sum).get(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_namespaces<N: Key>(&mut self) -> Declare<'_, K, N> {
        self.plain().with_namespaces()
    }

    /// Declares a value.
    pub fn value<V: Record>(&mut self, name: impl Into<String>) -> Value<V> {
        self.plain().value(name)
    }

    /// Declares a list.
    pub fn list<T: Record>(&mut self, name: impl Into<String>) -> List<T> {
        self.plain().list(name)
    }

    /// Declares a map.
    pub fn map<MK: Key, MV: Record>(&mut self, name: impl Into<String>) -> Map<MK, MV> {
        self.plain().map(name)
    }

    /// Declares a value that others are folded into.
    pub fn reducing<R: Reduce>(&mut self, name: impl Into<String>) -> Reducing<R> {
        self.plain().reducing(name)
    }

    /// Declares an accumulator.
    pub fn aggregating<A: Aggregate>(&mut self, name: impl Into<String>) -> Aggregating<A> {
        self.plain().aggregating(name)
    }

    /// Declares that there are timers; once. They are states as well, of the names [`EVENT_TIMERS`] and
    /// [`PROCESSING_TIMERS`].
    pub fn timers(&mut self) -> Timers {
        self.plain().timers()
    }
}

/// The name of the state that has a function's timers of event time.
pub const EVENT_TIMERS: &str = "event-timers";

/// The name of the state that has a function's timers of processing time.
pub const PROCESSING_TIMERS: &str = "processing-timers";

/// Declares a state that has something besides name and type.
#[must_use = "this declares nothing yet"]
pub struct Declare<'a, K, N> {
    all: &'a mut Vec<Declared>,
    ttl: Option<Ttl>,
    of: PhantomData<fn() -> (K, N)>,
}

/// Whether there are no other namespaces than the void one: a type with one value tells nothing apart.
pub(super) const fn is_void<N: Key>() -> bool {
    matches!(N::Wire::FIXED, Some(0))
}

impl<'a, K: Key, N: Key> Declare<'a, K, N> {
    /// With a time to live.
    pub fn with_ttl(self, ttl: Ttl) -> Self {
        Self { ttl: ttl.is_on().then_some(ttl), ..self }
    }

    /// With namespaces of this type.
    pub fn with_namespaces<M: Key>(self) -> Declare<'a, K, M> {
        Declare { all: self.all, ttl: self.ttl, of: PhantomData }
    }

    /// Declares a value.
    pub fn value<V: Record>(self, name: impl Into<String>) -> Value<V, N> {
        Value::new(self.add(name, StateKind::Value, V::schema(), check::single::<K, N, V>))
    }

    /// Declares a list.
    pub fn list<T: Record>(self, name: impl Into<String>) -> List<T, N> {
        List::new(self.add(name, StateKind::List, T::schema(), check::list::<K, N, T>))
    }

    /// Declares a map.
    pub fn map<MK: Key, MV: Record>(self, name: impl Into<String>) -> Map<MK, MV, N> {
        Map::new(self.add(name, StateKind::Map, <(MK, MV)>::schema(), check::map::<K, N, MK, MV>))
    }

    /// Declares a value that others are folded into.
    pub fn reducing<R: Reduce>(self, name: impl Into<String>) -> Reducing<R, N> {
        let check = check::single::<K, N, R::Value>;
        Reducing::new(self.add(name, StateKind::Reducing, R::Value::schema(), check))
    }

    /// Declares an accumulator.
    pub fn aggregating<A: Aggregate>(self, name: impl Into<String>) -> Aggregating<A, N> {
        let check = check::single::<K, N, A::Accumulator>;
        Aggregating::new(self.add(name, StateKind::Aggregating, A::Accumulator::schema(), check))
    }

    /// Declares that there are timers, which have no time to live: see [`Declarations::timers`].
    pub fn timers(self) -> Timers<N> {
        let mut all = Declare::<K, N> { all: self.all, ttl: None, of: PhantomData };
        let first = all.add_one(EVENT_TIMERS, StateKind::EventTimers, <()>::schema(), check::timer::<K, N>);
        all.add_one(PROCESSING_TIMERS, StateKind::ProcessingTimers, <()>::schema(), check::timer::<K, N>);
        Timers::new(first)
    }

    fn add(mut self, name: impl Into<String>, kind: StateKind, value: Schema, check: Check) -> u16 {
        self.add_one(name, kind, value, check)
    }

    /// Adds one and returns its index.
    fn add_one(&mut self, name: impl Into<String>, kind: StateKind, value: Schema, check: Check) -> u16 {
        let descriptor = StateDescriptor {
            name: name.into(),
            kind,
            key: K::schema(),
            value,
            namespace: (!is_void::<N>()).then(N::schema),
            ttl: self.ttl.is_some(),
            layout: Layout::Ordered,
            // The configuration decides when the job starts.
            backend: Backend::default(),
        };
        self.all.push(Declared { descriptor, ttl: self.ttl, check });
        u16::try_from(self.all.len() - 1).expect("a function declares at most 65,536 states")
    }
}

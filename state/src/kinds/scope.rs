//! The states of one key.

use super::place::Place;
use super::{
    Aggregate, Aggregating, AggregatingView, List, ListView, Map, MapView, Reduce, Reducing, ReducingView,
    States, Timers, TimersView, Value, ValueView,
};
use crate::key_group::KeyGroup;
use millstream_io::record::{Key, Record};

/// A key, and the states as it has them: what the handles of a function are used with.
pub struct Scope<'s, K: Key> {
    states: &'s mut States<K>,
    group: KeyGroup,
    hash: u64,
    key: K::Ref<'s>,
}

impl<'s, K: Key> Scope<'s, K> {
    pub(super) fn new(states: &'s mut States<K>, group: KeyGroup, hash: u64, key: K::Ref<'s>) -> Self {
        Self { states, group, hash, key }
    }

    /// The key.
    pub fn key(&self) -> K::Ref<'s> {
        self.key
    }

    /// Now, in milliseconds since the epoch, as it was when the record at hand or those before it were taken.
    pub fn now_ms(&self) -> u64 {
        self.states.now_ms()
    }

    /// The key's value.
    pub fn value<V: Record, N: Key>(&mut self, state: Value<V, N>) -> ValueView<'_, V, N> {
        ValueView::new(self.place::<N>(state.index))
    }

    /// The key's list.
    pub fn list<T: Record, N: Key>(&mut self, state: List<T, N>) -> ListView<'_, T, N> {
        ListView::new(self.place::<N>(state.index))
    }

    /// The key's map.
    pub fn map<MK: Key, MV: Record, N: Key>(&mut self, state: Map<MK, MV, N>) -> MapView<'_, MK, MV, N> {
        MapView::new(self.place::<N>(state.index))
    }

    /// What was folded for the key.
    pub fn reducing<R: Reduce, N: Key>(&mut self, state: Reducing<R, N>) -> ReducingView<'_, R, N> {
        ReducingView::new(self.place::<N>(state.index))
    }

    /// What was accumulated for the key.
    pub fn aggregating<A: Aggregate, N: Key>(
        &mut self,
        state: Aggregating<A, N>,
    ) -> AggregatingView<'_, A, N> {
        AggregatingView::new(self.place::<N>(state.index))
    }

    /// The key's timers.
    pub fn timers<N: Key>(&mut self, timers: Timers<N>) -> TimersView<'_, N> {
        self.states.timers(timers, self.group, self.hash).void()
    }

    fn place<N: Key>(&mut self, state: u16) -> Place<'_> {
        self.states.place(state, self.group, self.hash).void::<N>()
    }
}

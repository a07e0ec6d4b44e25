//! Which lane a record takes.

use millstream_io::record::{Key, Record, View};
use millstream_state::key_group::Router;
use std::marker::PhantomData;

/// Chooses the lane of a record. One index per record, no branch on the destination: the subtask's own downstream
/// neighbour is a lane like any other.
pub(crate) trait Route<T: Record>: Send + 'static {
    /// The lane, and the hash that is kept beside a row of varying size.
    fn route(&mut self, record: T::Ref<'_>) -> (usize, u64);

    /// [`Route::route`] for many records: with what it looks things up in at hand, which else is loaded anew for every
    /// record, since for all the compiler knows a row that was written may have changed it.
    #[inline(always)]
    fn routing(&mut self) -> impl FnMut(T::Ref<'_>) -> (usize, u64) {
        |record| self.route(record)
    }
}

/// By key: hash, key group, subtask (KG-01).
pub(crate) struct KeyRoute<T, K, F> {
    key: F,
    router: Router,
    of: PhantomData<fn(T) -> K>,
}

impl<T, K, F> KeyRoute<T, K, F> {
    pub(crate) fn new(key: F, router: Router) -> Self {
        Self { key, router, of: PhantomData }
    }
}

impl<T, K, F> Route<T> for KeyRoute<T, K, F>
where
    T: Record,
    K: Key,
    F: for<'a> FnMut(View<'a, T>) -> K::Ref<'a> + Send + 'static,
{
    #[inline(always)]
    fn route(&mut self, record: T::Ref<'_>) -> (usize, u64) {
        let hash = K::hash((self.key)(View::new(record)));
        (self.router.subtask(hash), hash)
    }

    #[inline(always)]
    fn routing(&mut self) -> impl FnMut(T::Ref<'_>) -> (usize, u64) {
        let (key, subtask) = (&mut self.key, self.router.subtasks());
        move |record| {
            let hash = K::hash(key(View::new(record)));
            (subtask(hash), hash)
        }
    }
}

/// Round robin over all lanes.
pub(crate) struct Rebalance {
    next: usize,
    lanes: usize,
}

impl Rebalance {
    /// Subtasks begin at different lanes, so that few records do not all meet at the first one.
    pub(crate) fn new(subtask: usize, lanes: usize) -> Self {
        Self { next: subtask % lanes, lanes }
    }
}

impl<T: Record> Route<T> for Rebalance {
    #[inline(always)]
    fn route(&mut self, _: T::Ref<'_>) -> (usize, u64) {
        let lane = self.next;
        self.next = if lane + 1 == self.lanes { 0 } else { lane + 1 };
        (lane, 0)
    }
}

/// The only lane.
pub(crate) struct Forward;

impl<T: Record> Route<T> for Forward {
    #[inline(always)]
    fn route(&mut self, _: T::Ref<'_>) -> (usize, u64) {
        (0, 0)
    }
}

//! Which lane a record takes.

use millstream_io::record::{Key, Record, View};
use millstream_state::key_group::Router;
use std::marker::PhantomData;

/// Chooses the lane of a record. One index per record, no branch on the destination: the subtask's own downstream
/// neighbour is a lane like any other.
pub(crate) trait Route<T: Record>: Send + 'static {
    /// The lane, and the hash that is kept beside a row of varying size.
    fn route(&mut self, record: T::Ref<'_>) -> (usize, u64);

    /// Whether [`Route::hash`] and [`Route::lanes`] are there, which choose the lanes of many records at once.
    const MANY: bool = false;

    /// What [`Route::lanes`] wants to know of a record.
    #[inline(always)]
    fn hash(&mut self, _: T::Ref<'_>) -> u64 {
        0
    }

    /// The lanes of many records, the upper halves of whose hashes are given.
    fn lanes(&self, _halves: &[u32], _lanes: &mut [u32]) {}
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
        let hash = self.hash(record);
        (self.router.subtask(hash), hash)
    }

    const MANY: bool = true;

    #[inline(always)]
    fn hash(&mut self, record: T::Ref<'_>) -> u64 {
        K::hash((self.key)(View::new(record)))
    }

    #[inline(always)]
    fn lanes(&self, halves: &[u32], lanes: &mut [u32]) {
        self.router.subtasks(halves, lanes);
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

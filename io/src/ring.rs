//! Rings: how segments and events get from one subtask to another.
//!
//! One producer, one consumer, a power of two of slots. `tail` counts the items put in, `head` those taken out; the
//! slot of count `c` is `c & mask`. Each side writes its own counter and keeps a copy of the other's, which it refreshes
//! only when the copy says full or empty.
//!
//! **Slots carry the empty segments back.** The consumer leaves an emptied segment in the slot it takes from, and the
//! producer finds it there one lap later: one ring and one store a side, no pool beside it. All slots begin empty, and
//! the producer makes a segment whenever none came back: a ring that is never used costs its slots, a busy one allocates
//! nothing.
//!
//! Invariant: slot `c & mask` belongs to the consumer while `head <= c < tail`, else to the producer. It is handed over
//! by the Release store of one counter and the Acquire load of the other side; so each side is alone with the slots that
//! are its own.
//!
//! # Models
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p millstream-io --release --lib loom_` explores every interleaving with at most
//! three preemptions (`LOOM_MAX_PREEMPTIONS` sets another bound) of the models in `ring/loom_tests.rs` and
//! `waker/loom_tests.rs`.
#![expect(unsafe_code, reason = "the ring is one of the places that the architecture names")]

use crate::record::Record;
use crate::segment::Segment;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Ordering, UnsafeCell};
use crate::waker::Waker;
use crossbeam_utils::CachePadded;

/// What travels over a ring, in order.
#[derive(Debug)]
pub enum Item<T: Record, E> {
    /// Records.
    Segment(Segment<T>),
    /// A barrier, a watermark, the end of the input, or what else stands between records.
    Event(E),
}

/// A slot: an item on its way, or an empty segment on its way back, or nothing. Slots are whole cache lines, so that
/// the two sides share none unless they work on the same slot.
#[repr(align(64))]
struct Slot<T: Record, E>(UnsafeCell<Option<Item<T, E>>>);

struct Shared<T: Record, E> {
    head: CachePadded<AtomicUsize>,
    tail: CachePadded<AtomicUsize>,
    producer_gone: AtomicBool,
    consumer_gone: AtomicBool,
    producer: Waker,
    consumer: Waker,
    slots: Box<[Slot<T, E>]>,
}

// SAFETY: the slots are the only part that is not shareable by itself. One `Tx` and one `Rx` exist, which cannot be
// cloned and need `&mut self`; by the invariant above each slot is accessed by one of them at a time. What is moved
// through them is `Send`: segments are, and `E` is.
unsafe impl<T: Record, E: Send> Sync for Shared<T, E> {}
// SAFETY: as above; dropping what is left in the slots on another thread is a move there.
unsafe impl<T: Record, E: Send> Send for Shared<T, E> {}

impl<T: Record, E> Shared<T, E> {
    /// Exchanges the content of the slot of count `count`.
    ///
    /// # Safety
    /// The caller is the side that the slot belongs to.
    #[inline(always)]
    unsafe fn replace(&self, count: usize, item: Option<Item<T, E>>) -> Option<Item<T, E>> {
        let slot = &self.slots[count & (self.slots.len() - 1)];
        // SAFETY: the owner of the slot is alone with it, and the pointer does not outlive the call.
        slot.0.with_mut(|content| unsafe { std::mem::replace(&mut *content, item) })
    }
}

/// Makes a ring of `slots` items. `producer` wakes the thread of the [`Tx`] (there is room again), `consumer` that of
/// the [`Rx`] (there is an item).
///
/// # Panics
/// Where `slots` is no power of two.
pub fn ring<T: Record, E: Send>(slots: usize, producer: Waker, consumer: Waker) -> (Tx<T, E>, Rx<T, E>) {
    assert!(slots.is_power_of_two(), "a ring of {slots} slots: not a power of two");
    let shared = Arc::new(Shared {
        head: CachePadded::new(AtomicUsize::new(0)),
        tail: CachePadded::new(AtomicUsize::new(0)),
        producer_gone: AtomicBool::new(false),
        consumer_gone: AtomicBool::new(false),
        producer,
        consumer,
        slots: (0..slots).map(|_| Slot(UnsafeCell::new(None))).collect(),
    });
    (Tx { shared: Arc::clone(&shared), tail: 0, head_seen: 0 }, Rx { shared, head: 0, tail_seen: 0 })
}

/// The producer's side of a ring. Dropping it closes the ring: what is in it can still be taken out.
pub struct Tx<T: Record, E> {
    shared: Arc<Shared<T, E>>,
    tail: usize,
    head_seen: usize,
}

impl<T: Record, E> Tx<T, E> {
    /// Puts an item in and wakes the consumer. Returns an empty segment that came back, if there is one.
    ///
    /// # Errors
    /// The item, when the ring is full. The producer is woken when there is room.
    #[inline]
    pub fn push(&mut self, item: Item<T, E>) -> Result<Option<Segment<T>>, Item<T, E>> {
        if !self.has_room() {
            return Err(item);
        }
        // SAFETY: `has_room` saw head > tail - slots with Acquire, so the slot of `tail` is the producer's.
        let old = unsafe { self.shared.replace(self.tail, Some(item)) };
        self.tail = self.tail.wrapping_add(1);
        self.shared.tail.store(self.tail, Ordering::Release);
        self.shared.consumer.wake();
        Ok(match old {
            Some(Item::Segment(spare)) => Some(spare),
            _ => None,
        })
    }

    /// Whether the next [`Tx::push`] succeeds.
    #[inline]
    pub fn has_room(&mut self) -> bool {
        let slots = self.shared.slots.len();
        if self.tail.wrapping_sub(self.head_seen) == slots {
            self.head_seen = self.shared.head.load(Ordering::Acquire);
        }
        self.tail.wrapping_sub(self.head_seen) < slots
    }

    /// Whether the consumer is gone, so that nothing pushed will ever be taken.
    pub fn is_closed(&self) -> bool {
        self.shared.consumer_gone.load(Ordering::Acquire)
    }
}

impl<T: Record, E> Drop for Tx<T, E> {
    fn drop(&mut self) {
        self.shared.producer_gone.store(true, Ordering::Release);
        self.shared.consumer.wake();
    }
}

/// The consumer's side of a ring. Dropping it closes the ring.
pub struct Rx<T: Record, E> {
    shared: Arc<Shared<T, E>>,
    head: usize,
    tail_seen: usize,
}

impl<T: Record, E> Rx<T, E> {
    /// Takes the oldest item out and wakes the producer; `None` when there is none. Leaves `spare` in its place, a
    /// segment that is no longer needed; it stays in `spare` while the ring is empty.
    #[inline]
    pub fn pop(&mut self, spare: &mut Option<Segment<T>>) -> Option<Item<T, E>> {
        if self.is_empty() {
            return None;
        }
        let back = spare.take().filter(|segment| !segment.is_large()).map(Item::Segment);
        // SAFETY: `is_empty` saw tail > head with Acquire, so the slot of `head` is the consumer's.
        let item = unsafe { self.shared.replace(self.head, back) };
        self.head = self.head.wrapping_add(1);
        self.shared.head.store(self.head, Ordering::Release);
        self.shared.producer.wake();
        item
    }

    /// Whether there is nothing to take at the moment.
    #[inline]
    pub fn is_empty(&mut self) -> bool {
        if self.head == self.tail_seen {
            self.tail_seen = self.shared.tail.load(Ordering::Acquire);
        }
        self.head == self.tail_seen
    }

    /// Whether the producer is gone and everything it put in has been taken.
    pub fn is_closed(&mut self) -> bool {
        // In this order: what was put in before the producer went is seen by the second look.
        self.shared.producer_gone.load(Ordering::Acquire) && self.is_empty()
    }
}

impl<T: Record, E> Drop for Rx<T, E> {
    fn drop(&mut self) {
        self.shared.consumer_gone.store(true, Ordering::Release);
        self.shared.producer.wake();
    }
}

impl<T: Record, E> std::fmt::Debug for Tx<T, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tx").field("tail", &self.tail).finish_non_exhaustive()
    }
}

impl<T: Record, E> std::fmt::Debug for Rx<T, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rx").field("head", &self.head).finish_non_exhaustive()
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

//! The memory of a shard's slots: where groups of them are whole cache lines, and a large array whole pages of 2 MiB.
//!
//! A `Box<[S]>` would be aligned to the slot alone. Then a lookup that touches one group touches two cache lines, and an
//! array as large as a huge page lies across two of which neither can be one: a lookup in a large table waits for the
//! walk through the page table rather than for the memory. (Measured at 10 million keys: with both, and with groups of slots,
//! lookups took three fifths of the time.)
#![expect(
    unsafe_code,
    reason = "aligned memory, which ruling 17 allows the heap table where it was measured to pay"
)]

use millstream_io::prefetch::{HUGE_PAGE, ask_for_huge_pages};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;

/// A fixed number of slots.
///
/// Invariant: `start` is the beginning of an allocation of `layout_of::<S>(len)`, whose `len` slots are initialised.
#[derive(Debug)]
pub(super) struct Slots<S> {
    start: NonNull<S>,
    len: usize,
}

// SAFETY: the slots are owned alone, as those of a `Box<[S]>` are.
unsafe impl<S: Send> Send for Slots<S> {}
// SAFETY: through a shared array its slots are only shared.
unsafe impl<S: Sync> Sync for Slots<S> {}

impl<S: Default> Slots<S> {
    /// So many empty slots, at least one. (Should a default panic, the memory is lost.)
    pub fn new(len: usize) -> Self {
        let layout = layout_of::<S>(len);
        // SAFETY: there is at least one slot, and slots are not empty.
        let start = unsafe { alloc(layout) }.cast::<S>();
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        // SAFETY: room for `len` slots that may be uninitialised, reachable from here alone.
        let memory = unsafe { std::slice::from_raw_parts_mut(start.as_ptr().cast::<MaybeUninit<S>>(), len) };
        ask_for_huge_pages(memory);
        for slot in memory {
            slot.write(S::default());
        }
        Self { start, len }
    }
}

fn layout_of<S>(len: usize) -> Layout {
    const { assert!(size_of::<S>() > 0, "slots are not empty") }
    let layout = Layout::array::<S>(len.max(1)).expect("no table is as large as half of the address space");
    let align = if layout.size() >= HUGE_PAGE { HUGE_PAGE } else { LINE };
    layout.align_to(align).expect("the size is far below that of the address space")
}

impl<S> Deref for Slots<S> {
    type Target = [S];

    #[inline(always)]
    fn deref(&self) -> &[S] {
        // SAFETY: the invariant.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<S> DerefMut for Slots<S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [S] {
        // SAFETY: the invariant, and nobody else has a reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<S> Drop for Slots<S> {
    fn drop(&mut self) {
        // SAFETY: the slots are initialised and not used again; their memory has this layout.
        unsafe {
            std::ptr::drop_in_place::<[S]>(&raw mut **self);
            dealloc(self.start.as_ptr().cast(), layout_of::<S>(self.len));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_aligned_to_lines_and_large_arrays_to_huge_pages() {
        for (len, align) in [(1, LINE), (1000, LINE), (HUGE_PAGE / 16, HUGE_PAGE)] {
            let slots = Slots::<(u64, u64)>::new(len);
            assert_eq!((slots.len(), slots.as_ptr() as usize % align), (len, 0));
            assert!(slots.iter().all(|slot| *slot == (0, 0)));
        }
    }

    #[test]
    fn slots_are_dropped_with_their_array() {
        let shared = std::sync::Arc::new(());
        let mut slots = Slots::<Option<std::sync::Arc<()>>>::new(3);
        slots[1] = Some(shared.clone());
        assert_eq!(std::sync::Arc::strong_count(&shared), 2);
        drop(slots);
        assert_eq!(std::sync::Arc::strong_count(&shared), 1);
    }
}

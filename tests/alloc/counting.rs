//! The system's allocator, which counts what it is asked for.
#![expect(unsafe_code, reason = "an allocator that counts wraps the system's, whose trait is unsafe")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static LIVE: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

fn taken(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Relaxed);
    let live = LIVE.fetch_add(bytes as u64, Relaxed) + bytes as u64;
    PEAK.fetch_max(live, Relaxed);
}

fn given(bytes: usize) {
    LIVE.fetch_sub(bytes as u64, Relaxed);
}

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: as for the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: as for the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        given(layout.size());
        // SAFETY: as for the caller.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Both may be there for a moment.
        taken(new_size);
        given(layout.size());
        // SAFETY: as for the caller.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The process's counts, for one test at a time.
pub struct Counts {
    _alone: MutexGuard<'static, ()>,
}

impl Counts {
    pub fn take() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        Self { _alone: ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) }
    }

    /// Allocations up to now.
    pub fn allocations(&self) -> u64 {
        ALLOCATIONS.load(Relaxed)
    }

    /// Bytes that are allocated now.
    pub fn live(&self) -> u64 {
        LIVE.load(Relaxed)
    }

    /// What `f` returns, and the most bytes that were allocated at once meanwhile, beyond those before.
    pub fn peak<R>(&self, f: impl FnOnce() -> R) -> (R, u64) {
        let before = self.live();
        PEAK.store(before, Relaxed);
        let result = f();
        (result, PEAK.load(Relaxed) - before)
    }
}

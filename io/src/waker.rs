//! Waking a thread that waits, without costing the one that wakes when nobody waits.
//!
//! A driver thread owns one [`Parker`]; every subtask that it steps, and every ring that feeds one of them, holds a
//! [`Waker`] of it. Whoever has made work visible (an item in a ring, room in one, a message) calls [`Waker::wake`].
//!
//! **The protocol that loses no wake-up.** The thread that wants to wait looks for work *twice*, the second time after
//! it has said that it is about to wait:
//!
//! ```text
//! waiting thread                               waking thread
//! step all: idle                               make work visible
//! prepare():  parked = true                    wake():  fence(SeqCst)
//!             fence(SeqCst)                             parked?  parked = false, unpark
//! step all once more: work -> cancel()
//!                     idle -> park()
//! ```
//!
//! Of the two fences one comes first. If it is the waker's, the second look sees the work; if it is the waiting
//! thread's, the waker sees `parked` and unparks. Without the second look, or without either fence, both may miss each
//! other and the thread sleeps on with work at hand; the loom models below show that.
//!
//! A [`Parker::park`] may end early (a wake-up that came between two waits leaves one behind), so a wait is always
//! part of a loop.
//!
//! Timed waits end late by the thread's timer slack, 50 us by default on Linux: a driver that wants better sets it to
//! 1 ns for its threads.

use crate::sync::{self, Arc, AtomicBool, Mutex, Ordering, fence};
use crossbeam_utils::CachePadded;
use std::time::Duration;

/// What a parker and its wakers share.
#[derive(Default)]
struct Shared {
    /// Set while the thread waits or is about to. Alone on its cache lines: wakers on other cores read it for every
    /// segment, and it changes only when the thread runs out of work.
    parked: CachePadded<AtomicBool>,
    /// Whom to unpark: set by the first [`Parker::prepare`], so before `parked` is.
    thread: Mutex<Option<sync::Thread>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waker").field("parked", &self.parked.load(Ordering::Relaxed)).finish_non_exhaustive()
    }
}

/// Wakes the thread that runs a subtask; a fence and one load when that thread is not waiting.
#[derive(Clone, Debug, Default)]
pub struct Waker(Option<Arc<Shared>>);

impl Waker {
    /// A waker that wakes nobody: for drivers that never wait, such as the simulation's, and for tests. The same as
    /// `Waker::default()`.
    pub fn nobody() -> Self {
        Self(None)
    }

    /// Ends the thread's wait, or keeps it from beginning one, if it is waiting or has said that it is about to. To be
    /// called after the work has been made visible; never blocks.
    #[inline]
    pub fn wake(&self) {
        let Some(shared) = &self.0 else { return };
        fence(Ordering::SeqCst);
        if shared.parked.load(Ordering::Relaxed) {
            shared.unpark();
        }
    }
}

impl Shared {
    #[cold]
    fn unpark(&self) {
        if self.parked.swap(false, Ordering::AcqRel)
            && let Some(thread) = &*lock(&self.thread)
        {
            thread.unpark();
        }
    }
}

/// Where a driver thread waits. Owned by the thread; may be made by another one beforehand, together with its wakers.
#[derive(Debug, Default)]
pub struct Parker {
    shared: Arc<Shared>,
    /// The thread that [`Shared::thread`] names.
    bound: Option<std::thread::ThreadId>,
}

impl Parker {
    /// A parker that nobody waits at yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A waker of the thread that waits here. One may be given to each of several subtasks.
    pub fn waker(&self) -> Waker {
        Waker(Some(Arc::clone(&self.shared)))
    }

    /// Says that the calling thread is about to wait. Look for work once more after this, then call
    /// [`Parker::park`], or [`Parker::cancel`] if there was some.
    pub fn prepare(&mut self) {
        let id = std::thread::current().id();
        if self.bound != Some(id) {
            *lock(&self.shared.thread) = Some(sync::current());
            self.bound = Some(id);
        }
        self.shared.parked.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The second look found work: there is no wait.
    pub fn cancel(&mut self) {
        self.shared.parked.store(false, Ordering::Relaxed);
    }

    /// Waits until woken, but at most `timeout`; may end early. Without a [`Parker::prepare`] before it, it returns at
    /// once, since a wake-up could have been missed.
    pub fn park(&mut self, timeout: Option<Duration>) {
        if self.shared.parked.load(Ordering::Acquire) {
            match timeout {
                Some(timeout) => sync::park_timeout(timeout),
                None => sync::park(),
            }
            self.cancel();
        }
    }
}

/// The lock's content. A panic while it was held cannot leave it half changed.
fn lock<T>(mutex: &Mutex<T>) -> impl std::ops::DerefMut<Target = T> + '_ {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

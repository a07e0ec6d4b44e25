//! Atomics, cells and threads: the standard ones, or loom's where a model is checked (`--cfg loom`).
//!
//! Only [`ring`](crate::ring) and [`waker`](crate::waker) synchronise anything; they take everything from here, so
//! that what loom explores is the code that runs.

#[cfg(not(loom))]
pub(crate) use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    sync::{Arc, Mutex},
    thread::{Thread, current, park},
};

#[cfg(loom)]
pub(crate) use loom::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    sync::{Arc, Mutex},
    thread::{Thread, current, park},
};

/// A cell whose accesses loom checks; without loom a plain [`std::cell::UnsafeCell`].
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(Inner<T>);

#[cfg(not(loom))]
type Inner<T> = std::cell::UnsafeCell<T>;
#[cfg(loom)]
type Inner<T> = loom::cell::UnsafeCell<T>;

impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Inner::new(value))
    }

    /// Calls `f` with the pointer to the value. Whoever uses the pointer answers for being alone with it meanwhile.
    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        #[cfg(not(loom))]
        return f(self.0.get());
        #[cfg(loom)]
        return self.0.with_mut(f);
    }
}

/// Parks for at most `timeout`; loom knows no time, there a timed wait is one that may end at once.
pub(crate) fn park_timeout(timeout: std::time::Duration) {
    #[cfg(not(loom))]
    std::thread::park_timeout(timeout);
    #[cfg(loom)]
    {
        let _ = timeout;
        loom::thread::yield_now();
    }
}

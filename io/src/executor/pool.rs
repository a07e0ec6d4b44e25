//! Background work on threads.

use super::{Executor, Work};
use parking_lot::{Condvar, Mutex};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A small thread pool of its own, so that a job's background work and the user's own use of a global pool do not
/// wait for each other.
///
/// Work that panics is dropped; the pool and the process go on. Dropping the executor lets work that was taken finish,
/// without waiting for it.
///
/// ```
/// use millstream_io::executor::{Executor, RayonExecutor};
///
/// let executor = RayonExecutor::new(1)?;
/// let (done, wait) = std::sync::mpsc::channel();
/// executor.spawn(Box::new(move || done.send(2 + 2).unwrap()));
/// assert_eq!(wait.recv(), Ok(4));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct RayonExecutor {
    pool: rayon::ThreadPool,
    taken: Arc<Taken>,
}

/// How much work was taken and is not done.
#[derive(Debug, Default)]
struct Taken {
    count: Mutex<usize>,
    none: Condvar,
}

impl RayonExecutor {
    /// Threads that background work gets unless said otherwise: it mostly waits for the disk, and the cores belong
    /// to the subtasks.
    pub const DEFAULT_THREADS: usize = 2;

    /// A pool of `threads` threads (at least one), named `millstream-background-<n>`.
    ///
    /// # Errors
    /// The system gives no more threads.
    pub fn new(threads: usize) -> io::Result<Self> {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.max(1))
            .thread_name(|n| format!("millstream-background-{n}"))
            .build()
            .map(|pool| Self { pool, taken: Arc::default() })
            .map_err(io::Error::other)
    }
}

impl Executor for RayonExecutor {
    fn spawn(&self, work: Work) {
        // First come, first served: the oldest checkpoint's work is the most urgent.
        *self.taken.count.lock() += 1;
        let taken = self.taken.clone();
        self.pool.spawn_fifo(move || {
            super::run(work);
            let mut count = taken.count.lock();
            *count -= 1;
            if *count == 0 {
                taken.none.notify_all();
            }
        });
    }

    fn each(&self, count: usize, f: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let share = || {
            // Only who has which number is agreed on here; what the calls leave is handed over by the end of the scope.
            let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < count);
            while let Some(n) = take() {
                f(n);
            }
        };
        self.pool.in_place_scope_fifo(|scope| {
            for _ in 1..self.width().min(count) {
                scope.spawn_fifo(|_| share());
            }
            share();
        });
    }

    fn width(&self) -> usize {
        self.pool.current_num_threads() + 1
    }

    fn settle(&self, most: Duration) {
        let mut count = self.taken.count.lock();
        self.taken.none.wait_while_for(&mut count, |count| *count > 0, most);
    }
}

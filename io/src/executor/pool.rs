//! Background work on threads.

use super::{Executor, Work};
use std::io;

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
            .map(|pool| Self { pool })
            .map_err(io::Error::other)
    }
}

impl Executor for RayonExecutor {
    fn spawn(&self, work: Work) {
        // First come, first served: the oldest checkpoint's work is the most urgent.
        self.pool.spawn_fifo(move || super::run(work));
    }
}

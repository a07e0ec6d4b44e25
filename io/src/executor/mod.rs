//! Background work: what a subtask starts and does not wait for.

mod pool;
mod step;
#[cfg(test)]
mod tests;

pub use pool::RayonExecutor;
pub use step::StepExecutor;

use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// A piece of background work. It reports its outcome by itself (typically over a channel that it owns); when it
/// panics it is dropped, and whoever waits for its report sees the other end gone.
pub type Work = Box<dyn FnOnce() + Send>;

/// Runs background work: a thread pool in a real job, steps of the schedule in a simulation.
pub trait Executor: Send + Sync + 'static {
    /// Takes a piece of work. Never blocks; the work runs later, on any thread, exactly once, unless the process or
    /// the simulated process dies first.
    fn spawn(&self, work: Work);

    /// Calls `f` with every number below `count` and returns once all these calls have: for work that somebody waits for. They
    /// may go on at once, on this thread, which takes its share, and on others. Unless it is said otherwise they come one
    /// after another, here, as they do where somebody else has all other work run.
    ///
    /// # Panics
    /// When a call does; calls that have not begun may then never be made.
    fn each(&self, count: usize, f: &(dyn Fn(usize) + Sync)) {
        (0..count).for_each(f);
    }

    /// The most calls of [`each`](Self::each) that go on at once.
    fn width(&self) -> usize {
        1
    }

    /// Waits until all work that was taken has been done, but no longer than `most`, where work runs by itself. Where
    /// somebody else has it run, it cannot be waited for, and this does nothing.
    fn settle(&self, most: Duration) {
        let _ = most;
    }
}

impl dyn Executor {
    /// What `f` gives for every number below `count`, in their order: [`each`](Executor::each) calls it.
    ///
    /// ```
    /// use millstream_io::executor::{Executor, RayonExecutor};
    ///
    /// let executor: &dyn Executor = &RayonExecutor::new(1)?;
    /// assert_eq!(executor.map(4, |n| n * n), [0, 1, 4, 9]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Panics
    /// When `f` does.
    pub fn map<T: Send>(&self, count: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let places: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
        self.each(count, &|n| {
            let result = f(n);
            *places[n].lock() = Some(result);
        });
        let all = places.into_iter().map(|place| place.into_inner().expect("each number is called once"));
        all.collect()
    }
}

/// Runs work at once, on the thread that brings it; for tools and tests that have nothing else to do meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub struct InlineExecutor;

impl Executor for InlineExecutor {
    fn spawn(&self, work: Work) {
        run(work);
    }
}

/// Runs work; a panic ends there, after the panic hook has printed it.
fn run(work: Work) {
    // What the work captured is gone afterwards, so nothing half changed can be seen through it.
    let _ = catch_unwind(AssertUnwindSafe(work));
}

//! Background work that waits until it is told to run.

use super::{Executor, Work};
use parking_lot::Mutex;
use std::sync::Arc;

/// Background work as steps of a schedule: nothing runs before [`StepExecutor::run`] chooses it. Clones share their
/// queue.
///
/// ```
/// use millstream_io::executor::{Executor, StepExecutor};
///
/// let executor = StepExecutor::new();
/// executor.spawn(Box::new(|| println!("first")));
/// executor.spawn(Box::new(|| println!("second")));
/// assert!(executor.run(1));
/// assert_eq!(executor.len(), 1);
/// ```
#[derive(Clone, Default)]
pub struct StepExecutor {
    queue: Arc<Mutex<Vec<Work>>>,
}

impl StepExecutor {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of pieces of work that wait.
    pub fn len(&self) -> usize {
        self.queue.lock().len()
    }

    /// Whether none wait.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Runs the `index`th oldest piece of work that waits, on this thread; false when there is none. Work that it
    /// brings itself goes to the end of the queue.
    pub fn run(&self, index: usize) -> bool {
        let work = {
            let mut queue = self.queue.lock();
            if index >= queue.len() {
                return false;
            }
            queue.remove(index)
        };
        super::run(work);
        true
    }

    /// Runs everything, oldest first, also what is brought meanwhile.
    pub fn run_all(&self) {
        while self.run(0) {}
    }

    /// Drops everything that waits, as the death of the process does.
    pub fn clear(&self) {
        // Outside the lock: what the work captured may bring more as it goes.
        let dropped = std::mem::take(&mut *self.queue.lock());
        drop(dropped);
    }
}

impl Executor for StepExecutor {
    fn spawn(&self, work: Work) {
        self.queue.lock().push(work);
    }
}

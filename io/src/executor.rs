//! Background work: what a subtask starts and does not wait for.

/// A piece of background work. It reports its outcome by itself (typically over a channel that it owns).
pub type Work = Box<dyn FnOnce() + Send>;

/// Runs background work: a thread pool in a real job, steps of the schedule in a simulation.
pub trait Executor: Send + Sync + 'static {
    /// Takes a piece of work. Never blocks; the work runs later, on any thread, exactly once, unless the process or
    /// the simulated process dies first.
    fn spawn(&self, work: Work);
}

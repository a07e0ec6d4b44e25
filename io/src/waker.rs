//! Waking a subtask that waits.

/// Wakes the thread that runs a subtask; cheap when it is not asleep.
#[derive(Clone, Debug, Default)]
pub struct Waker;

impl Waker {
    /// Wakes it.
    pub fn wake(&self) {}
}

//! Waiting for what another process does: looking again until it is there, never longer than patience lasts.

use std::time::{Duration, Instant};

/// Nothing that is waited for takes longer, unless it never happens.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long to rest between two looks, so that the process looked at has the machine.
const LOOK: Duration = Duration::from_millis(1);

/// Looks again and again until there is something.
///
/// # Panics
/// It has not come within a minute.
#[track_caller]
pub fn wait_for<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_within(PATIENCE, what, look)
}

/// Looks again and again until there is something.
///
/// # Panics
/// It has not come in time.
#[track_caller]
pub fn wait_within<T>(time: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < time, "waited {time:?} in vain for {what}");
        pause(LOOK);
    }
}

/// Lets time pass: before a kill at a random moment, or where the case itself is about a span of time. Never a way to
/// wait for an event.
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}

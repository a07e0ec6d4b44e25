//! Time as a value that is handed in.
//!
//! Nothing in the engine or in state asks the operating system for the time: it asks the [`Clock`] it was given, so
//! that a simulation can replace time and a run becomes a function of its seed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A moment on a monotonic clock, as the time since the clock's own beginning.
pub type Moment = Duration;

/// Where time comes from.
pub trait Clock: Send + Sync + 'static {
    /// Monotonic time since the clock began. Never goes back, whatever happens to the wall clock.
    fn now(&self) -> Moment;

    /// Wall-clock time in milliseconds since the Unix epoch; for people and file names, never for differences.
    fn wall_ms(&self) -> u64;
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    start: std::time::Instant,
}

impl SystemClock {
    /// A clock that begins now.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks the operating system")]
    pub fn new() -> Self {
        Self { start: std::time::Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        self.start.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks the operating system")]
    fn wall_ms(&self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
    }
}

/// A clock that moves only when told to; for tests and simulations.
///
/// ```
/// use millstream_io::clock::{Clock, ManualClock};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// clock.advance(Duration::from_millis(5));
/// assert_eq!(clock.now(), Duration::from_millis(5));
/// ```
#[derive(Debug, Default)]
pub struct ManualClock {
    nanos: AtomicU64,
}

impl ManualClock {
    /// Wall-clock time of moment zero: 2020-01-01 00:00 UTC, in milliseconds.
    pub const EPOCH_MS: u64 = 1_577_836_800_000;

    /// A clock that stands at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.nanos.fetch_add(by.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Moves the clock to `to` unless it is already there or later.
    pub fn advance_to(&self, to: Moment) {
        self.nanos.fetch_max(to.as_nanos() as u64, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Moment {
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed))
    }

    fn wall_ms(&self) -> u64 {
        Self::EPOCH_MS + self.now().as_millis() as u64
    }
}

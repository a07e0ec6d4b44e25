//! Virtual time.

use millstream::Clock;
use millstream_io::clock::{ManualClock, Moment};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A clock that moves when the simulation moves it, and now and then a little when it is looked at, so that work that
/// is cut by time is cut in simulations too.
#[derive(Debug)]
pub(crate) struct VirtualClock {
    time: ManualClock,
    looks: AtomicU64,
}

/// Every so many looks the clock jumps.
const LOOKS: u64 = 13;
const JUMP: Duration = Duration::from_micros(700);

impl VirtualClock {
    pub(crate) fn new(seed: u64) -> Self {
        Self { time: ManualClock::new(), looks: AtomicU64::new(seed % LOOKS) }
    }

    pub(crate) fn advance_to(&self, to: Moment) {
        self.time.advance_to(to);
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.time.advance(by);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Moment {
        if self.looks.fetch_add(1, Ordering::Relaxed) % LOOKS == LOOKS - 1 {
            self.time.advance(JUMP);
        }
        self.time.now()
    }

    fn wall_ms(&self) -> u64 {
        self.time.wall_ms()
    }
}

//! What a thread does when none of its subtasks has anything to do.

use crate::config::WaitStrategy;
use millstream_io::clock::{Clock, Moment};
use std::time::Duration;

/// Idle rounds before a thread that has a core to itself gives it away.
const SPINS: u32 = 200;

/// How long to yield before parking. Longer makes a thread use up its share of a busy core and then wait for its
/// neighbours' slices; shorter parks between records that come 20 us apart.
const YIELD: Duration = Duration::from_micros(100);

/// Decides between spinning, yielding and parking.
pub(crate) struct Wait {
    strategy: WaitStrategy,
    /// Whether every thread of the job has a core to itself.
    room: bool,
    idle: u32,
    since: Option<Moment>,
}

impl Wait {
    pub(crate) fn new(strategy: WaitStrategy, room: bool) -> Self {
        Self { strategy, room, idle: 0, since: None }
    }

    /// There was something to do.
    #[inline]
    pub(crate) fn worked(&mut self) {
        self.idle = 0;
        self.since = None;
    }

    /// There was nothing to do: waits a moment, or says that it is time to park.
    pub(crate) fn should_park(&mut self, clock: &dyn Clock) -> bool {
        match self.strategy {
            WaitStrategy::BusySpin => {
                std::hint::spin_loop();
                false
            }
            WaitStrategy::Park => true,
            WaitStrategy::Adaptive => self.adapt(clock),
        }
    }

    fn adapt(&mut self, clock: &dyn Clock) -> bool {
        self.idle += 1;
        if self.room && self.idle < SPINS {
            std::hint::spin_loop();
            return false;
        }
        let now = clock.now();
        let since = *self.since.get_or_insert(now);
        if now.saturating_sub(since) < YIELD {
            std::thread::yield_now();
            return false;
        }
        true
    }
}

//! When a keyed function has something to do without a record: a timer of processing time is due, or something in its state
//! may have expired.

use crate::task::STEP;
use millstream_io::clock::{Clock, Moment};
use millstream_io::id::CheckpointId;
use millstream_io::record::Key;
use millstream_state::kinds::{States, TimerKind};
use std::sync::Arc;
use std::time::Duration;

/// The clock on the wall is looked at this often while a timer waits: it may be set, which the other one does not know.
const LONGEST: Duration = Duration::from_secs(1);

/// Between two looks at entries that may have expired, while few have.
const SELDOM: Duration = Duration::from_secs(1);

/// The same while many have, and before another attempt where there is no room below.
const SOON: Duration = Duration::from_millis(1);

/// Entries that are looked at at a time.
const LOOKS: usize = 1024;

/// Timers that are called at a time.
const CALLS: usize = 1024;

/// Timers between two looks at the clock.
const LOOK: usize = 16;

/// Whether timers are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// The last barrier before a stop has passed: what was called now would be called again.
    Paused(CheckpointId),
    /// The input has ended: timers that wait are not called any more (TM-03).
    Ended,
}

/// See the module page.
pub(super) struct Alarm {
    clock: Arc<dyn Clock>,
    phase: Phase,
    /// The moment that no timer is due before on the wall, and on the other clock.
    timer: Option<(i64, Moment)>,
    /// When to look at entries next.
    clean: Moment,
}

impl Alarm {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, phase: Phase::Running, timer: None, clean: Moment::ZERO }
    }

    /// Whether timers are called now.
    pub fn rings(&self) -> bool {
        self.phase == Phase::Running
    }

    /// The input has ended.
    pub fn end(&mut self) {
        self.phase = Phase::Ended;
    }

    /// The last barrier before a stop has passed.
    pub fn pause(&mut self, last: CheckpointId) {
        if self.phase != Phase::Ended {
            self.phase = Phase::Paused(last);
        }
    }

    /// A checkpoint was aborted; if it was that of the last barrier, there is no stop.
    pub fn go_on(&mut self, aborted: CheckpointId) {
        if self.phase == Phase::Paused(aborted) {
            self.phase = Phase::Running;
        }
    }

    /// When something is to be done: to be asked after records, which may have registered timers.
    pub fn due<K: Key>(&mut self, states: &States<K>) -> Option<Moment> {
        let wall = states.no_timer_before(TimerKind::Processing).filter(|_| self.rings());
        if self.timer.map(|(wall, _)| wall) != wall {
            self.timer = wall.map(|wall| (wall, moment(&*self.clock, wall)));
        }
        self.timer.map(|(_, moment)| moment)
    }

    /// After a tick, when the next one is to be.
    pub fn next<K: Key>(&mut self, states: &States<K>, now: Moment, full: bool) -> Option<Moment> {
        self.timer = None;
        let timer = match self.due(states) {
            Some(_) if full => Some(now + SOON),
            due => due,
        };
        let clean = states.has_ttl().then_some(self.clean);
        timer.into_iter().chain(clean).min()
    }

    /// Looks at some entries, if it is time to.
    pub fn clean<K: Key>(&mut self, states: &mut States<K>, now: Moment) {
        if states.has_ttl() && now >= self.clean {
            let removed = states.clean(LOOKS);
            // Where one of eight had expired there are probably more.
            self.clean = now + if removed > LOOKS / 8 { SOON } else { SELDOM };
        }
    }
}

/// When the clock on the wall will show that time, as far as that can be known.
fn moment(clock: &dyn Clock, wall: i64) -> Moment {
    let now = i64::try_from(clock.wall_ms()).unwrap_or(i64::MAX);
    let left = u64::try_from(wall.saturating_sub(now)).unwrap_or(0);
    clock.now() + Duration::from_millis(left).min(LONGEST)
}

/// How long timers are called in one step (ruling 11).
pub(super) struct Turn<'a> {
    clock: &'a dyn Clock,
    began: Moment,
    calls: usize,
}

impl<'a> Turn<'a> {
    pub fn new(clock: &'a dyn Clock, began: Moment) -> Self {
        Self { clock, began, calls: 0 }
    }

    /// Counts a call; whether none is to follow it.
    pub fn is_over(&mut self) -> bool {
        self.calls += 1;
        self.calls > CALLS
            || (self.calls.is_multiple_of(LOOK) && self.clock.now().saturating_sub(self.began) >= STEP)
    }
}

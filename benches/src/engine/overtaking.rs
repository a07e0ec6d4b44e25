//! `unaligned/duration`: how long a checkpoint takes where records wait, with barriers that overtake them and without.

use super::fold::Fold;
use crate::times;
use crate::workload::Outcome;
use millstream::connector::Generator;
use millstream::source::{Poll, SourceContext};
use millstream::{ConnectorError, Emit, Env, Source};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that make a record long, so that a few thousand of them fill what is between two subtasks.
type Rest = [u8; 240];

/// What the sink needs for a record, at least.
const PAUSE: Duration = Duration::from_micros(50);

/// The slower input's pause between two records: a hundred times the sink's.
const SLOWER: Duration = Duration::from_millis(5);

/// Records that have come through before the first checkpoint is timed: all that lies between is full then.
const FIRST: u64 = 2_000;

const CHECKPOINTS: usize = 9;

/// A record each time the pause is over, without end.
#[derive(Clone)]
struct Slow {
    mine: bool,
    next: Duration,
    clock: Option<SourceContext>,
}

impl Source for Slow {
    type Out = (u64, Rest);
    type Split = u64;

    fn discover(&mut self, _: &SourceContext) -> Result<Vec<u64>, ConnectorError> {
        Ok(vec![0])
    }

    fn open(&mut self, cx: SourceContext, splits: Vec<u64>) -> Result<(), ConnectorError> {
        self.mine = !splits.is_empty();
        self.next = cx.clock.now();
        self.clock = Some(cx);
        Ok(())
    }

    fn poll(&mut self, out: &mut impl Emit<Self::Out>) -> Result<Poll, ConnectorError> {
        let Some(cx) = self.clock.as_ref().filter(|_| self.mine) else { return Ok(Poll::Done) };
        if cx.clock.now() < self.next {
            return Ok(Poll::Idle(Some(self.next)));
        }
        out.emit((u64::MAX, [0; 240]));
        self.next += SLOWER;
        Ok(Poll::More)
    }

    fn snapshot(&mut self) -> Result<Vec<u64>, ConnectorError> {
        Ok(vec![0; usize::from(self.mine)])
    }
}

/// The median of some checkpoints in milliseconds, from the request to the answer. A fast source and one that is a hundred
/// times slower than the sink send to that.
///
/// # Errors
/// The job's.
pub fn run(unaligned: bool) -> Result<Outcome, String> {
    let env = Env::new();
    env.configure(|settings| {
        // Only those that are asked for.
        settings.checkpointing.interval = Some(Duration::from_secs(24 * 3600));
        settings.checkpointing.unaligned = unaligned;
    });
    let seen = Arc::new(AtomicU64::new(0));
    let written = Arc::clone(&seen);
    let fast = env.source(Generator::new(u64::MAX, |i| (i, [0u8; 240]))).parallelism(1);
    let slow = env.source(Slow { mine: false, next: Duration::ZERO, clock: None }).parallelism(1);
    fast.union(slow).parallelism(1).sink(Fold::<(u64, Rest), _>::new(move |_, _| {
        thread::sleep(PAUSE);
        written.fetch_add(1, Ordering::Relaxed);
    }));
    let handle = env.start("overtaking").map_err(|error| error.to_string())?;
    while seen.load(Ordering::Relaxed) < FIRST {
        thread::sleep(Duration::from_millis(1));
    }
    let mut taken = Vec::with_capacity(CHECKPOINTS);
    for _ in 0..CHECKPOINTS {
        let begun = Instant::now();
        handle.checkpoint().map_err(|error| error.to_string())?;
        taken.push(begun.elapsed());
        // What was let go is on its way again.
        thread::sleep(SLOWER * 4);
    }
    handle.cancel().map_err(|error| error.to_string())?;
    let figure = times::percentile(&mut taken, 0.5) / 1000.0;
    Ok(Outcome { figure, result: vec![("checkpoints", CHECKPOINTS as u64)] })
}

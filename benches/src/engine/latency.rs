//! `latency` on the engine: a paced source, one exchange by key, a sink that looks at the clock.

use crate::latency::{Delays, RECORDS, due};
use crate::workload::Outcome;
use millstream::sink::{Epoch, PreCommit, SinkContext};
use millstream::source::{Poll, SourceContext};
use millstream::{CheckpointId, ConnectorError, Emit, Env, Sink, Source};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Emits each record when it is due.
#[derive(Clone)]
struct Paced {
    begin: Instant,
    next: u64,
    /// The engine's clock when `begin` was.
    offset: Duration,
}

impl Source for Paced {
    type Out = u64;
    type Split = u64;

    fn discover(&mut self, _: &SourceContext) -> Result<Vec<u64>, ConnectorError> {
        Ok(vec![0])
    }

    fn open(&mut self, cx: SourceContext, splits: Vec<u64>) -> Result<(), ConnectorError> {
        self.next = splits.first().copied().unwrap_or(RECORDS);
        self.offset = cx.clock.now().saturating_sub(self.begin.elapsed());
        Ok(())
    }

    fn poll(&mut self, out: &mut impl Emit<u64>) -> Result<Poll, ConnectorError> {
        let now = self.begin.elapsed();
        let first = self.next;
        while self.next < RECORDS && due(self.next) <= now {
            out.emit(self.next);
            self.next += 1;
        }
        Ok(match () {
            () if self.next == RECORDS => Poll::Done,
            () if self.next == first => Poll::Idle(Some(self.offset + due(self.next))),
            () => Poll::More,
        })
    }

    fn snapshot(&mut self) -> Result<Vec<u64>, ConnectorError> {
        Ok(vec![self.next])
    }
}

/// Notes when records arrive.
#[derive(Clone)]
struct Arrivals {
    begin: Instant,
    delays: Arc<Mutex<Delays>>,
    mine: Vec<(u64, Duration)>,
}

impl Sink for Arrivals {
    type In = u64;
    type State = ();

    fn open(&mut self, _: SinkContext, _: Vec<()>) -> Result<(), ConnectorError> {
        self.mine = Vec::with_capacity(RECORDS as usize);
        Ok(())
    }

    fn write(&mut self, i: u64) -> Result<(), ConnectorError> {
        self.mine.push((i, self.begin.elapsed()));
        Ok(())
    }

    fn pre_commit(&mut self, _: Epoch) -> Result<PreCommit<()>, ConnectorError> {
        Ok(PreCommit { state: Vec::new(), work: None })
    }

    fn commit(&mut self, _: CheckpointId) -> Result<(), ConnectorError> {
        let mut delays = self.delays.lock().unwrap_or_else(PoisonError::into_inner);
        self.mine.drain(..).for_each(|(i, at)| delays.arrived(i, at));
        Ok(())
    }
}

/// Sends paced records through one `key_by`.
///
/// # Errors
/// The job's.
pub fn run() -> Result<Outcome, String> {
    let env = Env::new();
    let begin = Instant::now();
    let delays = Arc::new(Mutex::new(Delays::default()));
    env.source(Paced { begin, next: 0, offset: Duration::ZERO })
        .parallelism(1)
        .key_by::<u64>(|i| *i % 1000)
        .process::<u64, u64>("count", |_, i, count, out| {
            *count += 1;
            out.emit(i);
        })
        .parallelism(1)
        .sink(Arrivals { begin, delays: Arc::clone(&delays), mine: Vec::new() });
    env.execute("latency").map_err(|error| error.to_string())?;
    let delays = std::mem::take(&mut *delays.lock().unwrap_or_else(PoisonError::into_inner));
    delays.outcome()
}

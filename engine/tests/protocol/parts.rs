//! Sources, operators and sinks that can be looked into.

use millstream::connector::{CollectSink, Collected};
use millstream::sink::{Epoch, PreCommit, SinkContext};
use millstream::source::{Poll, SourceContext};
use millstream::{CheckpointId, Collector, ConnectorError, Emit, Operator, OperatorContext, Sink, Source};
use millstream_io::clock::ManualClock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// What happened, in order.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub fn add(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    /// What happened since the last look, joined by blanks.
    pub fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap()).join(" ")
    }
}

/// A replayable source of the numbers 1 to `last`, each behind the sum of it and `base`, as far as the test allows.
#[derive(Clone)]
pub struct Fed {
    base: u64,
    last: u64,
    allowed: Arc<AtomicU64>,
    behind: Arc<AtomicBool>,
    opened: Log,
    told: Log,
    /// How many were emitted; none for a subtask without the only split.
    position: Option<u64>,
}

impl Fed {
    pub fn new(last: u64) -> Self {
        Self::above(0, last)
    }

    pub fn above(base: u64, last: u64) -> Self {
        Self {
            base,
            last,
            allowed: Arc::default(),
            behind: Arc::default(),
            opened: Log::default(),
            told: Log::default(),
            position: None,
        }
    }

    /// Records up to the `n`th may be emitted now.
    pub fn allow(&self, n: u64) {
        self.allowed.store(n, Ordering::Relaxed);
    }

    /// Whether it works off a backlog from now on.
    pub fn fall_behind(&self, behind: bool) {
        self.behind.store(behind, Ordering::Relaxed);
    }

    /// All may be emitted, and the input ends.
    pub fn end(&self) {
        self.allow(u64::MAX);
    }

    /// The positions that subtasks began at, since the last look.
    pub fn opened(&self) -> String {
        self.opened.take()
    }

    /// The checkpoints that it was told are complete, since the last look.
    pub fn told(&self) -> String {
        self.told.take()
    }
}

impl Source for Fed {
    type Out = u64;
    type Split = u64;

    fn discover(&mut self, _: &SourceContext) -> Result<Vec<u64>, ConnectorError> {
        Ok(vec![0])
    }

    fn open(&mut self, _: SourceContext, splits: Vec<u64>) -> Result<(), ConnectorError> {
        self.opened.add(format!("{splits:?}"));
        self.position = splits.first().copied();
        Ok(())
    }

    fn poll(&mut self, out: &mut impl Emit<u64>) -> Result<Poll, ConnectorError> {
        let Some(position) = &mut self.position else { return Ok(Poll::Done) };
        let allowed = self.allowed.load(Ordering::Relaxed);
        while *position < allowed.min(self.last) {
            if out.is_full() {
                return Ok(Poll::More);
            }
            *position += 1;
            out.emit(self.base + *position);
        }
        Ok(if allowed > self.last { Poll::Done } else { Poll::Idle(None) })
    }

    fn is_behind(&self) -> bool {
        self.behind.load(Ordering::Relaxed)
    }

    fn snapshot(&mut self) -> Result<Vec<u64>, ConnectorError> {
        Ok(self.position.into_iter().collect())
    }

    fn completed(&mut self, id: CheckpointId) {
        self.told.add(id.to_string());
    }
}

/// Passes numbers on and logs what it is asked to do.
#[derive(Clone)]
pub struct Watch {
    name: &'static str,
    log: Log,
    /// Emitted in front of every barrier, and counted on.
    hook: Option<u64>,
    seen: u64,
}

impl Watch {
    pub fn new(name: &'static str, log: &Log) -> Self {
        Self { name, log: log.clone(), hook: None, seen: 0 }
    }

    /// Emits this number in front of every barrier.
    pub fn with_hook(self, hook: u64) -> Self {
        Self { hook: Some(hook), ..self }
    }
}

impl Operator for Watch {
    type In = u64;
    type Out = u64;
    type State = u64;

    fn open(&mut self, cx: OperatorContext, restored: Vec<u64>) -> Result<(), ConnectorError> {
        if cx.parallelism > 1 {
            self.name = ["first", "second"][cx.subtask];
        }
        self.seen = restored.first().copied().unwrap_or(0);
        if !restored.is_empty() {
            self.log.add(format!("{}:restored={}", self.name, self.seen));
        }
        Ok(())
    }

    fn process(&mut self, n: u64, out: &mut Collector<'_, u64>) {
        self.seen += 1;
        self.log.add(format!("{}:{n}", self.name));
        out.emit(n);
    }

    fn before_barrier(&mut self, out: &mut Collector<'_, u64>) {
        if let Some(hook) = self.hook {
            self.log.add(format!("{}:hook", self.name));
            out.emit(hook);
        }
    }

    fn snapshot(&mut self) -> Vec<u64> {
        self.log.add(format!("{}:snapshot={}", self.name, self.seen));
        vec![self.seen]
    }

    fn finish(&mut self, _: &mut Collector<'_, u64>) {
        self.log.add(format!("{}:finish", self.name));
    }
}

/// Collects numbers, exactly once across restarts, and logs what it is asked to do.
#[derive(Clone)]
pub struct Logged {
    inner: CollectSink<u64>,
    log: Log,
}

impl Logged {
    pub fn new(log: &Log) -> (Self, Collected<u64>) {
        let inner = CollectSink::new();
        let seen = inner.collected();
        (Self { inner, log: log.clone() }, seen)
    }
}

impl Sink for Logged {
    type In = u64;
    type State = <CollectSink<u64> as Sink>::State;

    const REDISTRIBUTION: millstream::source::Redistribution = <CollectSink<u64> as Sink>::REDISTRIBUTION;

    fn prepare(
        &mut self,
        cx: &SinkContext,
        restored: &[Self::State],
        retained: &[Self::State],
    ) -> Result<(), ConnectorError> {
        self.inner.prepare(cx, restored, retained)
    }

    fn open(&mut self, cx: SinkContext, restored: Vec<Self::State>) -> Result<(), ConnectorError> {
        self.inner.open(cx, restored)
    }

    fn write(&mut self, n: u64) -> Result<(), ConnectorError> {
        self.log.add(format!("sink:{n}"));
        self.inner.write(n)
    }

    fn pre_commit(&mut self, epoch: Epoch) -> Result<PreCommit<Self::State>, ConnectorError> {
        self.log.add(format!("sink:pre-commit-{}", epoch.id));
        self.inner.pre_commit(epoch)
    }

    fn commit(&mut self, id: CheckpointId) -> Result<(), ConnectorError> {
        self.log.add(format!("sink:commit-{id}"));
        self.inner.commit(id)
    }

    fn aborted(&mut self, id: CheckpointId) {
        self.log.add(format!("sink:aborted-{id}"));
        self.inner.aborted(id);
    }
}

/// A function of the user's that is counted, and takes its time once a clock is set.
#[derive(Clone, Default)]
pub struct Calls {
    count: Arc<AtomicU64>,
    clock: Arc<OnceLock<Arc<ManualClock>>>,
}

impl Calls {
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// From now on time passes on this clock with every call.
    pub fn pass_on(&self, clock: &Arc<ManualClock>) {
        self.clock.set(clock.clone()).unwrap();
    }

    /// It is called, and takes so long.
    pub fn call(&self, takes: Duration) {
        self.count.fetch_add(1, Ordering::Relaxed);
        if let Some(clock) = self.clock.get() {
            clock.advance(takes);
        }
    }
}

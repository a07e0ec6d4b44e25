//! What the connectors' tests share: contexts without an engine, and an `Emit` that keeps everything.

use crate::clock::{Clock, ManualClock};
use crate::counters::Counters;
use crate::emit::Emit;
use crate::record::Record;
use crate::source::SourceContext;
use crate::storage::{MemoryStorage, Storage};
use crate::waker::Waker;
use std::sync::Arc;

/// Keeps what is emitted.
#[derive(Debug)]
pub(crate) struct Collected<T> {
    pub records: Vec<T>,
}

impl<T> Default for Collected<T> {
    fn default() -> Self {
        Self { records: Vec::new() }
    }
}

impl<T: Record> Emit<T> for Collected<T> {
    fn emit(&mut self, record: T::Ref<'_>) {
        self.records.push(T::own(record));
    }
}

/// The surroundings of a source's subtasks.
pub(crate) struct Scene {
    pub parallelism: usize,
    pub storage: Arc<dyn Storage>,
    pub clock: Arc<dyn Clock>,
    pub counters: Arc<Counters>,
}

impl Scene {
    pub fn new(parallelism: usize) -> Self {
        Self {
            parallelism,
            storage: Arc::new(MemoryStorage::new()),
            clock: Arc::new(ManualClock::new()),
            counters: Arc::default(),
        }
    }

    pub fn with_clock(self, clock: Arc<ManualClock>) -> Self {
        Self { clock, ..self }
    }

    pub fn context(&self, subtask: usize) -> SourceContext {
        SourceContext {
            subtask,
            parallelism: self.parallelism,
            storage: Arc::clone(&self.storage),
            clock: Arc::clone(&self.clock),
            waker: Waker::default(),
            counters: Arc::clone(&self.counters),
        }
    }
}

/// The surroundings of a sink's subtask, with its counters.
pub(crate) fn sink_context(subtask: usize, parallelism: usize) -> (crate::sink::SinkContext, Arc<Counters>) {
    let counters = Arc::<Counters>::default();
    let cx = crate::sink::SinkContext {
        subtask,
        parallelism,
        job_id: "0123456789abcdef0123456789abcdef".to_owned(),
        line: 1,
        checkpointing: true,
        storage: Arc::new(MemoryStorage::new()),
        clock: Arc::new(ManualClock::new()),
        counters: Arc::clone(&counters),
    };
    (cx, counters)
}

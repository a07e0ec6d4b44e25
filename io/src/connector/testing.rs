//! What the connectors' tests share: contexts without an engine, and an `Emit` that keeps everything.

use crate::clock::{Clock, ManualClock};
use crate::counters::Counters;
use crate::emit::Emit;
use crate::record::Record;
use crate::source::SourceContext;
use crate::storage::Storage;
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
            storage: Arc::new(nowhere::Nowhere),
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

mod nowhere {
    use crate::storage::*;
    use std::path::{Path, PathBuf};

    pub struct Nowhere;

    impl Storage for Nowhere {
        fn create(&self, _: &Path) -> Result<Box<dyn WriteFile>> {
            unreachable!()
        }
        fn append(&self, _: &Path, _: u64) -> Result<Box<dyn WriteFile>> {
            unreachable!()
        }
        fn open(&self, _: &Path) -> Result<Box<dyn ReadFile>> {
            unreachable!()
        }
        fn rename(&self, _: &Path, _: &Path) -> Result<()> {
            unreachable!()
        }
        fn publish(&self, _: &Path, _: &[u8]) -> Result<()> {
            unreachable!()
        }
        fn remove(&self, _: &Path) -> Result<()> {
            unreachable!()
        }
        fn remove_dir(&self, _: &Path) -> Result<()> {
            unreachable!()
        }
        fn create_dir_all(&self, _: &Path) -> Result<()> {
            unreachable!()
        }
        fn list(&self, _: &Path) -> Result<Vec<Entry>> {
            unreachable!()
        }
        fn sync_dir(&self, _: &Path) -> Result<()> {
            unreachable!()
        }
        fn stat(&self, _: &Path) -> Result<Stat> {
            unreachable!()
        }
        fn canonical(&self, _: &Path) -> Result<PathBuf> {
            unreachable!()
        }
        fn try_lock(&self, _: &Path, _: &str) -> Result<Option<Box<dyn Lock>>> {
            unreachable!()
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
        storage: Arc::new(crate::storage::MemoryStorage::new()),
        clock: Arc::new(ManualClock::new()),
        counters: Arc::clone(&counters),
    };
    (cx, counters)
}

//! What several integration tests share.

#![expect(clippy::disallowed_methods, reason = "tests look at files and wait for other processes")]

pub mod process;

use millstream::{CheckpointId, ConnectorError, Record, Sink, sink};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A sink that only counts: records, and what they add up to by a function of yours.
pub struct CountSink<T> {
    add: fn(&T) -> u64,
    total: Arc<AtomicU64>,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for CountSink<T> {
    fn clone(&self) -> Self {
        Self { add: self.add, total: self.total.clone(), of: PhantomData }
    }
}

impl<T> CountSink<T> {
    /// A sink that adds up `add` of every record.
    pub fn new(add: fn(&T) -> u64) -> Self {
        Self { add, total: Arc::default(), of: PhantomData }
    }

    /// The sum so far.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }
}

impl<T> Sink for CountSink<T>
where
    T: Record + for<'a> Record<Ref<'a> = T>,
{
    type In = T;
    type State = ();

    fn open(&mut self, _: sink::SinkContext, _: Vec<()>) -> Result<(), ConnectorError> {
        Ok(())
    }

    fn write(&mut self, record: T) -> Result<(), ConnectorError> {
        self.total.fetch_add((self.add)(&record), Ordering::Relaxed);
        Ok(())
    }

    fn pre_commit(&mut self, _: sink::Epoch) -> Result<sink::PreCommit<()>, ConnectorError> {
        Ok(sink::PreCommit { state: Vec::new(), work: None })
    }

    fn commit(&mut self, _: CheckpointId) -> Result<(), ConnectorError> {
        Ok(())
    }
}

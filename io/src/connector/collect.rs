//! Results in memory, for tests: exactly once, across the restarts of a process.

use crate::counters::Counters;
use crate::error::ConnectorError;
use crate::id::CheckpointId;
use crate::record::Record;
use crate::sink::{Epoch, PreCommit, Sink, SinkContext};
use crate::source::Redistribution;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;

/// Collects what reaches it. A record can be seen through [`Collected`] once the checkpoint that covers it is
/// complete, exactly once however often the job was restarted; without checkpoints, at the end of the input.
///
/// ```
/// use millstream_io::connector::CollectSink;
///
/// let sink = CollectSink::<String>::new();
/// let results = sink.collected();
/// // … run a job that ends in `sink` …
/// assert_eq!(results.take(), Vec::<String>::new());
/// ```
pub struct CollectSink<T> {
    shared: Arc<Mutex<Shared<T>>>,
    /// Records since the last barrier.
    written: Vec<T>,
    /// What was sealed and not committed yet.
    pending: Vec<Batch<T>>,
    /// Batches below this number are restored ones: the checkpoint has counted them.
    first: u64,
    counters: Arc<Counters>,
}

/// The records of one subtask and one epoch: a number that no other batch has, the checkpoint, the records.
pub type Batch<T> = (u64, u64, Vec<T>);

struct Shared<T> {
    records: Vec<T>,
    /// Batches that were committed: committing them again does nothing.
    committed: HashSet<u64>,
    next_batch: u64,
}

/// The results of a [`CollectSink`], for any thread to look at.
pub struct Collected<T> {
    shared: Arc<Mutex<Shared<T>>>,
}

impl<T: Record> Collected<T> {
    /// Takes what has been committed since the last call.
    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut self.shared.lock().records)
    }

    /// A copy of what has been committed and not been taken.
    pub fn snapshot(&self) -> Vec<T> {
        copy(&self.shared.lock().records)
    }

    /// How many records [`Collected::take`] would give.
    pub fn len(&self) -> usize {
        self.shared.lock().records.len()
    }

    /// Whether that is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Clone for Collected<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

fn copy<T: Record>(records: &[T]) -> Vec<T> {
    records.iter().map(|record| T::own(record.view())).collect()
}

impl<T: Record> CollectSink<T> {
    /// A sink with nothing in it.
    pub fn new() -> Self {
        let shared = Shared { records: Vec::new(), committed: HashSet::new(), next_batch: 0 };
        Self {
            shared: Arc::new(Mutex::new(shared)),
            written: Vec::new(),
            pending: Vec::new(),
            first: 0,
            counters: Arc::default(),
        }
    }

    /// Where its results can be seen.
    pub fn collected(&self) -> Collected<T> {
        Collected { shared: Arc::clone(&self.shared) }
    }
}

impl<T: Record> Default for CollectSink<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for CollectSink<T> {
    /// Another subtask with the same results.
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            written: Vec::new(),
            pending: Vec::new(),
            first: 0,
            counters: Arc::default(),
        }
    }
}

impl<T: Record> Sink for CollectSink<T> {
    type In = T;
    type State = Batch<T>;

    const REDISTRIBUTION: Redistribution = Redistribution::EvenSplit;

    /// Numbers of batches go on above those that any checkpoint knows, so that a new process does not take its own
    /// batch for one that it has committed already.
    fn prepare(
        &mut self,
        _cx: &SinkContext,
        restored: &[Batch<T>],
        retained: &[Batch<T>],
    ) -> Result<(), ConnectorError> {
        let mut shared = self.shared.lock();
        for (batch, ..) in restored.iter().chain(retained) {
            shared.next_batch = shared.next_batch.max(batch.saturating_add(1));
        }
        Ok(())
    }

    fn open(&mut self, cx: SinkContext, restored: Vec<Batch<T>>) -> Result<(), ConnectorError> {
        self.counters = cx.counters;
        self.written = Vec::new();
        self.pending = restored;
        self.first = self.shared.lock().next_batch;
        Ok(())
    }

    fn write(&mut self, record: T::Ref<'_>) -> Result<(), ConnectorError> {
        self.written.push(T::own(record));
        Ok(())
    }

    fn pre_commit(&mut self, epoch: Epoch) -> Result<PreCommit<Batch<T>>, ConnectorError> {
        if !self.written.is_empty() {
            let mut shared = self.shared.lock();
            let batch = shared.next_batch;
            shared.next_batch += 1;
            self.counters.records_sealed.add(self.written.len() as u64);
            self.pending.push((batch, epoch.id.0, std::mem::take(&mut self.written)));
        }
        let state = self.pending.iter().map(|(batch, id, records)| (*batch, *id, copy(records))).collect();
        Ok(PreCommit { state, work: None })
    }

    fn commit(&mut self, id: CheckpointId) -> Result<(), ConnectorError> {
        let mut shared = self.shared.lock();
        let (due, later) =
            std::mem::take(&mut self.pending).into_iter().partition(|(_, sealed, _)| *sealed <= id.0);
        self.pending = later;
        let due: Vec<Batch<T>> = due;
        for (batch, _, records) in due {
            if shared.committed.insert(batch) {
                if batch >= self.first {
                    self.counters.records_out.add(records.len() as u64);
                }
                shared.records.extend(records);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connector::testing::sink_context;

    fn epoch(id: u64) -> Epoch {
        Epoch { id: CheckpointId(id), close: false }
    }

    fn start(sink: &CollectSink<u64>, restored: &[Batch<u64>]) -> CollectSink<u64> {
        let (cx, _) = sink_context(0, 1);
        sink.clone().prepare(&cx, restored, &[]).unwrap();
        let mut running = sink.clone();
        running.open(cx, restored.to_vec()).unwrap();
        running
    }

    #[test]
    fn sk_01_records_are_seen_when_their_checkpoint_is_complete() {
        let sink = CollectSink::<u64>::new();
        let seen = sink.collected();
        let mut running = start(&sink, &[]);
        running.write(1).unwrap();
        running.pre_commit(epoch(1)).unwrap();
        running.write(2).unwrap();
        assert!(seen.is_empty());
        running.commit(CheckpointId(1)).unwrap();
        running.commit(CheckpointId(1)).unwrap();
        assert_eq!(seen.snapshot(), [1]);
        running.pre_commit(epoch(2)).unwrap();
        running.write(3).unwrap();
        running.aborted(CheckpointId(2));
        running.pre_commit(epoch(3)).unwrap();
        running.commit(CheckpointId(3)).unwrap();
        assert_eq!(seen.take(), [1, 2, 3]);
        assert!(seen.is_empty());
        running.write(4).unwrap();
        running.pre_commit(epoch(4)).unwrap();
        running.write(5).unwrap();
        running.pre_commit(epoch(5)).unwrap();
        running.commit(CheckpointId(4)).unwrap();
        assert_eq!(seen.take(), [4], "what a later one sealed waits for that one");
    }

    #[test]
    fn sk_01_a_restart_repeats_the_commit_and_not_the_records() {
        let sink = CollectSink::<u64>::new();
        let seen = sink.collected();
        let mut first = start(&sink, &[]);
        first.write(1).unwrap();
        let durable = first.pre_commit(epoch(1)).unwrap().state;
        first.commit(CheckpointId(1)).unwrap();
        first.write(2).unwrap();
        first.pre_commit(epoch(2)).unwrap();
        drop(first);
        for _ in 0..2 {
            let mut again = start(&sink, &durable);
            again.commit(CheckpointId(1)).unwrap();
            assert_eq!(seen.snapshot(), [1]);
            assert_eq!(again.counters.records_out.get(), 0, "the restored checkpoint has counted it");
        }
        let mut again = start(&sink, &durable);
        again.commit(CheckpointId(1)).unwrap();
        again.write(2).unwrap();
        again.pre_commit(epoch(2)).unwrap();
        assert_eq!((again.counters.records_sealed.get(), again.counters.records_out.get()), (1, 0));
        again.commit(CheckpointId(2)).unwrap();
        assert_eq!(seen.snapshot(), [1, 2]);
        assert_eq!(again.counters.records_out.get(), 1);
    }

    /// In a new process the numbers of old batches are unknown, but they are in the restored state.
    #[test]
    fn a_new_process_does_not_take_its_own_batch_for_a_restored_one() {
        let sink = CollectSink::<u64>::new();
        let mut running = start(&sink, &[(0, 4, vec![10])]);
        running.commit(CheckpointId(4)).unwrap();
        running.write(11).unwrap();
        running.pre_commit(epoch(5)).unwrap();
        running.commit(CheckpointId(5)).unwrap();
        assert_eq!(sink.collected().take(), [10, 11]);
        assert_eq!(
            running.counters.records_out.get(),
            1,
            "the restored checkpoint has counted the other one"
        );
    }
}

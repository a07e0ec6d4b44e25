//! Plays the engine: gives records to subtasks, takes checkpoints, restarts from the last durable one.

use super::super::{FileSink, FileState};
use crate::clock::ManualClock;
use crate::connector::testing::sink_context;
use crate::counters::Counters;
use crate::error::ConnectorError;
use crate::format::Lines;
use crate::id::CheckpointId;
use crate::sink::{DurableWork, Epoch, Sink, SinkContext};
use crate::storage::{Storage, read_all};
use std::path::Path;
use std::sync::Arc;

pub const DIR: &str = "/out";
pub const JOB: &str = "0123456789abcdef0123456789abcdef";

pub type Lined = FileSink<String, Lines>;

/// A completed checkpoint, as the coordinator keeps it.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub id: u64,
    /// Records before this one are part of it.
    pub position: u64,
    /// Records that are visible once it is committed.
    pub counted: u64,
    pub state: Vec<FileState>,
}

/// Record number `n` as a line: of different lengths, and recognisable when cut.
pub fn line(n: u64) -> String {
    format!("{n}:{}.", "x".repeat((n % 5) as usize))
}

pub fn lines(range: std::ops::Range<u64>) -> Vec<String> {
    let mut lines: Vec<_> = range.map(line).collect();
    lines.sort();
    lines
}

/// One attempt of the job.
pub struct Attempt {
    pub sinks: Vec<Lined>,
    pub position: u64,
    pub next_id: u64,
    pub clock: Arc<ManualClock>,
    pub counters: Arc<Counters>,
    /// What the restored checkpoint had counted.
    base: u64,
}

pub struct Setting {
    pub sink: Lined,
    pub storage: Arc<dyn Storage>,
    pub parallelism: usize,
    pub line: u64,
}

impl Setting {
    pub fn new(storage: Arc<dyn Storage>) -> Self {
        Self { sink: FileSink::lines(DIR), storage, parallelism: 1, line: 1 }
    }

    /// Starts from a checkpoint; its commit is repeated, as the engine does.
    pub fn start(&self, from: &Snapshot) -> Result<Attempt, ConnectorError> {
        let (clock, counters) = (Arc::<ManualClock>::default(), Arc::<Counters>::default());
        let context = |subtask| SinkContext {
            line: self.line,
            storage: Arc::clone(&self.storage),
            clock: Arc::clone(&clock) as _,
            counters: Arc::clone(&counters),
            ..sink_context(subtask, self.parallelism).0
        };
        self.sink.clone().prepare(&context(0), &from.state, &[])?;
        let mut sinks = Vec::new();
        for subtask in 0..self.parallelism {
            let mut sink = self.sink.clone();
            sink.open(context(subtask), from.state.clone())?;
            sink.commit(CheckpointId(from.id))?;
            sinks.push(sink);
        }
        Ok(Attempt {
            sinks,
            position: from.position,
            next_id: from.id + 1,
            clock,
            counters,
            base: from.counted,
        })
    }
}

impl Attempt {
    /// Writes the next `n` records.
    pub fn write(&mut self, n: u64) -> Result<(), ConnectorError> {
        for _ in 0..n {
            let subtask = (self.position % self.sinks.len() as u64) as usize;
            self.sinks[subtask].write(&line(self.position))?;
            self.position += 1;
        }
        Ok(())
    }

    /// The barrier: the state of all subtasks, and the work that makes it durable.
    pub fn barrier(&mut self, close: bool) -> Result<(Snapshot, Vec<DurableWork>), ConnectorError> {
        let epoch = Epoch { id: CheckpointId(self.next_id), close };
        let mut snapshot = Snapshot { id: self.next_id, position: self.position, ..Snapshot::default() };
        self.next_id += 1;
        let mut works = Vec::new();
        for sink in &mut self.sinks {
            let sealed = sink.pre_commit(epoch)?;
            snapshot.state.extend(sealed.state);
            works.extend(sealed.work);
        }
        snapshot.counted = self.base + self.counters.records_sealed.get();
        Ok((snapshot, works))
    }

    /// Records that a report would call visible.
    pub fn reported(&self) -> u64 {
        self.base + self.counters.records_out.get()
    }

    pub fn commit(&mut self, id: u64) -> Result<(), ConnectorError> {
        self.sinks.iter_mut().try_for_each(|sink| sink.commit(CheckpointId(id)))
    }

    /// A whole checkpoint; `durable` is set when it can be relied on, before it is committed.
    pub fn checkpoint(&mut self, close: bool, durable: &mut Snapshot) -> Result<(), ConnectorError> {
        let (snapshot, works) = self.barrier(close)?;
        works.into_iter().try_for_each(|work| work())?;
        let id = snapshot.id;
        *durable = snapshot;
        self.commit(id)?;
        if close {
            self.sinks.iter_mut().try_for_each(Sink::close)?;
        }
        Ok(())
    }
}

/// Names in the output directory, sorted; none when it does not exist.
pub fn names(storage: &dyn Storage) -> Vec<String> {
    let entries = storage.list(Path::new(DIR)).unwrap_or_default();
    let mut names: Vec<_> = entries.into_iter().map(|entry| entry.name.into_string().unwrap()).collect();
    names.sort();
    names
}

pub fn hidden(storage: &dyn Storage) -> Vec<String> {
    names(storage).into_iter().filter(|name| name.starts_with('.')).collect()
}

pub fn visible(storage: &dyn Storage) -> Vec<String> {
    names(storage).into_iter().filter(|name| !name.starts_with('.')).collect()
}

/// All lines that a reader sees who leaves hidden files alone, sorted. Every visible file is whole and not empty.
pub fn visible_lines(storage: &dyn Storage) -> Vec<String> {
    let mut lines = Vec::new();
    for name in visible(storage) {
        let text = String::from_utf8(read_all(storage, &Path::new(DIR).join(&name)).unwrap()).unwrap();
        assert!(text.ends_with(".\n"), "{name} is empty or cut: {text:?}");
        lines.extend(text.lines().map(str::to_owned));
    }
    lines.sort();
    lines
}

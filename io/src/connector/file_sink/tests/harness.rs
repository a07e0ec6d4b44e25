//! Plays the engine: gives records to subtasks, takes checkpoints, restarts from the last durable one.

use super::super::{FileSink, FileState};
use crate::clock::ManualClock;
use crate::connector::testing::sink_context;
use crate::counters::Counters;
use crate::error::ConnectorError;
use crate::format::Lines;
use crate::id::CheckpointId;
use crate::sink::{DurableWork, Epoch, Sink, SinkContext};
use crate::storage::fault::FaultStorage;
use crate::storage::{MemoryStorage, Storage, read_all};
use std::path::{Path, PathBuf};
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

/// Nothing there yet, and a job that writes there.
pub fn memory() -> (MemoryStorage, Setting) {
    let memory = MemoryStorage::new();
    (memory.clone(), Setting::new(&memory))
}

/// The same over a storage that can be made to fail.
pub fn faulty() -> (MemoryStorage, FaultStorage, Setting) {
    let memory = MemoryStorage::new();
    let storage = FaultStorage::new(Arc::new(memory.clone()));
    (memory, storage.clone(), Setting::new(&storage))
}

impl Setting {
    pub fn new(storage: &(impl Storage + Clone + 'static)) -> Self {
        Self { sink: FileSink::lines(DIR), storage: Arc::new(storage.clone()), parallelism: 1, line: 1 }
    }

    /// With files of so many bytes.
    pub fn rolling(self, bytes: u64) -> Self {
        Self { sink: self.sink.roll_size(bytes), ..self }
    }

    /// Starts without a checkpoint.
    pub fn first(&self) -> Attempt {
        self.start(&Snapshot::default()).unwrap()
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

    /// A barrier whose work is done: the checkpoint could be committed.
    pub fn pre_commit(&mut self, close: bool) -> Snapshot {
        let (snapshot, works) = self.barrier(close).unwrap();
        works.into_iter().for_each(|work| work().unwrap());
        snapshot
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

pub fn at(name: &str) -> PathBuf {
    Path::new(DIR).join(name)
}

pub fn put(storage: &dyn Storage, name: &str, bytes: &[u8]) {
    storage.create_dir_all(Path::new(DIR)).unwrap();
    storage.create(&at(name)).unwrap().append(bytes).unwrap();
}

/// The name of the first subtask's file number `n` until its commit.
pub fn pending(n: u64) -> String {
    format!(".part-0-{n}.{JOB}.1.uncommitted")
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

/// The lengths of the visible files, in the order of their names.
pub fn visible_lens(storage: &dyn Storage) -> Vec<u64> {
    visible(storage).iter().map(|name| storage.stat(&at(name)).unwrap().len).collect()
}

/// All lines that a reader sees who leaves hidden files alone, sorted. Every visible file is whole and not empty.
pub fn visible_lines(storage: &dyn Storage) -> Vec<String> {
    let mut lines = Vec::new();
    for name in visible(storage) {
        let text = String::from_utf8(read_all(storage, &at(&name)).unwrap()).unwrap();
        assert!(text.ends_with(".\n"), "{name} is empty or cut: {text:?}");
        lines.extend(text.lines().map(str::to_owned));
    }
    lines.sort();
    lines
}

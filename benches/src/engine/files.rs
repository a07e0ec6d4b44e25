//! Snapshots of one keyed state in real files, each of which builds on those before: what a subtask and the background
//! work behind it do, without the rest of the engine.

use millstream_io::id::CheckpointId;
use millstream_io::storage::{DiskStorage, Storage};
use millstream_state::keyed::{Chunk, Extent};
use millstream_state::layout::{JobDir, data_file, shared_name};
use millstream_state::metadata::SubtaskState;
use millstream_state::snapshot::{
    Chain, Destination, OperatorSnapshot, SnapshotReader, StateId, SubtaskSnapshot, WriteOptions, Writing,
    WrittenSnapshot,
};
use millstream_state::{JobId, KeyedSnapshot, OperatorId, Snapshots};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// The one state that there is.
fn state_id() -> StateId {
    (OperatorId::from_bits(1), 0)
}

/// The files, in a directory that goes with this.
pub struct Files {
    storage: Arc<dyn Storage>,
    dir: JobDir,
    chain: Chain,
    /// Snapshots that were begun.
    taken: u64,
    /// The newest one, if it is not written yet.
    writing: Option<Writing>,
    /// All that the newest one builds on.
    newest: WrittenSnapshot,
    _root: TempDir,
}

impl Files {
    /// None yet.
    ///
    /// # Errors
    /// No directory can be made.
    pub fn new() -> Result<Self, String> {
        let root = tempfile::tempdir().map_err(text)?;
        let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new());
        let dir = JobDir::new(root.path(), JobId::of("state"));
        for path in [dir.shared(), dir.checkpoint(CheckpointId(0))] {
            storage.create_dir_all(&path).map_err(text)?;
        }
        let (chain, newest) = (Chain::default(), WrittenSnapshot::default());
        Ok(Self { storage, dir, chain, taken: 0, writing: None, newest, _root: root })
    }

    fn checkpoint(&self) -> PathBuf {
        self.dir.checkpoint(CheckpointId(0))
    }

    fn begin(&mut self) -> Writing {
        self.taken += 1;
        let (id, dir) = (CheckpointId(self.taken), self.checkpoint());
        let shared = shared_name(1, Some(id), "0-0");
        Writing::new(Destination { dir: &dir, name: "0-0", shared: &shared }, WriteOptions::default())
    }

    /// Writes some of a snapshot, the rest of which is yet to come.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn add(&mut self, chunk: &Chunk) -> Result<(), String> {
        let mut writing = self.writing.take().unwrap_or_else(|| self.begin());
        writing.add(&*self.storage, state_id(), chunk).map_err(text)?;
        self.writing = Some(writing);
        Ok(())
    }

    /// Writes a snapshot, or the rest of one. On return it is durable, its name included. Gives the bytes of its file.
    ///
    /// # Errors
    /// Those of the storage; a snapshot that builds on one which was never written.
    pub fn write(&mut self, keyed: KeyedSnapshot) -> Result<u64, String> {
        let writing = self.writing.take().unwrap_or_else(|| self.begin());
        let (snapshot, extents) = of_subtask(keyed);
        let mut written = writing.finish(&*self.storage, snapshot).map_err(text)?;
        self.storage.sync_dir(&self.dir.shared()).map_err(text)?;
        let bytes = written.files.iter().map(|file| file.len).sum();
        self.chain.extend(&mut written, &extents).map_err(text)?;
        self.newest = written;
        Ok(bytes)
    }

    /// Bytes of all files that the newest snapshot builds on, its own included.
    pub fn bytes(&self) -> u64 {
        self.newest.files.iter().map(|file| file.len).sum()
    }

    /// Their paths.
    pub fn paths(&self) -> Vec<PathBuf> {
        let dir = self.checkpoint();
        self.newest.files.iter().map(|file| data_file(&dir, &file.name)).collect()
    }

    /// Puts the newest snapshot into a state that has nothing yet.
    ///
    /// # Errors
    /// Files that do not hold what was written.
    pub fn restore(&self, state: &mut impl Snapshots) -> Result<(), String> {
        let reader = SnapshotReader::new(Arc::clone(&self.storage), self.checkpoint());
        let states = self.newest.operators.iter().map(|(_, state)| state);
        restore(reader, states, state)
    }
}

/// Puts the one state that subtasks have into one that has nothing yet.
///
/// # Errors
/// Files that do not hold what was written.
pub fn restore<'a>(
    reader: SnapshotReader,
    subtasks: impl Iterator<Item = &'a SubtaskState>,
    state: &mut impl Snapshots,
) -> Result<(), String> {
    let parts: Vec<_> = subtasks.flat_map(|subtask| &subtask.keyed).collect();
    reader.restore(&parts, state, &|_, _| {}).map_err(text)?;
    state.restored().map_err(text)
}

/// The snapshot of a subtask that has one state and nothing else, and what that is worth without others.
pub fn of_subtask(keyed: KeyedSnapshot) -> (SubtaskSnapshot, [(StateId, Extent); 1]) {
    let (id, state) = state_id();
    let extents = [(state_id(), keyed.extent)];
    let operator = OperatorSnapshot { id, finished: false, keyed: vec![(state, keyed)], lists: Vec::new() };
    (SubtaskSnapshot { operators: vec![operator] }, extents)
}

/// All of a state as of now, at once.
pub fn snapshot(state: &mut impl Snapshots) -> KeyedSnapshot {
    state.freeze();
    while !state.drain(usize::MAX) {}
    state.take_snapshot()
}

/// An error as the harness reports it.
pub fn text(error: impl Display) -> String {
    error.to_string()
}

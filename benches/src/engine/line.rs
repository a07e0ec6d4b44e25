//! Completed checkpoints of one state, as a job leaves them: written, published, merged, and removed once a newer one is
//! there. What the engine does for a subtask, one after the other.

use super::files::{of_subtask, restore, text};
use millstream_io::id::CheckpointId;
use millstream_io::record::{Key, Record};
use millstream_io::storage::{DiskStorage, Storage};
use millstream_state::checkpoint_store::{CheckpointStore, Opening, StartFrom};
use millstream_state::descriptor::Layout;
use millstream_state::layout::shared_name;
use millstream_state::metadata::{Metadata, OperatorState, SnapshotFormat, SnapshotKind};
use millstream_state::snapshot::{
    Chain, Destination, Merging, SnapshotReader, WriteOptions, WrittenSnapshot, write,
};
use millstream_state::{
    Backend, JobId, KeyedSnapshot, LineCounters, Parallelism, Snapshots, StateDescriptor, StateKind,
};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

const JOB: &str = "state";

/// The one subtask.
const SUBTASK: &str = "0-0";

/// A line of checkpoints in a directory that goes with it.
pub struct Line {
    storage: Arc<dyn Storage>,
    store: CheckpointStore,
    state: StateDescriptor,
    chain: Chain,
    newest: CheckpointId,
    merges: u64,
    root: TempDir,
}

impl Line {
    /// No checkpoint yet, of a state of these types.
    ///
    /// # Errors
    /// No directory can be made.
    pub fn of<K: Key, V: Record>() -> Result<Self, String> {
        let root = tempfile::tempdir().map_err(text)?;
        let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new());
        let opening = Opening::new(Arc::clone(&storage), root.path(), JOB, "benchmark", &StartFrom::Latest);
        let store = opening.and_then(|opening| opening.begin(1)).map_err(text)?;
        let state = StateDescriptor {
            name: JOB.into(),
            kind: StateKind::Value,
            key: K::schema(),
            value: V::schema(),
            namespace: None,
            ttl: false,
            layout: Layout::Hashed,
            backend: Backend::Paged,
        };
        let (chain, newest) = (Chain::default(), CheckpointId(store.next_id().0 - 1));
        Ok(Self { storage, store, state, chain, newest, merges: 0, root })
    }

    /// Takes a checkpoint of a snapshot; the one before goes. Afterwards merges what is due.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn checkpoint(&mut self, keyed: KeyedSnapshot) -> Result<(), String> {
        self.newest = CheckpointId(self.newest.0 + 1);
        let dir = self.store.begin(self.newest).map_err(text)?;
        let shared = shared_name(self.store.line(), Some(self.newest), SUBTASK);
        let to = Destination { dir: &dir, name: SUBTASK, shared: &shared };
        let (snapshot, extents) = of_subtask(keyed);
        let mut written = write(&*self.storage, to, snapshot, WriteOptions::default()).map_err(text)?;
        self.chain.extend(&mut written, &extents).map_err(text)?;
        let metadata = self.metadata(written);
        self.store.publish(&metadata).map_err(text)?;
        self.store.subsume().map_err(text)
    }

    fn metadata(&self, written: WrittenSnapshot) -> Metadata {
        let operators = written.operators.into_iter().map(|(id, subtask)| OperatorState {
            id,
            uid: None,
            name: JOB.into(),
            max_parallelism: Parallelism::new(1, None).map_or(1, |whole| whole.max()),
            states: vec![self.state.clone()],
            lists: Vec::new(),
            subtasks: vec![subtask],
        });
        Metadata {
            checkpoint: self.newest,
            kind: SnapshotKind::Checkpoint,
            format: SnapshotFormat::Native,
            job: JobId::of(JOB),
            job_name: JOB.into(),
            line: self.store.line(),
            trigger_ms: 0,
            completed_ms: 0,
            counters: LineCounters::default(),
            files: written.files,
            operators: operators.collect(),
        }
    }

    /// Merges until nothing is due. The next checkpoint names what came of it.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn merge(&mut self) -> Result<(), String> {
        while let Some(plan) = self.chain.to_merge() {
            self.merges += 1;
            let dir = self.store.checkpoint_dir(self.newest);
            let writer = format!("{SUBTASK}m{}", self.merges);
            let name = shared_name(self.store.line(), None, &format!("{writer}-{}", self.newest));
            let options = WriteOptions::default();
            let mut merging = Merging::new(Arc::clone(&self.storage), &dir, &name, plan, options);
            while !merging.step(4 << 20).map_err(text)? {}
            let mut merged = merging.finish().map_err(text)?;
            let next = CheckpointId(self.newest.0 + 1);
            let name = shared_name(self.store.line(), Some(next), &writer);
            merged.rename(&*self.storage, &dir, &name).map_err(text)?;
            if !self.chain.replace(merged) {
                return Err("what was merged is not there any more".into());
            }
        }
        Ok(())
    }

    /// Bytes of everything in the directory.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn bytes(&self) -> Result<u64, String> {
        bytes_below(self.root.path()).map_err(text)
    }

    /// Puts the newest checkpoint into a state that has nothing yet.
    ///
    /// # Errors
    /// Files that do not hold what was written.
    pub fn restore(&self, state: &mut impl Snapshots) -> Result<(), String> {
        let Some(newest) = self.store.latest().map_err(text)? else {
            return Err("there is no checkpoint".into());
        };
        let reader = SnapshotReader::new(Arc::clone(&self.storage), newest.dir);
        restore(reader, newest.metadata.operators.iter().flat_map(|operator| &operator.subtasks), state)
    }
}

fn bytes_below(dir: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let found = entry.metadata()?;
        bytes += if found.is_dir() { bytes_below(&entry.path())? } else { found.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::files::snapshot;
    use crate::engine::state::empty;
    use millstream_state::KeyedBackend;

    /// Each checkpoint has all of the state, and no more files than it names.
    #[test]
    fn the_newest_checkpoint_is_the_state_and_older_ones_are_gone() {
        let mut line = Line::of::<u64, u64>().unwrap();
        let mut state = empty::<u64, u64>().unwrap();
        let mut whole = 0;
        for round in 0..40 {
            for key in (0..20_000).filter(|key| round == 0 || key % 100 == round) {
                state.with(u64::hash(key), key, |mut sum| *sum += key);
            }
            line.checkpoint(snapshot(&mut state)).unwrap();
            whole = if round == 0 { line.bytes().unwrap() } else { whole };
            assert!(line.bytes().unwrap() < 3 * whole, "{round}: {} of {whole}", line.bytes().unwrap());
            let mut restored = empty::<u64, u64>().unwrap();
            line.restore(&mut restored).unwrap();
            let sums = (0..20_000).map(|key| key * (1 + u64::from((1..=round).contains(&(key % 100)))));
            for (key, expected) in (0..).zip(sums) {
                assert_eq!(restored.with(u64::hash(key), key, |sum| *sum), expected, "{key}");
            }
            line.merge().unwrap();
        }
        assert!(line.merges > 10, "{}", line.merges);
    }
}

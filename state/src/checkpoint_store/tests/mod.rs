//! Checkpoints on durable storage: what is where, when, and after what crash.

mod crash;
mod damage;
mod faults;
mod layout;
mod merges;
mod start;
mod taken_over;

use super::*;
use crate::OperatorId;
use crate::key_group::KeyGroup;
use crate::keyed::{GroupChunk, KeyedSnapshot};
use crate::metadata::{LineCounters, OperatorState, SnapshotFormat, SnapshotKind};
use crate::snapshot::{Destination, OperatorSnapshot, SnapshotReader, SubtaskSnapshot, WriteOptions, write};
use crate::testing::groups_of;
use millstream_io::storage::MemoryStorage;

pub(super) const ROOT: &str = "/c";
pub(super) const JOB: &str = "flights";
const SUBTASKS: usize = 2;

pub(super) fn open(storage: &dyn Clonable, from: &StartFrom) -> Result<Opening, StateError> {
    Opening::new(storage.shared(), Path::new(ROOT), JOB, "pid 42", from)
}

/// Storage doubles are handed over as clones that share everything.
pub(super) trait Clonable {
    fn shared(&self) -> Arc<dyn Storage>;
}

impl<S: Storage + Clone> Clonable for S {
    fn shared(&self) -> Arc<dyn Storage> {
        Arc::new(self.clone())
    }
}

pub(super) fn start(storage: &dyn Clonable) -> CheckpointStore {
    open(storage, &StartFrom::Latest).unwrap().begin(2).unwrap()
}

/// What subtask `n` writes for checkpoint `id`: bytes that say so.
fn content(id: CheckpointId, n: usize) -> Vec<u8> {
    format!("checkpoint {id}, subtask {n}").into_bytes()
}

/// The first half of a checkpoint: its directory and its subtasks' files.
pub(super) fn attempt(store: &CheckpointStore, id: CheckpointId) -> Result<Metadata, StateError> {
    let dir = store.begin(id)?;
    let sum = OperatorId::of_uid("sum");
    let (mut files, mut subtasks) = (Vec::new(), Vec::new());
    for n in 0..SUBTASKS {
        let group = KeyGroup(n as u16 * 64);
        let groups = vec![GroupChunk { group, entries: 1, bytes: content(id, n) }];
        let keyed = vec![(0, KeyedSnapshot { groups, extent: crate::keyed::Extent::Whole })];
        let operator = OperatorSnapshot { id: sum, finished: false, keyed, lists: Vec::new() };
        let snapshot = SubtaskSnapshot { operators: vec![operator] };
        // One of the two is small enough for the metadata when its number has one digit.
        let options = WriteOptions { inline_threshold: if n == 0 { 0 } else { 23 }, write_buffer: 8 };
        let name = format!("state-0-{n}");
        let to = Destination { dir: &dir, name: &name, shared: &name };
        let written = write(&*store.storage, to, snapshot, options)?;
        files.extend(written.files);
        subtasks.extend(written.operators.into_iter().map(|(_, state)| state));
    }
    let operator = OperatorState {
        id: sum,
        uid: Some("sum".to_owned()),
        name: "sum".to_owned(),
        max_parallelism: 128,
        states: vec![crate::testing::value_state("sum", "u64", "i64")],
        lists: Vec::new(),
        subtasks,
    };
    Ok(Metadata {
        checkpoint: id,
        kind: SnapshotKind::Checkpoint,
        format: SnapshotFormat::Native,
        job: crate::JobId::of(JOB),
        job_name: JOB.to_owned(),
        line: store.line(),
        trigger_ms: 1,
        completed_ms: 2,
        counters: LineCounters { records_in: id.0 * 100, ..LineCounters::default() },
        files,
        operators: vec![operator],
    })
}

pub(super) fn checkpoint(store: &mut CheckpointStore, id: u64) -> Result<CommitPermit, StateError> {
    let metadata = attempt(store, CheckpointId(id))?;
    store.publish(&metadata)
}

/// Runs checkpoints with these numbers, each followed by the deletion of older ones.
pub(super) fn run(store: &mut CheckpointStore, ids: impl IntoIterator<Item = u64>) {
    for id in ids {
        assert_eq!(checkpoint(store, id).unwrap().checkpoint(), CheckpointId(id));
        store.subsume().unwrap();
    }
}

/// The job ends, which is told, and with it its process.
pub(super) fn end(mut store: CheckpointStore, end: &JobEnd, retention: Retention) -> Result<(), StateError> {
    store.end(end, retention)?;
    store.told()
}

/// Reads everything that a snapshot holds and compares it with what was written for its number.
pub(super) fn check_content(storage: &dyn Clonable, dir: &Path) -> CheckpointId {
    let metadata = verify(&*storage.shared(), dir).unwrap();
    let id = metadata.checkpoint;
    let reader = SnapshotReader::new(storage.shared(), dir.to_owned());
    for (n, subtask) in metadata.operators[0].subtasks.iter().enumerate() {
        let found = groups_of(&reader, &subtask.keyed[0]).unwrap();
        let found: Vec<_> = found.into_iter().map(|chunk| (chunk.group.0, chunk.bytes)).collect();
        assert_eq!(found, [(n as u16 * 64, content(id, n))]);
    }
    id
}

pub(super) fn job_dir() -> JobDir {
    JobDir::new(Path::new(ROOT), crate::JobId::of(JOB))
}

/// All files and directories below the job's directory, without the content of `shared` and `taskowned`.
pub(super) fn tree(storage: &dyn Clonable) -> Vec<String> {
    fn walk(storage: &dyn Storage, dir: &Path, prefix: &str, found: &mut Vec<String>) {
        for entry in storage.list(dir).unwrap() {
            let name = format!("{prefix}{}", entry.name.to_string_lossy());
            if entry.kind == millstream_io::storage::Kind::Dir {
                walk(storage, &dir.join(&entry.name), &format!("{name}/"), found);
                found.push(format!("{name}/"));
            } else {
                found.push(name);
            }
        }
    }
    let mut found = Vec::new();
    walk(&*storage.shared(), job_dir().root(), "", &mut found);
    found.sort();
    found
}

pub(super) fn hand_made(storage: &MemoryStorage, path: &Path, bytes: &[u8]) {
    storage.create_dir_all(path.parent().unwrap()).unwrap();
    storage.publish(path, bytes).unwrap();
}

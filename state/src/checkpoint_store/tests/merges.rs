//! Checkpoints of which each names what changed since the one before, while older changes are merged: a crash or a failure at
//! every storage operation.

use super::crash::sweep;
use super::*;
use crate::keyed::Extent;
use crate::layout::shared_name;
use crate::paged::image::{LINE_BYTES, entries};
use crate::snapshot::{Chain, Merging, WrittenSnapshot};
use millstream_io::storage::fault::{Fault, FaultStorage};
use std::cell::Cell;
use std::collections::HashSet;

const LINES: u64 = 48;

/// Whether checkpoint `id` of a run that began with `base` changes a line: all are new in the first one.
fn changes(line: u64, id: u64, base: u64) -> bool {
    id == base || (line + id).is_multiple_of(if id.is_multiple_of(3) { 2 } else { 11 })
}

/// One job process that keeps a state of lines, each of which says by which checkpoint it was changed last, and which was
/// the first of the run.
struct Run<'a> {
    storage: &'a FaultStorage,
    store: CheckpointStore,
    chain: Chain,
    base: u64,
    merges: u64,
    /// A merge that fails is given up; otherwise the run fails with it.
    tolerant: bool,
}

impl<'a> Run<'a> {
    fn begin(storage: &'a FaultStorage, tolerant: bool) -> Result<Self, StateError> {
        let store = open(storage, &StartFrom::Latest)?.begin(1)?;
        let base = store.next_id().0;
        Ok(Self { storage, store, chain: Chain::default(), base, merges: 0, tolerant })
    }

    /// So many checkpoints. What is due to be merged is, in turn, before its checkpoint is published and after.
    fn run(&mut self, many: u64, durable: &Cell<u64>) -> Result<(), StateError> {
        for id in self.base..self.base + many {
            let metadata = self.attempt(id)?;
            if id.is_multiple_of(2) {
                self.merge_all(id)?;
            }
            durable.set(self.store.publish(&metadata)?.checkpoint().0);
            self.store.subsume()?;
            self.merge_all(id)?;
        }
        Ok(())
    }

    fn attempt(&mut self, id: u64) -> Result<Metadata, StateError> {
        let mut metadata = attempt(&self.store, CheckpointId(id))?;
        let dir = self.store.checkpoint_dir(CheckpointId(id));
        let mut bytes = vec![1];
        for line in (0..LINES).filter(|line| changes(*line, id, self.base)) {
            bytes.extend([0, line as u8]);
            bytes.extend([id as u8, self.base as u8].repeat(LINE_BYTES / 2));
        }
        let extent = if id == self.base { Extent::Base } else { Extent::Changes };
        let groups = vec![GroupChunk { group: KeyGroup(0), entries: 1, bytes }];
        let operator = metadata.operators[0].id;
        let keyed = vec![(0, KeyedSnapshot { groups, extent })];
        let operators = vec![OperatorSnapshot { id: operator, finished: false, keyed, lists: Vec::new() }];
        let shared = shared_name(self.store.line(), Some(CheckpointId(id)), "0-0");
        let to = Destination { dir: &dir, name: "0-0", shared: &shared };
        let mut written = write(self.storage, to, SubtaskSnapshot { operators }, Self::OPTIONS)?;
        self.chain.extend(&mut written, &[((operator, 0), extent)]).unwrap();
        let WrittenSnapshot { operators, files } = written;
        metadata.operators[0].subtasks = operators.into_iter().map(|(_, state)| state).collect();
        metadata.files = files;
        metadata.operators[0].states[0].backend = crate::Backend::Paged;
        Ok(metadata)
    }

    const OPTIONS: WriteOptions = WriteOptions { inline_threshold: 400, write_buffer: 1000 };

    /// As a subtask's background work does, with `id` the newest snapshot that was taken.
    fn merge_all(&mut self, id: u64) -> Result<(), StateError> {
        while let Some(plan) = self.chain.to_merge() {
            self.merges += 1;
            let (line, dir) = (self.store.line(), self.store.checkpoint_dir(CheckpointId(id)));
            let writer = format!("0-0m{}", self.merges);
            let storage: Arc<dyn Storage> = Arc::new(self.storage.clone());
            let name = shared_name(line, None, &writer);
            let mut merging = Merging::new(storage, &dir, &name, plan, Self::OPTIONS);
            let merged = (|| {
                while !merging.step(1)? {}
                let mut merged = merging.finish()?;
                merged.rename(self.storage, &dir, &shared_name(line, Some(CheckpointId(id + 1)), &writer))?;
                Ok(merged)
            })();
            match merged {
                Ok(merged) => assert!(self.chain.replace(merged)),
                Err(_) if self.tolerant => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// What a checkpoint holds is what its run had at its barrier.
fn check_lines(storage: &MemoryStorage, id: CheckpointId, context: &str) {
    let dir = job_dir().checkpoint(id);
    let metadata = verify(storage, &dir).unwrap_or_else(|e| panic!("{context}: {e}"));
    let reader = SnapshotReader::new(storage.shared(), dir);
    let mut lines = vec![None; LINES as usize];
    for handle in &metadata.operators[0].subtasks[0].keyed {
        for chunk in groups_of(&reader, handle).unwrap_or_else(|e| panic!("{context}: {e}")) {
            for entry in entries(&chunk.bytes[1..]) {
                let (page, mut mask, content) = entry.unwrap();
                assert_eq!(page, 0, "{context}");
                for line in content.chunks(LINE_BYTES) {
                    lines[mask.trailing_zeros() as usize] = Some((u64::from(line[0]), u64::from(line[1])));
                    mask &= mask - 1;
                }
            }
        }
    }
    let base = lines[0].map_or(0, |(_, base)| base);
    for (line, found) in (0..).zip(lines) {
        let last = (base..=id.0).rev().find(|n| changes(line, *n, base));
        assert_eq!(found, last.map(|last| (last, base)), "{context}: line {line} of checkpoint {id}");
    }
}

fn check_all(storage: &MemoryStorage, context: &str) -> u64 {
    let found = observe::checkpoints(storage, &job_dir()).unwrap();
    let mut newest = 0;
    for found in found.iter().filter(|found| found.complete) {
        check_lines(storage, found.id, context);
        newest = found.id.0;
    }
    newest
}

/// A start, some checkpoints with merges, and no file that nobody names. The last one has to be one that sweeps behind all
/// merges before it.
fn check_usable(image: &MemoryStorage, context: &str) {
    let storage = FaultStorage::new(Arc::new(image.clone()));
    let mut run = Run::begin(&storage, false).unwrap_or_else(|e| panic!("{context}: {e}"));
    run.run(5, &Cell::new(0)).unwrap_or_else(|e| panic!("{context}: {e}"));
    check_clean(image, &mut run.store, context);
}

/// The newest checkpoint is right, and all that is there is its.
fn check_clean(image: &MemoryStorage, store: &mut CheckpointStore, context: &str) {
    store.subsume().unwrap();
    let newest = *store.retained().last().unwrap();
    check_lines(image, newest, context);
    let named: HashSet<_> = shared::named(&store.load(newest).unwrap()).collect();
    let entries = image.list(&job_dir().shared()).unwrap();
    let left = entries.into_iter().map(|entry| entry.name.into_string().unwrap());
    // What was merged behind the newest checkpoint is for the next one.
    let next = format!("1-{}-", newest.0 + 1);
    let left: HashSet<_> = left.filter(|name| !name.starts_with(&next)).collect();
    assert_eq!(left, named, "{context}");
}

const CHECKPOINTS: u64 = 8;

/// Whatever a crash leaves, complete checkpoints have all that they had, none that was permitted to commit is missing, and
/// the next process goes on from there and clears up.
#[test]
fn cs_07_be_05_a_crash_at_every_operation_of_checkpoints_and_merges() {
    let durable = Cell::new(0);
    let merges = Cell::new(0);
    sweep(
        &MemoryStorage::new(),
        |storage| {
            durable.set(0);
            let mut run = Run::begin(storage, false)?;
            let outcome = run.run(CHECKPOINTS, &durable);
            merges.set(run.merges.max(merges.get()));
            outcome
        },
        |image, context| {
            let newest = check_all(image, context);
            assert!(newest >= durable.get(), "{context}: {newest} although {} was committed", durable.get());
            check_usable(image, context);
        },
    );
    assert!(merges.get() >= 4, "{} merges", merges.get());
}

/// The recovery may crash anywhere, too.
#[test]
fn ms_071_a_second_crash_after_one_in_a_merge_changes_nothing() {
    let memory = MemoryStorage::new();
    let first = FaultStorage::new(Arc::new(memory.clone()));
    let durable = Cell::new(0);
    let mut run = Run::begin(&first, false).unwrap();
    run.run(4, &durable).unwrap();
    drop(run);
    // What a merge leaves that has died before it had its number, and one whose file no checkpoint came to name.
    hand_made(&memory, &job_dir().shared().join("1-next-0-0m9-4"), b"half");
    hand_made(&memory, &job_dir().shared().join("1-9-0-0m9"), b"whole");
    sweep(
        &memory.kill_image(),
        |storage| {
            durable.set(4);
            Run::begin(storage, false)?.run(3, &durable)
        },
        |image, context| {
            let newest = check_all(image, context);
            assert!(newest >= durable.get(), "{context}: {newest} although {} was committed", durable.get());
            check_usable(image, context);
        },
    );
}

/// Whichever operation fails, once, done or not, in a process that lives on: no checkpoint that completes misses anything.
#[test]
fn a_failure_anywhere_in_a_merge_changes_no_checkpoint() {
    let undisturbed = FaultStorage::new(Arc::new(MemoryStorage::new()));
    let mut run = Run::begin(&undisturbed, true).unwrap();
    let begun = undisturbed.operations();
    run.run(CHECKPOINTS, &Cell::new(0)).unwrap();
    let mut survived = 0;
    for k in begun..undisturbed.operations() {
        for fault in [Fault::Before(5), Fault::After(5), Fault::Short(70, 28)] {
            let context = format!("operation {k}, {fault:?}");
            let memory = MemoryStorage::new();
            let storage = FaultStorage::new(Arc::new(memory.clone()));
            let mut run = Run::begin(&storage, true).unwrap();
            storage.fail_at(k, fault);
            // An error of a checkpoint itself ends the process here.
            if run.run(CHECKPOINTS, &Cell::new(0)).is_ok() {
                survived += 1;
                assert_eq!(run.store.retained().last(), Some(&CheckpointId(CHECKPOINTS)), "{context}");
            }
            drop(run);
            check_all(&memory, &context);
            check_usable(&memory.kill_image(), &context);
        }
    }
    assert!(survived > 50, "{survived}");
}

//! What snapshots name before, while and after others are merged, and what is left of a merge that fails.

use super::super::turns::{Outcome, Turn, Turns};
use super::*;
use millstream_io::executor::StepExecutor;
use millstream_io::storage::MemoryStorage;
use millstream_io::storage::fault::{Fault, FaultStorage, Op};
use millstream_state::OperatorId;
use millstream_state::key_group::KeyGroup;
use millstream_state::keyed::{Extent, GroupChunk, KeyedSnapshot};
use millstream_state::snapshot::{Destination, OperatorSnapshot, SubtaskSnapshot, write};
use parking_lot::Mutex;
use std::path::Path;

const EIO: Fault = Fault::Before(5);

struct Subject {
    storage: FaultStorage,
    executor: Arc<StepExecutor>,
    turns: Turns,
    newest: u64,
    /// The files that each acknowledged snapshot names.
    acknowledged: Arc<Mutex<Vec<Vec<String>>>>,
}

impl Subject {
    fn new() -> Self {
        let storage = FaultStorage::new(Arc::new(MemoryStorage::new()));
        storage.create_dir_all(Path::new("/c/shared")).unwrap();
        let executor = Arc::new(StepExecutor::new());
        let weak: Weak<StepExecutor> = Arc::downgrade(&executor);
        let workshop = Workshop {
            storage: Arc::new(storage.clone()),
            executor: weak,
            dir: "/c".into(),
            options: WriteOptions { inline_threshold: 0, write_buffer: 100 },
            line: 1,
            name: "0-0".into(),
        };
        let turns = Turns::new(Some(workshop));
        Self { storage, executor, turns, newest: 0, acknowledged: Arc::default() }
    }

    /// A barrier.
    fn turn(&mut self) -> (u64, Turn) {
        self.newest += 1;
        (self.newest, self.turns.next(CheckpointId(self.newest)))
    }

    /// The snapshot of that has been written: so many lines.
    fn complete(&self, (id, turn): (u64, Turn), extent: Extent, lines: u8) {
        let mut bytes = vec![1];
        for line in 0..lines {
            bytes.extend([0, line]);
            bytes.extend([id as u8; 64]);
        }
        let keyed =
            KeyedSnapshot { groups: vec![GroupChunk { group: KeyGroup(0), entries: 1, bytes }], extent };
        let operator = OperatorId::from_bits(7);
        let operators = vec![OperatorSnapshot {
            id: operator,
            finished: false,
            keyed: vec![(0, keyed)],
            lists: Vec::new(),
        }];
        let to = Destination { dir: Path::new("/c/chk-1"), name: "0-0", shared: &format!("1-{id}-0-0") };
        let options = WriteOptions { inline_threshold: 0, write_buffer: 100 };
        let written = write(&self.storage, to, SubtaskSnapshot { operators }, options).unwrap();
        let acknowledged = self.acknowledged.clone();
        turn.complete(Ok(written), vec![((operator, 0), extent)], move |outcome: Outcome| {
            let written = outcome.unwrap();
            assert_eq!(written.operators[0].1.keyed.len(), written.files.len());
            let name = |name: &str| name[SHARED_FILE.len()..].to_owned();
            acknowledged.lock().push(written.files.iter().map(|file| name(&file.name)).collect());
        });
    }

    fn snapshot(&mut self, extent: Extent, lines: u8) {
        let turn = self.turn();
        self.complete(turn, extent, lines);
    }

    fn named(&self) -> Vec<String> {
        self.acknowledged.lock().pop().unwrap()
    }

    fn files(&self) -> Vec<String> {
        let entries = self.storage.list(Path::new("/c/shared")).unwrap();
        let mut names: Vec<_> = entries.into_iter().map(|e| e.name.into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// A large and two small ones, of which the small ones are to be merged.
fn three() -> Subject {
    let mut subject = Subject::new();
    subject.snapshot(Extent::Base, 60);
    subject.snapshot(Extent::Changes, 4);
    subject.snapshot(Extent::Changes, 4);
    assert_eq!(
        subject.named(),
        ["1-1-0-0", "1-2-0-0", "1-3-0-0"],
        "acknowledged, and the merge yet to begin"
    );
    assert_eq!(subject.executor.len(), 1);
    subject
}

#[test]
fn what_is_merged_is_named_by_the_next_snapshot() {
    let mut subject = three();
    assert!(subject.executor.run(0));
    assert_eq!(subject.files(), ["1-1-0-0", "1-2-0-0", "1-3-0-0", "1-next-0-0m1-3"]);
    subject.snapshot(Extent::Changes, 1);
    assert_eq!(subject.named().len(), 4, "it is not there before it has its name");
    assert_eq!(subject.executor.len(), 1, "one at a time");
    subject.executor.run_all();
    assert_eq!(subject.files(), ["1-1-0-0", "1-2-0-0", "1-3-0-0", "1-4-0-0", "1-5-0-0m1"]);
    subject.snapshot(Extent::Changes, 1);
    assert_eq!(subject.named(), ["1-1-0-0", "1-5-0-0m1", "1-4-0-0", "1-5-0-0"]);
    subject.executor.run_all();
    subject.snapshot(Extent::Changes, 1);
    assert_eq!(subject.named(), ["1-1-0-0", "1-5-0-0m1", "1-6-0-0m2", "1-6-0-0"]);
}

/// Its number is larger than that of any snapshot that names the old files, so that no checkpoint of these can sweep it.
#[test]
fn be_05_snapshots_before_the_merge_name_the_old_files_and_have_smaller_numbers() {
    let mut subject = three();
    assert!(subject.executor.run(0));
    let [fourth, fifth] = [(); 2].map(|()| subject.turn());
    subject.executor.run_all();
    assert!(subject.files().contains(&"1-6-0-0m1".to_owned()));
    let sixth = subject.turn();
    subject.complete(sixth, Extent::Changes, 1);
    subject.complete(fifth, Extent::Changes, 1);
    assert_eq!(subject.acknowledged.lock().len(), 2);
    subject.complete(fourth, Extent::Changes, 1);
    let all = std::mem::take(&mut *subject.acknowledged.lock());
    assert_eq!(all[2], ["1-1-0-0", "1-2-0-0", "1-3-0-0", "1-4-0-0"]);
    assert_eq!(all[3], ["1-1-0-0", "1-2-0-0", "1-3-0-0", "1-4-0-0", "1-5-0-0"]);
    assert_eq!(all[4], ["1-1-0-0", "1-6-0-0m1", "1-4-0-0", "1-5-0-0", "1-6-0-0"]);
}

/// Whichever operation of a merge fails, done or not: the old files are named, nothing is left behind, and the next snapshot
/// has another try.
#[test]
fn a_merge_that_fails_changes_nothing() {
    let mut undisturbed = three();
    let begun = undisturbed.storage.operations();
    undisturbed.executor.run_all();
    let operations = undisturbed.storage.operations() - begun;
    assert!(operations >= 10, "open, look, read; create, write, sync; rename");
    undisturbed.snapshot(Extent::Changes, 1);
    assert_eq!(undisturbed.named(), ["1-1-0-0", "1-4-0-0m1", "1-4-0-0"]);
    for k in 0..operations {
        for fault in [EIO, Fault::After(5), Fault::Short(10, 28)] {
            let mut subject = three();
            subject.storage.fail_at(begun + k, fault);
            subject.executor.run_all();
            let [(op, _)] = subject.storage.failures()[..] else { panic!("operation {k} has not failed") };
            assert_eq!(subject.files(), ["1-1-0-0", "1-2-0-0", "1-3-0-0"], "operation {k}, {fault:?}");
            subject.snapshot(Extent::Changes, 4);
            assert_eq!(subject.named(), ["1-1-0-0", "1-2-0-0", "1-3-0-0", "1-4-0-0"], "{op:?}");
            subject.executor.run_all();
            subject.snapshot(Extent::Changes, 1);
            assert_eq!(subject.named(), ["1-1-0-0", "1-5-0-0m2", "1-5-0-0"], "{op:?}");
        }
    }
}

#[test]
fn where_merges_fail_again_and_again_there_is_a_new_base() {
    let mut subject = three();
    subject.storage.fail_every(Op::Rename, Some(EIO));
    subject.executor.run_all();
    // Fifteen times four lines are as much as the base, and fifteen bytes for the forms more than one.
    for _ in 4..=15 {
        subject.snapshot(Extent::Changes, 4);
        assert!(!subject.turns.take_base_wanted());
        subject.executor.run_all();
    }
    subject.snapshot(Extent::Changes, 4);
    assert!(subject.turns.take_base_wanted());
    subject.storage.fail_every(Op::Rename, None);
    subject.executor.run_all();
    subject.snapshot(Extent::Changes, 4);
    assert_eq!(subject.named().len(), 2 + 1);
    // As many as before, while a merge is under way.
    for _ in 1..=20 {
        subject.snapshot(Extent::Changes, 4);
    }
    assert!(!subject.turns.take_base_wanted(), "merges are counted on again");
}

#[test]
fn a_merge_of_what_is_past_names_nothing() {
    let mut subject = three();
    assert!(subject.executor.run(0));
    subject.snapshot(Extent::Base, 1);
    subject.executor.run_all();
    subject.snapshot(Extent::Changes, 1);
    assert_eq!(subject.named(), ["1-4-0-0", "1-5-0-0"]);
    assert!(!subject.turns.take_base_wanted());
}

#[test]
fn a_merge_ends_with_its_subtask_and_leaves_nothing() {
    for pieces in 0..2 {
        let subject = three();
        (0..pieces).for_each(|_| assert!(subject.executor.run(0)));
        let Subject { turns, executor, .. } = &subject;
        assert_eq!((turns.take_base_wanted(), executor.len()), (false, 1));
        let Subject { storage, executor, turns, .. } = subject;
        drop(turns);
        executor.run_all();
        assert_eq!(storage.list(Path::new("/c/shared")).unwrap().len(), 3);
    }
}

/// What waits in the executor must not keep that alive, nor what else waits there.
#[test]
fn work_that_is_never_done_goes_with_its_executor() {
    let subject = three();
    let executor = Arc::downgrade(&subject.executor);
    drop(subject);
    assert!(executor.upgrade().is_none());
}

#[test]
fn a_merge_that_is_dropped_lets_others_begin() {
    let mut subject = three();
    subject.executor.clear();
    subject.snapshot(Extent::Changes, 4);
    assert_eq!(subject.executor.len(), 1);
    // Dropped in its turn, it is not taken for a snapshot that is lost.
    let (turn, newest) = Shared::turn(subject.turns.shared());
    assert_eq!(newest, CheckpointId(4));
    drop(turn);
    subject.snapshot(Extent::Changes, 4);
    assert_eq!(subject.named().len(), 5);
    assert!(!subject.turns.take_base_wanted());
}

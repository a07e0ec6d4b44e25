use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Action {
    Close,
    Barrier,
    /// Completion of one of the barriers so far: late, out of order, repeated.
    Commit(prop::sample::Index),
    SyncNames,
    /// Everything but the last snapshot is forgotten.
    Restart,
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        4 => Just(Action::Close),
        3 => Just(Action::Barrier),
        3 => any::<prop::sample::Index>().prop_map(Action::Commit),
        1 => Just(Action::SyncNames),
        1 => Just(Action::Restart),
    ];
    prop::collection::vec(action, 1..60)
}

/// What is to hold, file by file, written down without stages: when it was closed, which barrier came next, by which
/// change of names it became visible.
#[derive(Clone, Debug, PartialEq)]
struct File {
    number: u64,
    barrier: Option<u64>,
    visible: Option<u64>,
}

fn part(number: u64) -> Part {
    Part { subtask: 0, number, suffix: String::new(), owner: "job.1".into() }
}

#[derive(Default)]
struct Model {
    files: Vec<File>,
    changes: u64,
    durable: u64,
}

impl Model {
    /// Every file closed before the barrier, unless its visible name is durable.
    fn snapshot(&self) -> Vec<(u64, u64, bool)> {
        let durable = |file: &&File| file.visible.is_none_or(|change| change > self.durable);
        let known = self.files.iter().filter(durable);
        known.filter_map(|file| Some((file.number, file.barrier?, file.visible.is_some()))).collect()
    }
}

fn seen(state: &[FileState]) -> Vec<(u64, u64, bool)> {
    let one = |state: &FileState| match state {
        FileState::Pending { part, len, checkpoint } => {
            assert_eq!(*len, part.number + 100);
            (part.number, *checkpoint, false)
        }
        FileState::Renamed { part, checkpoint, .. } => (part.number, *checkpoint, true),
        other => panic!("{other:?} is not for the ledger"),
    };
    state.iter().map(one).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_file_is_made_visible_by_the_first_commit_that_covers_it(actions in actions()) {
        let (mut ledger, mut model) = (Ledger::default(), Model::default());
        let (mut next, mut barriers) = (0, 0_u64);
        let mut last = Vec::new();
        for action in actions {
            match action {
                Action::Close => {
                    ledger.closed(part(next), next + 100);
                    model.files.push(File { number: next, barrier: None, visible: None });
                    next += 1;
                }
                Action::Barrier => {
                    barriers += 1;
                    ledger.seal(CheckpointId(barriers));
                    for file in &mut model.files {
                        file.barrier.get_or_insert(barriers);
                    }
                    last = ledger.snapshot(model.durable).collect();
                    prop_assert_eq!(seen(&last), model.snapshot());
                }
                Action::Commit(which) if barriers > 0 => {
                    let id = 1 + which.index(barriers as usize) as u64;
                    let mut renamed = Vec::new();
                    while let Some(file) = ledger.due(CheckpointId(id)) {
                        renamed.push(file.part.number);
                        model.changes += 1;
                        ledger.renamed(CheckpointId(id), model.changes);
                    }
                    let mut change = model.changes - renamed.len() as u64;
                    let mut expected = Vec::new();
                    for file in &mut model.files {
                        if file.visible.is_none() && file.barrier.is_some_and(|barrier| barrier <= id) {
                            change += 1;
                            file.visible = Some(change);
                            expected.push(file.number);
                        }
                    }
                    prop_assert_eq!(renamed, expected);
                }
                Action::Commit(_) => {}
                Action::SyncNames => model.durable = model.changes,
                Action::Restart => {
                    ledger = Ledger::default();
                    model.files.clear();
                    for state in &last {
                        let (FileState::Pending { part, len, checkpoint } | FileState::Renamed { part, len, checkpoint }) = state else {
                            panic!("{state:?}")
                        };
                        ledger.restored(part.clone(), *len, CheckpointId(*checkpoint));
                        model.files.push(File { number: part.number, barrier: Some(*checkpoint), visible: None });
                    }
                }
            }
        }
    }
}

#[test]
fn a_file_that_is_given_up_is_never_heard_of_again() {
    let mut ledger = Ledger::default();
    ledger.closed(part(0), 1);
    ledger.closed(part(1), 1);
    ledger.seal(CheckpointId(1));
    ledger.give_up(CheckpointId(1));
    assert_eq!(ledger.due(CheckpointId(1)).map(|file| file.part.number), Some(1));
    assert_eq!(ledger.snapshot(0).count(), 1);
}

#[test]
fn state_survives_its_encoding() {
    let states = [
        FileState::Counter { next: 7 },
        FileState::Open { part: part(1), len: 5 },
        FileState::Pending { part: part(2), len: 6, checkpoint: 3 },
        FileState::Renamed { part: part(3), len: 7, checkpoint: 4 },
    ];
    for state in states {
        let bytes = FileState::encode(state.view());
        let (view, used) = FileState::parse(&bytes).unwrap();
        assert_eq!((FileState::own(view), used), (state, bytes.len()));
    }
}

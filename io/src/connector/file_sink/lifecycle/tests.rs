use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Action {
    Close,
    Barrier,
    /// Completion of one of the barriers so far: late, out of order, repeated.
    Commit(prop::sample::Index),
    /// Everything but the last snapshot is forgotten.
    Restart,
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        4 => Just(Action::Close),
        3 => Just(Action::Barrier),
        3 => any::<prop::sample::Index>().prop_map(Action::Commit),
        1 => Just(Action::Restart),
    ];
    prop::collection::vec(action, 1..60)
}

/// What is to hold, file by file, written down without stages.
#[derive(Clone, Debug, PartialEq)]
struct File {
    number: u64,
    /// The first barrier after it was closed.
    barrier: Option<u64>,
    visible: bool,
}

fn part(number: u64) -> Part {
    Part { subtask: 0, number, suffix: String::new(), owner: "job.1".into() }
}

fn seen(state: &[FileState]) -> Vec<(u64, u64)> {
    let one = |state: &FileState| match state {
        FileState::Pending { part, len, checkpoint } => {
            assert_eq!(*len, part.number + 100);
            (part.number, *checkpoint)
        }
        other => panic!("{other:?} is not for the ledger"),
    };
    state.iter().map(one).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_file_is_made_visible_by_the_first_commit_that_covers_it(actions in actions()) {
        let (mut ledger, mut files) = (Ledger::default(), Vec::<File>::new());
        let (mut next, mut barriers) = (0, 0_u64);
        let mut last = Vec::new();
        for action in actions {
            match action {
                Action::Close => {
                    ledger.closed(part(next), next + 100, 1);
                    files.push(File { number: next, barrier: None, visible: false });
                    next += 1;
                }
                Action::Barrier => {
                    barriers += 1;
                    ledger.seal(CheckpointId(barriers));
                    for file in &mut files {
                        file.barrier.get_or_insert(barriers);
                    }
                    last = ledger.snapshot().collect();
                    let hidden = files.iter().filter(|file| !file.visible);
                    let expected: Vec<_> = hidden.filter_map(|file| Some((file.number, file.barrier?))).collect();
                    prop_assert_eq!(seen(&last), expected);
                }
                Action::Commit(which) if barriers > 0 => {
                    let id = 1 + which.index(barriers as usize) as u64;
                    let mut renamed = Vec::new();
                    while let Some(file) = ledger.due(CheckpointId(id)) {
                        renamed.push(file.part.number);
                        ledger.finished(CheckpointId(id));
                    }
                    let mut expected = Vec::new();
                    for file in &mut files {
                        if !file.visible && file.barrier.is_some_and(|barrier| barrier <= id) {
                            file.visible = true;
                            expected.push(file.number);
                        }
                    }
                    prop_assert_eq!(renamed, expected);
                }
                Action::Commit(_) => {}
                Action::Restart => {
                    ledger = Ledger::default();
                    files.clear();
                    for (number, barrier) in seen(&last) {
                        ledger.restored(part(number), number + 100, CheckpointId(barrier));
                        files.push(File { number, barrier: Some(barrier), visible: false });
                    }
                }
            }
        }
    }
}

#[test]
fn state_survives_its_encoding() {
    let states = [
        FileState::Counter { next: 7 },
        FileState::Open { part: part(1), len: 5, records: 2 },
        FileState::Pending { part: part(2), len: 6, checkpoint: 3 },
    ];
    for state in states {
        let bytes = FileState::encode(state.view());
        let (view, used) = FileState::parse(&bytes).unwrap();
        assert_eq!((FileState::own(view), used), (state, bytes.len()));
    }
}

//! A crash at every storage operation: what is visible at the end is each record once, whatever happened.

use super::harness::*;
use crate::clock::Clock;
use crate::connector::FileSink;
use crate::error::ConnectorError;
use crate::sink::Sink;
use crate::storage::MemoryStorage;
use crate::storage::fault::{Crash, Fault, FaultStorage, Op, is_crash};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const RECORDS: u64 = 60;
const PARALLELISM: [usize; 3] = [1, 3, 2];

/// The job under test: rolls by size in the middle of epochs, declines one checkpoint, closes one in the middle as a
/// savepoint does, and fails twice by itself, to go on with another parallelism.
struct Run {
    durable: Snapshot,
    attempts: usize,
    /// Restarts that are part of the job, still to come.
    planned: Vec<u64>,
}

impl Run {
    fn new() -> Self {
        Self { durable: Snapshot::default(), attempts: 0, planned: vec![44, 23] }
    }

    fn setting(&self, storage: &FaultStorage) -> Setting {
        Setting {
            sink: FileSink::lines(DIR).suffix(".txt").roll_size(20),
            storage: Arc::new(storage.clone()),
            parallelism: PARALLELISM[self.attempts % PARALLELISM.len()],
            line: 1,
        }
    }

    /// One attempt, to the end of the input or to a planned failure.
    fn attempt(&mut self, storage: &FaultStorage) -> Result<(), ConnectorError> {
        let mut attempt = self.setting(storage).start(&self.durable)?;
        self.attempts += 1;
        while attempt.position < RECORDS {
            attempt.write(7.min(RECORDS - attempt.position))?;
            if self.planned.last().is_some_and(|at| *at <= attempt.position) {
                self.planned.pop();
                return Ok(());
            }
            if attempt.position == 28 {
                // Declined: this checkpoint's work is never done.
                drop(attempt.barrier(false)?);
                continue;
            }
            attempt.checkpoint(attempt.position == 35, &mut self.durable)?;
        }
        attempt.checkpoint(true, &mut self.durable)
    }

    fn is_done(&self) -> bool {
        self.durable.position == RECORDS
    }

    /// As the engine: starts again until an attempt ends well after the whole input.
    fn finish(&mut self, storage: &FaultStorage) -> Result<(), ConnectorError> {
        loop {
            self.attempt(storage)?;
            if self.is_done() {
                return Ok(());
            }
        }
    }
}

/// What holds at any moment: nothing is visible twice, nothing that was committed is missing.
fn check_visible(storage: &MemoryStorage, at_least: u64, context: &str) {
    let seen = visible_lines(storage);
    let mut once = seen.clone();
    once.dedup();
    assert_eq!(seen, once, "{context}: repeated");
    let all = lines(0..RECORDS);
    assert!(seen.iter().all(|line| all.binary_search(line).is_ok()), "{context}: unknown lines");
    assert!(seen.len() as u64 >= at_least, "{context}: lost");
}

fn check_end(storage: &MemoryStorage, context: &str) {
    assert_eq!(visible_lines(storage), lines(0..RECORDS), "{context}");
    assert_eq!(hidden(storage), Vec::<String>::new(), "{context}");
}

fn undisturbed() -> FaultStorage {
    let memory = MemoryStorage::new();
    let storage = FaultStorage::new(Arc::new(memory.clone()));
    storage.record();
    Run::new().finish(&storage).unwrap();
    check_end(&memory, "undisturbed");
    storage
}

/// SK-01, SK-06: kill and power cut before, in and after every operation.
#[test]
fn crash_at_every_operation() {
    let log = undisturbed().log();
    let mut covered = BTreeMap::<Op, u64>::new();
    for (k, op, path) in log {
        for how in [Crash::Before, Crash::Torn, Crash::After] {
            if !op.changes() && how != Crash::Before {
                continue;
            }
            for power_cut in [false, true] {
                let context = format!("{how:?} {k} ({op} {}), power cut: {power_cut}", path.display());
                crash_once(k, how, power_cut, &context);
                *covered.entry(op).or_default() += 1;
            }
        }
    }
    let expected = [
        Op::Create,
        Op::OpenAppend,
        Op::Append,
        Op::Sync,
        Op::Rename,
        Op::Remove,
        Op::CreateDir,
        Op::List,
        Op::SyncDir,
        Op::Stat,
    ];
    assert_eq!(covered.keys().copied().collect::<Vec<_>>(), expected, "kinds of operations crashed at");
    println!("crashes by operation: {covered:?}");
}

fn crash_once(k: u64, how: Crash, power_cut: bool, context: &str) {
    let memory = MemoryStorage::new();
    let storage = FaultStorage::new(Arc::new(memory.clone()));
    storage.crash_at(k, how);
    let mut run = Run::new();
    let error = run.finish(&storage).expect_err(context);
    assert!(is_crash(&error), "{context}: {error}");
    check_visible(&memory, 0, context);

    let left = if power_cut { memory.crash_image(k) } else { memory.kill_image() };
    check_visible(&left, 0, context);
    run.finish(&FaultStorage::new(Arc::new(left.clone()))).expect(context);
    check_end(&left, context);
    // The machine may fail after the end of the job too: what was committed at the end stays.
    check_end(&left.crash_image(k), context);
}

/// An operation that fails once, with or without effect, costs an attempt and nothing else.
#[test]
fn error_at_every_operation() {
    const EIO: i32 = 5;
    const ENOSPC: i32 = 28;
    for (k, op, path) in undisturbed().log() {
        for fault in [Fault::Before(EIO), Fault::Before(ENOSPC), Fault::After(EIO), Fault::Short(3, ENOSPC)] {
            let context = format!("{fault:?} at {k} ({op} {})", path.display());
            let memory = MemoryStorage::new();
            let storage = FaultStorage::new(Arc::new(memory.clone()));
            storage.fail_at(k, fault);
            let mut run = Run::new();
            // A declined checkpoint is an error here too: the job starts again from the one before.
            let mut failures = 0;
            while let Err(error) = run.finish(&storage) {
                failures += 1;
                assert!(failures < 3, "{context}: {error}");
            }
            check_end(&memory, &context);
        }
    }
}

/// Twice from one checkpoint: the second start finds what the first one did and loses or repeats nothing.
#[test]
fn recover_twice_from_one_checkpoint() {
    for records in [5, 9, 30] {
        for then in [0, 1, 7, 20] {
            let memory = MemoryStorage::new();
            let setting = |parallelism| Setting {
                sink: FileSink::lines(DIR).roll_size(20),
                parallelism,
                ..Setting::new(&memory)
            };
            let mut durable = Snapshot::default();
            let mut first = setting(2).start(&durable).unwrap();
            first.write(records).unwrap();
            first.checkpoint(false, &mut durable).unwrap();
            first.write(then).unwrap();
            drop(first);
            for parallelism in [3, 1] {
                let mut again = setting(parallelism).start(&durable).unwrap();
                again.write(then).unwrap();
                drop(again.barrier(false).unwrap());
            }
            let mut last = setting(2).start(&durable).unwrap();
            last.write(RECORDS - durable.position).unwrap();
            last.checkpoint(true, &mut durable).unwrap();
            check_end(&memory, &format!("{records} records, then {then}"));
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Write(u64),
    Checkpoint {
        close: bool,
    },
    /// A barrier whose work is done in part, or not at all, and which is then given up.
    Decline {
        works: usize,
    },
    Tick,
    /// The attempt fails; the next one runs at this parallelism.
    Restart(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..9_u64).prop_map(Step::Write),
        4 => any::<bool>().prop_map(|close| Step::Checkpoint { close }),
        1 => (0..3_usize).prop_map(|works| Step::Decline { works }),
        1 => Just(Step::Tick),
        1 => (1..4_usize).prop_map(Step::Restart),
    ]
}

/// Goes through the steps from where it stands; an error ends the attempt, and the step is over.
fn play(
    steps: &mut std::slice::Iter<'_, Step>,
    (storage, memory): (&FaultStorage, &MemoryStorage),
    parallelism: &mut usize,
    durable: &mut Snapshot,
) -> Result<(), ConnectorError> {
    let setting = |parallelism| Setting {
        sink: FileSink::lines(DIR).roll_size(16).roll_after(Duration::from_secs(9)),
        parallelism,
        ..Setting::new(storage)
    };
    let mut attempt = setting(*parallelism).start(durable)?;
    for step in steps {
        match step {
            Step::Write(n) => attempt.write(*n)?,
            Step::Checkpoint { close } => attempt.checkpoint(*close, durable)?,
            Step::Decline { works } => {
                attempt.barrier(false)?.1.into_iter().take(*works).try_for_each(|work| work())?;
            }
            Step::Tick => {
                attempt.clock.advance(Duration::from_secs(5));
                let now = attempt.clock.now();
                attempt.sinks.iter_mut().try_for_each(|sink| sink.tick(now).map(drop))?;
            }
            Step::Restart(next) => {
                *parallelism = *next;
                drop(attempt);
                attempt = setting(*parallelism).start(durable)?;
            }
        }
        // Ruling 29: the report says what can be seen, no more and no less.
        assert_eq!(attempt.reported(), visible_lines(memory).len() as u64);
    }
    attempt.checkpoint(true, durable)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any history of writes, checkpoints, rescalings, kills and power cuts, several in one history.
    #[test]
    fn any_history_shows_each_record_once(
        steps in prop::collection::vec(step(), 1..30),
        crashes in prop::collection::vec((0..150_u64, 0..3_usize, any::<bool>(), any::<u64>()), 0..4),
    ) {
        let mut memory = MemoryStorage::new();
        let (mut durable, mut parallelism) = (Snapshot::default(), 1);
        let mut steps = steps.iter();
        for (k, how, power_cut, seed) in crashes {
            let storage = FaultStorage::new(Arc::new(memory.clone()));
            storage.crash_at(k, [Crash::Before, Crash::Torn, Crash::After][how]);
            if let Err(error) = play(&mut steps, (&storage, &memory), &mut parallelism, &mut durable) {
                prop_assert!(is_crash(&error), "{}", error);
            }
            memory = if power_cut { memory.crash_image(seed) } else { memory.kill_image() };
            let seen = visible_lines(&memory);
            prop_assert!(seen.len() as u64 <= durable.position);
        }
        let storage = FaultStorage::new(Arc::new(memory.clone()));
        play(&mut steps, (&storage, &memory), &mut parallelism, &mut durable).unwrap();
        prop_assert_eq!(visible_lines(&memory), lines(0..durable.position));
        prop_assert_eq!(durable.counted, durable.position);
        prop_assert_eq!(hidden(&memory), Vec::<String>::new());
        for seed in 0..5 {
            let left = visible_lines(&memory.crash_image(seed));
            prop_assert_eq!(left, lines(0..durable.position), "after a late power cut");
        }
    }
}

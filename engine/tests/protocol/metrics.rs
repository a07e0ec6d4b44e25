//! Metrics by the names that users know (MET-01): a delay at one place appears in the figure of that place alone.

use crate::hand::{Hand, env};
use crate::jobs::joined;
use crate::parts::{Fed, Log, Logged, Watch};
use millstream::config::ByteSize;
use millstream::connector::CollectSink;
use millstream::runtime::FigureValue;
use millstream_io::clock::ManualClock;
use millstream_io::storage::MemoryStorage;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const SUBTASKS: [&str; 3] = ["first", "second", "union"];

fn job() -> (Hand, Fed, Fed) {
    let (first, second) = (Fed::new(10_000), Fed::above(100_000, 10));
    let (sink, _) = Logged::new(&Log::default());
    let env = env();
    env.configure(|settings| {
        settings.exchange.segment_size = ByteSize(1024);
        settings.exchange.ring_segments = 4;
    });
    joined(&env, ("first", &first), ("second", &second)).apply(Watch::new("op", &Log::default())).sink(sink);
    (Hand::begin(&env, &MemoryStorage::new()), first, second)
}

fn of_job(hand: &Hand, name: &str) -> FigureValue {
    let figures = hand.control.metrics().figures();
    figures.into_iter().find(|figure| figure.name == name && figure.subtask.is_none()).expect(name).value
}

/// A figure of each subtask.
fn of_subtasks(hand: &Hand, name: &str) -> [u64; 3] {
    let figures = hand.control.metrics().figures();
    let its = figures.into_iter().filter(|figure| figure.name == name && figure.subtask.is_some());
    let values: Vec<u64> = its
        .map(|figure| match figure.value {
            FigureValue::Number(n) => n,
            other => panic!("{name}: {other:?}"),
        })
        .collect();
    values.try_into().expect(name)
}

fn pass(hand: &mut Hand, seconds: u64) {
    hand.pass(Duration::from_secs(seconds));
}

/// The names of the page, by hand.
#[test]
fn met_01_every_figure_has_its_name() {
    let (hand, ..) = job();
    let metrics = hand.control.metrics();
    assert!(metrics.tasks.iter().map(|task| task.name.split(' ').next().unwrap()).eq(SUBTASKS));
    let figures = metrics.figures();
    let of_job: Vec<&str> =
        figures.iter().filter(|figure| figure.subtask.is_none()).map(|figure| figure.name).collect();
    for name in "totalNumberOfCheckpoints numberOfCompletedCheckpoints numberOfFailedCheckpoints \
                 numberOfInProgressCheckpoints lastCheckpointDuration lastCheckpointSize lastCheckpointFullSize \
                 lastCheckpointProcessedData lastCheckpointPersistedData lastCheckpointExternalPath \
                 lastCompletedCheckpointId lastCheckpointRestoreTimestamp numRestarts downtime uptime restartingTime \
                 numLateRecordsDropped"
        .split_whitespace()
    {
        assert!(of_job.contains(&name), "{name}");
    }
    for name in "checkpointStartDelayNanos checkpointAlignmentTime busyTimeMsPerSecond idleTimeMsPerSecond \
                 backPressuredTimeMsPerSecond isBackPressured numLateRecordsDropped"
        .split_whitespace()
    {
        of_subtasks(&hand, name);
    }
    let mut all: Vec<_> = figures.iter().map(|figure| (figure.name, figure.subtask)).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), figures.len(), "each once");
}

/// The first source waits for the trigger for one second, the second one for three; the subtask behind them waits for the
/// second barrier from 1 s to 7 s, and meanwhile says so.
#[test]
fn met_01_start_delay_and_alignment_are_told_where_they_are() {
    let (mut hand, ..) = job();
    hand.trigger();
    pass(&mut hand, 1);
    hand.run("first");
    hand.run("union");
    pass(&mut hand, 2);
    let (delay, alignment) = ("checkpointStartDelayNanos", "checkpointAlignmentTime");
    let in_seconds = |seconds: [u64; 3]| seconds.map(|n| n * 1_000_000_000);
    assert_eq!(of_subtasks(&hand, alignment), in_seconds([0, 0, 2]), "it grows");
    hand.run("second");
    pass(&mut hand, 4);
    assert_eq!(of_subtasks(&hand, alignment), in_seconds([0, 0, 6]));
    hand.run("union");
    hand.settle();
    pass(&mut hand, 3);
    assert_eq!(of_subtasks(&hand, alignment), in_seconds([0, 0, 6]), "and then stays");
    assert_eq!(of_subtasks(&hand, delay), in_seconds([1, 3, 1]));
    assert_eq!(of_job(&hand, "lastCheckpointDuration"), FigureValue::Number(7_000));
    assert_eq!(of_job(&hand, "lastCompletedCheckpointId"), FigureValue::Number(1));
    assert_eq!(of_job(&hand, "lastCheckpointExternalPath"), path(&hand));
}

fn path(hand: &Hand) -> FigureValue {
    let last = hand.control.metrics().last_checkpoint.expect("completed");
    FigureValue::Text(last.path.display().to_string())
}

/// The first source fills its ring and finds no room, the second one has nothing to do, and the subtask behind them is at
/// work on what it has taken.
#[test]
fn met_01_busy_idle_and_back_pressured_time() {
    let (mut hand, first, _) = job();
    first.allow(10_000);
    hand.run("first");
    hand.run("second");
    hand.step("union");
    pass(&mut hand, 6);
    assert_eq!(of_subtasks(&hand, "busyTimeMsPerSecond"), [0, 0, 1000]);
    assert_eq!(of_subtasks(&hand, "idleTimeMsPerSecond"), [0, 1000, 0]);
    assert_eq!(of_subtasks(&hand, "backPressuredTimeMsPerSecond"), [1000, 0, 0]);
    assert_eq!(of_subtasks(&hand, "isBackPressured"), [1, 0, 0]);
    hand.settle();
    assert_eq!(of_subtasks(&hand, "isBackPressured"), [0; 3]);
    pass(&mut hand, 6);
    assert_eq!(of_subtasks(&hand, "idleTimeMsPerSecond"), [1000; 3], "since somebody last looked");
}

/// An outage of five seconds, then three of running.
#[test]
fn met_01_restarts_and_the_time_that_they_take() {
    let (mut hand, ..) = job();
    pass(&mut hand, 2);
    let all =
        |hand: &Hand| ["numRestarts", "uptime", "downtime", "restartingTime"].map(|name| of_job(hand, name));
    assert_eq!(all(&hand), [0, 2_000, 0, 0].map(FigureValue::Number));
    hand.fail("union");
    // The restart is due, and its subtasks have yet to open.
    pass(&mut hand, 5);
    assert_eq!(all(&hand), [1, 0, 5_000, 0].map(FigureValue::Number));
    hand.finish_restart();
    pass(&mut hand, 3);
    assert_eq!(all(&hand), [1, 3_000, 0, 5_000].map(FigureValue::Number));
}

/// A step that finds something counts as work from its beginning: the source idles for four seconds, and then takes one for
/// its only record.
#[test]
fn met_01_a_step_is_work_from_its_beginning() {
    let (source, clock) = (Fed::new(10), Arc::<OnceLock<Arc<ManualClock>>>::default());
    let (env, its) = (env(), clock.clone());
    env.source(source.clone())
        .name("in")
        .map(move |n| {
            if let Some(clock) = its.get() {
                clock.advance(Duration::from_secs(1));
            }
            n
        })
        .sink(CollectSink::new());
    let mut hand = Hand::begin(&env, &MemoryStorage::new());
    let _ = clock.set(hand.clock.clone());
    hand.run("in");
    pass(&mut hand, 4);
    source.allow(1);
    hand.run("in");
    let share = |name: &str| {
        let figures = hand.control.metrics().figures();
        figures.into_iter().find(|figure| figure.name == name && figure.subtask.is_some()).unwrap().value
    };
    assert_eq!(share("busyTimeMsPerSecond"), FigureValue::Number(200));
    assert_eq!(share("idleTimeMsPerSecond"), FigureValue::Number(800));
}

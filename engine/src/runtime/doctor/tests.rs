//! Statistics by hand, and what is to be said of them: TU-01 and TU-02.

use super::*;
use crate::checkpoint::{Barrier, CheckpointEvent, CheckpointKind};
use crate::config::{Checkpointing, State};
use millstream_io::id::CheckpointId;

const SECOND: Duration = Duration::from_secs(1);

fn seconds(n: f64) -> Duration {
    Duration::from_secs_f64(n)
}

fn every_second(min_pause: f64) -> Settings {
    let interval = Some(SECOND);
    let checkpointing = Checkpointing { interval, min_pause: seconds(min_pause), ..Checkpointing::default() };
    Settings { checkpointing, ..Settings::default() }
}

/// A source of one subtask, and three subtasks behind it.
fn tasks() -> Vec<TaskDescription> {
    let task =
        |name: &str, subtasks| TaskDescription { name: name.to_owned(), operators: Vec::new(), subtasks };
    vec![task("in", 0..1), task("sum", 1..4)]
}

/// One checkpoint: begins and ends at these seconds, and each subtask waits for its barriers so many.
struct Taken {
    from: f64,
    to: f64,
    waits: [f64; 4],
    failure: Option<CheckpointFailure>,
}

fn taken(from: f64, to: f64) -> Taken {
    Taken { from, to, waits: [0.0; 4], failure: None }
}

fn statistics(all: Vec<Taken>) -> CheckpointStatistics {
    let mut statistics = CheckpointStatistics::new(10);
    for (n, taken) in all.into_iter().enumerate() {
        let id = CheckpointId(n as u64 + 1);
        let barrier = Barrier {
            id,
            kind: CheckpointKind::Checkpoint,
            timestamp: seconds(taken.from),
            close: false,
            last: false,
        };
        let subtasks = (0..4).map(SubtaskId).collect();
        statistics.take(&CheckpointEvent::Triggered { barrier, subtasks });
        let at = seconds(taken.to);
        if let Some(failure) = taken.failure {
            let subtask = Some(SubtaskId(2));
            statistics.take(&CheckpointEvent::Failed { id, failure, subtask, at });
            continue;
        }
        for (subtask, wait) in taken.waits.into_iter().enumerate() {
            let metrics = AckMetrics { alignment: seconds(wait), held_bytes: 4096, ..AckMetrics::default() };
            let subtask = SubtaskId(subtask as u32);
            statistics.take(&CheckpointEvent::Acknowledged { id, subtask, metrics, at });
        }
        statistics.take(&CheckpointEvent::Completed { id, at });
    }
    statistics
}

fn examined(all: Vec<Taken>, settings: &Settings) -> Vec<Advice> {
    examine(&statistics(all), settings, &tasks())
}

/// TU-01: an interval of a second. Duration above the interval is back to back, a pause takes the flag away.
#[test]
fn tu_01_checkpoints_without_a_gap_are_flagged() {
    // Name, pause, beginnings and ends, and how many of how many are too close.
    type Row = (&'static str, f64, Vec<(f64, f64)>, Option<(usize, usize)>);
    let rows: Vec<Row> = vec![
        ("none", 0.0, vec![], None),
        ("short ones", 0.0, vec![(0.0, 0.1), (1.0, 1.1), (2.0, 2.1), (3.0, 3.1)], None),
        ("longer than the interval", 0.0, vec![(0.0, 3.0), (3.0, 6.0), (6.0, 9.0)], Some((2, 2))),
        ("the same with a pause", 0.5, vec![(0.0, 3.0), (3.5, 6.5), (7.0, 10.0)], None),
        ("a pause too short to help", 0.01, vec![(0.0, 3.0), (3.01, 6.0), (6.01, 9.0)], Some((2, 2))),
        ("a gap of a tenth", 0.0, vec![(0.0, 0.9), (1.0, 1.9), (2.0, 2.9)], None),
        ("a gap of a thirtieth", 0.0, vec![(0.0, 0.97), (1.0, 1.97), (2.0, 2.97)], Some((2, 2))),
        ("two of them say nothing", 0.0, vec![(0.0, 3.0), (3.0, 6.0)], None),
        ("one in four", 0.0, vec![(0.0, 1.0), (1.0, 1.1), (2.0, 2.1), (3.0, 3.1), (4.0, 4.1)], None),
        ("two at a time", 0.0, vec![(0.0, 3.0), (1.0, 4.0), (3.0, 6.0), (4.0, 7.0)], Some((3, 3))),
    ];
    for (name, pause, all, expected) in rows {
        let advice =
            examined(all.into_iter().map(|(from, to)| taken(from, to)).collect(), &every_second(pause));
        let found = match &advice[..] {
            [] => None,
            [Advice::BackToBack { of_these, of, .. }] => Some((*of_these, *of)),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(found, expected, "{name}");
    }
}

/// TU-01: failures count as well, and a job without an interval has none of this.
#[test]
fn tu_01_expired_ones_are_back_to_back_too() {
    let expired = |from: f64| Taken {
        failure: Some(CheckpointFailure::Expired { timeout: SECOND, missing: 1 }),
        ..taken(from, from + 2.0)
    };
    let all = || vec![expired(0.0), expired(2.0), expired(4.0)];
    let advice = examined(all(), &every_second(0.0));
    assert!(
        matches!(&advice[..], [Advice::BackToBack { longest, .. }] if *longest == 2 * SECOND),
        "{advice:?}"
    );
    assert_eq!(examined(all(), &Settings::default()), []);
}

/// TU-01: the remedies in order, those that are there already left out.
#[test]
fn tu_01_the_remedy_depends_on_what_is_set() {
    let said = |settings: &Settings| {
        let all = vec![taken(0.0, 3.0), taken(3.0, 6.0), taken(6.0, 9.0)];
        examined(all, settings)[0].to_string()
    };
    assert_eq!(
        said(&every_second(0.0)),
        "checkpoints are back to back: 2 of 2 began as soon as the one before had ended (the longest took 3s, \
         execution.checkpointing.interval is 1s): set execution.checkpointing.min-pause, 500ms for example, so that there \
         is time between them; keep the state in pages (state.backend.type=paged), of which a checkpoint has what changed; \
         raise the parallelism, so that each subtask has less state; more of them at the same time do not help"
    );
    let state = State { backend: StateBackend::Paged, ..State::default() };
    let paged = Settings { state, ..every_second(0.002) };
    let text = said(&paged);
    assert!(text.contains("raise execution.checkpointing.min-pause, which is 2ms;"), "{text}");
    assert!(!text.contains("paged") && !text.contains("incremental"), "{text}");
    let mut whole = paged;
    whole.checkpointing.incremental = false;
    assert!(said(&whole).contains("execution.checkpointing.incremental=true"));
}

/// TU-02: who waits longest, and whether the others beside it do as well.
#[test]
fn tu_02_alignment_that_takes_most_of_the_time_is_flagged() {
    let waiting = |n: u64, waits: [f64; 4]| Taken { waits, ..taken(10.0 * n as f64, 10.0 * n as f64 + 1.0) };
    let three = |waits: [f64; 4]| (0..3).map(|n| waiting(n, waits)).collect::<Vec<_>>();
    // Name, waits of each of three checkpoints of one second, and who is named: skewed or not.
    type Row = (&'static str, Vec<Taken>, Option<(&'static str, bool)>);
    let rows: Vec<Row> = vec![
        ("short", three([0.0, 0.3, 0.4, 0.3]), None),
        ("all alike", three([0.0, 0.7, 0.8, 0.7]), Some(("sum [1]", false))),
        ("one alone", three([0.0, 0.0, 0.1, 0.9]), Some(("sum [2]", true))),
        ("a task of one", three([0.9, 0.0, 0.0, 0.0]), Some(("in [0]", false))),
        (
            "one of three",
            vec![waiting(0, [0.0, 0.9, 0.0, 0.0]), waiting(1, [0.0; 4]), waiting(2, [0.0; 4])],
            None,
        ),
        ("two say nothing", (0..2).map(|n| waiting(n, [0.0, 0.9, 0.9, 0.9])).collect(), None),
    ];
    for (name, all, expected) in rows {
        let advice = examined(all, &every_second(0.0));
        let found = match &advice[..] {
            [] => None,
            [Advice::Alignment { subtask, skewed, .. }] => Some((subtask.as_str(), *skewed)),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(found, expected, "{name}");
    }
}

/// TU-02: given up because too much was held back is the same trouble; what is short in all is none.
#[test]
fn tu_02_a_checkpoint_that_was_given_up_for_it_counts() {
    let limit = || Some(CheckpointFailure::AlignmentLimit { held: 9 << 20, limit: 4 << 20 });
    let all =
        (0..3).map(|n| Taken { failure: limit(), ..taken(10.0 * f64::from(n), 10.0 * f64::from(n) + 5.0) });
    let advice = examined(all.collect(), &every_second(0.0));
    let text = advice[0].to_string();
    assert!(
        text.starts_with(
            "barriers are waited for: in 3 of 3 checkpoints that took most of the time, most often in sum [1], up to 5s \
             with 9mb held back: one of its inputs is slower"
        ),
        "{text}"
    );
    let short =
        (0..3).map(|n| Taken { waits: [0.0, 0.05, 0.0, 0.0], ..taken(f64::from(n), f64::from(n) + 0.05) });
    assert_eq!(examined(short.collect(), &every_second(0.0)), []);
}

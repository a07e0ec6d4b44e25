//! Metrics as a list of named figures, by the names that Flink gives them (section 11.4 of the semantics). Pure.

use super::metrics::{Metrics, SubtaskMetrics};
use super::tally::RestoreProgress;
use crate::checkpoint::{CheckpointRecord, SubtaskId};
use millstream_io::counters::Doing;
use std::time::Duration;

/// Whether a figure only grows, as long as the process lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureKind {
    /// It does.
    Counter,
    /// It may go up and down.
    Gauge,
}

/// What a figure says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FigureValue {
    /// Nothing yet: no checkpoint has been completed, say.
    None,
    /// A number; of something that is or is not, one or nought.
    Number(u64),
    /// A path, say.
    Text(String),
}

/// One figure, of the job or of a subtask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its name.
    pub name: &'static str,
    /// What it says, and its unit.
    pub help: &'static str,
    /// Whether it only grows.
    pub kind: FigureKind,
    /// The subtask that it is of; none where it is the job's.
    pub subtask: Option<SubtaskId>,
    /// What it says.
    pub value: FigureValue,
}

/// What gives a value of the job.
type OfJob = (&'static str, &'static str, FigureKind, fn(&Metrics) -> FigureValue);

/// What gives a value of a subtask.
type OfSubtask = (&'static str, &'static str, FigureKind, fn(&SubtaskMetrics) -> u64);

use FigureKind::{Counter, Gauge};

/// The job's.
static JOB: &[OfJob] = &[
    ("totalNumberOfCheckpoints", "Checkpoints triggered.", Counter, |m| number(m.checkpoints.counts().total)),
    ("numberOfCompletedCheckpoints", "Checkpoints completed.", Counter, |m| {
        number(m.checkpoints.counts().completed)
    }),
    ("numberOfFailedCheckpoints", "Checkpoints that failed, for whatever reason.", Counter, |m| {
        number(m.checkpoints.counts().failed)
    }),
    ("numberOfInProgressCheckpoints", "Checkpoints that are pending now.", Gauge, |m| {
        number(m.checkpoints.counts().in_progress)
    }),
    ("lastCompletedCheckpointId", "Number of the newest completed checkpoint.", Gauge, |m| {
        last(m, |r| r.id.0)
    }),
    (
        "lastCheckpointDuration",
        "From the trigger to the last acknowledgement of the newest completed checkpoint, in milliseconds.",
        Gauge,
        |m| last(m, |r| ms(r.duration)),
    ),
    ("lastCheckpointSize", "Bytes written for the newest completed checkpoint.", Gauge, |m| {
        last(m, |r| r.metrics.bytes)
    }),
    ("lastCheckpointFullSize", "Bytes that the newest completed checkpoint refers to.", Gauge, |m| {
        last(m, |r| r.metrics.full_bytes)
    }),
    (
        "lastCheckpointProcessedData",
        "Bytes processed between the first and the last barrier of the newest completed checkpoint.",
        Gauge,
        |m| last(m, |r| r.metrics.processed_bytes),
    ),
    (
        "lastCheckpointPersistedData",
        "Bytes of records in flight that the newest completed checkpoint holds.",
        Gauge,
        |m| last(m, |r| r.metrics.persisted_bytes),
    ),
    ("lastCheckpointExternalPath", "Directory of the newest completed checkpoint.", Gauge, |m| {
        let path = m.last_checkpoint.as_ref().map(|info| info.path.display().to_string());
        path.map_or(FigureValue::None, FigureValue::Text)
    }),
    (
        "lastCheckpointRestoreTimestamp",
        "When a checkpoint was last restored, in milliseconds since the epoch.",
        Gauge,
        |m| m.checkpoints.restored().map_or(FigureValue::None, |(_, at)| number(m.wall(at))),
    ),
    ("restoreRecordsDone", "Keys of keyed state that the present attempt has restored.", Gauge, |m| {
        number(restoring(m).records_done)
    }),
    (
        "restoreRecordsRemaining",
        "Keys of keyed state that the present attempt has still to restore.",
        Gauge,
        |m| {
            let restoring = restoring(m);
            number(restoring.records.saturating_sub(restoring.records_done))
        },
    ),
    (
        "restorePercent",
        "How much of its keyed state the present attempt has restored, in percent of the bytes.",
        Gauge,
        |m| number(restoring(m).percent()),
    ),
    ("numRestarts", "Restarts after a failure.", Counter, |m| number(m.restarts)),
    ("uptime", "For how long the job has been running without a failure, in milliseconds.", Gauge, |m| {
        number(ms(m.uptime))
    }),
    (
        "downtime",
        "For how long the job has not been running behind a failure, in milliseconds; 0 while it runs.",
        Gauge,
        |m| number(ms(m.downtime)),
    ),
    (
        "restartingTime",
        "From the last failure until the job was running again, in milliseconds.",
        Gauge,
        |m| number(ms(m.restarting_time)),
    ),
    ("numRecordsIn", "Records read by sources, over all processes of the line, each once.", Gauge, |m| {
        number(m.records_in)
    }),
    ("numRecordsOut", "Records committed by sinks, over all processes of the line, each once.", Gauge, |m| {
        number(m.records_out)
    }),
    ("numLateRecordsDropped", "Records that came too late, over all processes of the line.", Gauge, |m| {
        number(m.records_late)
    }),
    ("numRecordsRejected", "Records that could not be used, over all processes of the line.", Gauge, |m| {
        number(m.records_rejected)
    }),
    ("numRecordsReplayed", "Records that this process has read again after a failure.", Counter, |m| {
        number(m.records_replayed)
    }),
];

/// Each subtask's.
static SUBTASK: &[OfSubtask] = &[
    (
        "checkpointStartDelayNanos",
        "From the trigger to the first barrier here, in nanoseconds, of the newest checkpoint whose barriers have come.",
        Gauge,
        |s| nanos(s.start_delay),
    ),
    (
        "checkpointAlignmentTime",
        "From the first barrier here to the last, in nanoseconds: of the alignment under way up to now, or the last one.",
        Gauge,
        |s| nanos(s.alignment),
    ),
    ("busyTimeMsPerSecond", "Milliseconds of a second in which it works.", Gauge, |s| s.time.busy_ms),
    ("idleTimeMsPerSecond", "Milliseconds of a second in which there is nothing to do.", Gauge, |s| {
        s.time.idle_ms
    }),
    (
        "backPressuredTimeMsPerSecond",
        "Milliseconds of a second in which what it emits finds no room.",
        Gauge,
        |s| s.time.back_pressured_ms,
    ),
    ("isBackPressured", "Whether what it emits finds no room now.", Gauge, |s| {
        u64::from(s.doing == Doing::BackPressured)
    }),
    ("numRecordsIn", "Records that it has read in this attempt, as a source.", Gauge, |s| s.records_in),
    ("numRecordsOut", "Records that it has made visible in this attempt, as a sink.", Gauge, |s| {
        s.records_out
    }),
    ("numLateRecordsDropped", "Records that came too late in this attempt.", Gauge, |s| s.records_late),
];

impl Metrics {
    /// All figures: the job's, then each subtask's. Names and order are the same each time.
    pub fn figures(&self) -> Vec<Figure> {
        let job = JOB.iter().map(|(name, help, kind, value)| Figure {
            name,
            help,
            kind: *kind,
            subtask: None,
            value: value(self),
        });
        let of = |(name, help, kind, value): &'static OfSubtask| {
            self.subtasks.iter().map(move |subtask| Figure {
                name,
                help,
                kind: *kind,
                subtask: Some(subtask.subtask),
                value: number(value(subtask)),
            })
        };
        job.chain(SUBTASK.iter().flat_map(of)).collect()
    }
}

fn restoring(metrics: &Metrics) -> RestoreProgress {
    metrics.restoring.iter().copied().reduce(RestoreProgress::and).unwrap_or_default()
}

fn number(n: u64) -> FigureValue {
    FigureValue::Number(n)
}

fn last(metrics: &Metrics, value: fn(&CheckpointRecord) -> u64) -> FigureValue {
    metrics.checkpoints.latest_completed().map_or(FigureValue::None, |record| number(value(record)))
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

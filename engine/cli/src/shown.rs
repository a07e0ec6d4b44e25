//! What the engine says of a job, as it is told to others. Pure.

use crate::control::protocol::{Counts, Entry, History, Restored};
use crate::control::report::{Details, Figure, Figures, Latest, Measured, Overview, Part, Spread, TaskPart};
use millstream::checkpoint::{
    AckMetrics, CheckpointKind, CheckpointRecord, CheckpointStatus, Distribution, SubtaskRecord,
};
use millstream::config::KEYS;
use millstream::runtime::{FigureKind, FigureValue, TaskDescription, subtask_name};
use millstream::{CheckpointId, Metrics};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A job and where its checkpoints are.
pub(crate) struct Named<'a> {
    /// 32 hex digits.
    pub job_id: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Directory of the checkpoints of all jobs, absolute.
    pub checkpoints: &'a Path,
}

impl Named<'_> {
    /// The recent checkpoints.
    pub(crate) fn history(&self, metrics: &Metrics) -> History {
        History {
            job_id: self.job_id.to_owned(),
            name: self.name.to_owned(),
            counts: counts(metrics),
            restored: self.restored(metrics),
            history: metrics.checkpoints.history().map(|record| self.entry(metrics, record)).collect(),
        }
    }

    /// One checkpoint, if it is remembered.
    pub(crate) fn details(&self, metrics: &Metrics, id: u64) -> Option<Details> {
        let record = metrics.checkpoints.record(CheckpointId(id))?;
        let wall = |moment: Option<Duration>| moment.map(|moment| metrics.wall(moment));
        Some(Details {
            job_id: self.job_id.to_owned(),
            name: self.name.to_owned(),
            checkpoint: self.entry(metrics, record),
            latest_ack_ms: wall(record.latest_ack),
            ended_ms: wall(record.ended),
            subtasks: record.subtasks as u64,
            acknowledged: record.acknowledged as u64,
            discarded: record.discarded,
            failed_subtask: record.failed_subtask.map(|subtask| subtask_name(&metrics.tasks, subtask)),
            measured: measured(&record.metrics),
            tasks: metrics.tasks.iter().map(|task| task_part(metrics, record, task)).collect(),
        })
    }

    /// All checkpoints together.
    pub(crate) fn overview(&self, metrics: &Metrics) -> Overview {
        let statistics = &metrics.checkpoints;
        let summary = statistics.summary();
        let quantities = [
            ("checkpointed_bytes", spread(&summary.checkpointed_bytes, 1)),
            ("full_bytes", spread(&summary.full_bytes, 1)),
            ("duration_ms", spread(&summary.duration_us, 1000)),
            ("held_bytes", spread(&summary.held_bytes, 1)),
            ("processed_bytes", spread(&summary.processed_bytes, 1)),
            ("persisted_bytes", spread(&summary.persisted_bytes, 1)),
        ];
        let entry = |record: &CheckpointRecord| self.entry(metrics, record);
        Overview {
            job_id: self.job_id.to_owned(),
            name: self.name.to_owned(),
            counts: counts(metrics),
            summary: quantities.into_iter().map(|(name, spread)| (name.to_owned(), spread)).collect(),
            latest: Latest {
                completed: statistics.latest_completed().map(entry),
                failed: statistics.latest_failed().map(entry),
                restored: self.restored(metrics),
            },
            config: config(metrics),
            doctor: metrics.advice().iter().map(ToString::to_string).collect(),
        }
    }

    /// The figures of the job and its subtasks.
    pub(crate) fn figures(&self, metrics: &Metrics) -> Figures {
        let place = |subtask: u32| metrics.tasks.iter().find(|task| task.subtasks.contains(&subtask));
        let figure = |figure: millstream::runtime::Figure| {
            let task = figure.subtask.and_then(|subtask| place(subtask.0));
            Figure {
                name: figure.name.to_owned(),
                help: figure.help.to_owned(),
                kind: match figure.kind {
                    FigureKind::Counter => "counter",
                    FigureKind::Gauge => "gauge",
                }
                .to_owned(),
                task: task.map(|task| task.name.clone()),
                subtask: figure.subtask.zip(task).map(|(n, task)| u64::from(n.0 - task.subtasks.start)),
                value: match figure.value {
                    FigureValue::None => Value::Null,
                    FigureValue::Number(n) => n.into(),
                    FigureValue::Text(text) => text.into(),
                },
            }
        };
        Figures {
            job_id: self.job_id.to_owned(),
            name: self.name.to_owned(),
            state: metrics.state.to_string(),
            figures: metrics.figures().into_iter().map(figure).collect(),
        }
    }

    fn entry(&self, metrics: &Metrics, record: &CheckpointRecord) -> Entry {
        let (status, failure) = match &record.status {
            CheckpointStatus::InProgress => ("IN_PROGRESS", None),
            CheckpointStatus::Completed => ("COMPLETED", None),
            CheckpointStatus::Failed(failure) => ("FAILED", Some(failure.to_string())),
        };
        let kind = match record.kind {
            CheckpointKind::Checkpoint => "CHECKPOINT",
            CheckpointKind::FullCheckpoint => "FULL_CHECKPOINT",
        };
        Entry {
            id: record.id.0,
            kind: kind.to_owned(),
            status: status.to_owned(),
            unaligned: record.metrics.unaligned,
            trigger_ms: metrics.wall(record.triggered),
            duration_ms: ms(record.duration),
            checkpointed_bytes: record.metrics.bytes,
            full_bytes: record.metrics.full_bytes,
            processed_bytes: record.metrics.processed_bytes,
            persisted_bytes: record.metrics.persisted_bytes,
            alignment_ms: ms(record.metrics.alignment),
            start_delay_ms: ms(record.metrics.start_delay),
            path: (record.status == CheckpointStatus::Completed).then(|| self.path(record.id.0)),
            failure,
        }
    }

    fn restored(&self, metrics: &Metrics) -> Option<Restored> {
        let (id, moment) = metrics.checkpoints.restored()?;
        Some(Restored { id: id.0, path: self.restored_path(id.0, metrics), ms: metrics.wall(moment) })
    }

    /// The directory of the checkpoint that the present attempt has gone on from: one that this process has completed, or
    /// what it began with, which may be anywhere.
    fn restored_path(&self, id: u64, metrics: &Metrics) -> String {
        let own = metrics.checkpoints.record(CheckpointId(id)).is_some();
        match &metrics.restored_from {
            Some(began) if !own => text(began),
            _ => self.path(id),
        }
    }

    /// The directory of one of the job's checkpoints.
    fn path(&self, id: u64) -> String {
        let dir: PathBuf = self.checkpoints.join(self.job_id).join(format!("chk-{id}"));
        text(&dir)
    }
}

fn counts(metrics: &Metrics) -> Counts {
    let counts = metrics.checkpoints.counts();
    Counts {
        total: counts.total,
        in_progress: counts.in_progress,
        completed: counts.completed,
        failed: counts.failed,
        restored: counts.restored,
    }
}

fn task_part(metrics: &Metrics, record: &CheckpointRecord, task: &TaskDescription) -> TaskPart {
    let together = record.task(task.subtasks.clone());
    let parts = record.parts_of(task.subtasks.clone());
    TaskPart {
        name: task.name.clone(),
        operators: task.operators.clone(),
        subtasks: together.subtasks as u64,
        acknowledged: together.acknowledged as u64,
        latest_ack_ms: together.latest_ack.map(|at| metrics.wall(at)),
        duration_ms: together.latest_ack.map(|at| ms(at.saturating_sub(record.triggered))),
        measured: measured(&together.metrics),
        parts: parts.iter().map(|part| one_part(metrics, record, task, part)).collect(),
    }
}

fn one_part(
    metrics: &Metrics,
    record: &CheckpointRecord,
    task: &TaskDescription,
    part: &SubtaskRecord,
) -> Part {
    let at = part.ack.map(|(at, _)| at);
    Part {
        index: u64::from(part.subtask.0 - task.subtasks.start),
        status: if at.is_some() { "COMPLETED" } else { "PENDING_OR_FAILED" }.to_owned(),
        ack_ms: at.map(|at| metrics.wall(at)),
        duration_ms: at.map(|at| ms(at.saturating_sub(record.triggered))),
        measured: part.ack.map(|(_, metrics)| measured(&metrics)),
    }
}

fn measured(metrics: &AckMetrics) -> Measured {
    Measured {
        checkpointed_bytes: metrics.bytes,
        full_bytes: metrics.full_bytes,
        start_delay_ms: ms(metrics.start_delay),
        alignment_ms: ms(metrics.alignment),
        held_bytes: metrics.held_bytes,
        spilled_bytes: metrics.spilled_bytes,
        processed_bytes: metrics.processed_bytes,
        unaligned: metrics.unaligned,
        persisted_bytes: metrics.persisted_bytes,
        sync_ms: ms(metrics.sync),
        async_ms: ms(metrics.background),
    }
}

/// The values, each divided by so much.
fn spread(values: &Distribution, by: u64) -> Spread {
    let part = |value: Option<u64>| value.map(|value| value / by);
    let quantile = |share| part(values.quantile(share));
    Spread {
        min: part(values.min()),
        avg: part(values.mean()),
        max: part(values.max()),
        p50: quantile(0.5),
        p90: quantile(0.9),
        p95: quantile(0.95),
        p99: quantile(0.99),
        p999: quantile(0.999),
    }
}

/// What has to do with checkpoints.
fn config(metrics: &Metrics) -> BTreeMap<String, String> {
    let of_checkpoints = |name: &str| {
        name.starts_with("execution.checkpointing.")
            || ["state.backend.type", "web.checkpoints.history"].contains(&name)
    };
    let keys = KEYS.iter().filter(|key| of_checkpoints(key.name));
    keys.map(|key| (key.name.to_owned(), key.show(&metrics.settings))).collect()
}

pub(crate) fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

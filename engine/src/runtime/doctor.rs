//! What statistics of checkpoints show to be wrong, and what to do about it (TU-01, TU-02): a pure function.

use super::described::{TaskDescription, subtask_name};
use crate::checkpoint::{
    AckMetrics, CheckpointFailure, CheckpointRecord, CheckpointStatistics, CheckpointStatus, SubtaskId,
};
use crate::config::{ByteSize, Key, Settings, StateBackend, format_duration};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Fewer checkpoints than this say nothing.
const ENOUGH: usize = 3;

/// The next checkpoint follows at once when there is less than this share of the interval between the two.
const GAP: u32 = 20;

/// An alignment that is shorter is nobody's trouble.
const LONG: Duration = Duration::from_millis(100);

/// Siblings that wait this many times less are not what is waited for.
const SKEW: u32 = 4;

/// One thing that is wrong. Its text says how it shows and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// Checkpoints follow one another without a gap: the job takes one all the time (TU-01).
    BackToBack {
        /// How many began as soon as the one before had ended.
        of_these: usize,
        /// Of how many.
        of: usize,
        /// The longest of them.
        longest: Duration,
        /// `execution.checkpointing.interval`.
        interval: Duration,
        /// What to do, best first.
        remedies: Vec<String>,
    },
    /// Most of a checkpoint's time goes into waiting for barriers (TU-02).
    Alignment {
        /// In how many.
        of_these: usize,
        /// Of how many.
        of: usize,
        /// The subtask that most often waited longest.
        subtask: String,
        /// For how long, at most.
        longest: Duration,
        /// What it held back, at most, in bytes.
        held_bytes: u64,
        /// Whether the other subtasks of its task wait far less: records are unevenly spread over them.
        skewed: bool,
    },
}

/// What is wrong with the checkpoints that are remembered, under these settings (the effective ones).
pub fn examine(
    statistics: &CheckpointStatistics,
    settings: &Settings,
    tasks: &[TaskDescription],
) -> Vec<Advice> {
    let back_to_back = back_to_back(statistics, settings);
    back_to_back.into_iter().chain(alignment(statistics, tasks)).collect()
}

fn back_to_back(statistics: &CheckpointStatistics, settings: &Settings) -> Option<Advice> {
    let interval = settings.checkpointing.interval?;
    let mut records: Vec<&CheckpointRecord> = statistics.history().collect();
    records.reverse();
    let ended = |pair: &[&CheckpointRecord]| Some((pair[0].ended?, pair[1].triggered, pair[0].duration));
    let pairs: Vec<_> = records.windows(2).filter_map(ended).collect();
    let without_gap = |pair: &&(Duration, Duration, Duration)| pair.1.saturating_sub(pair.0) < interval / GAP;
    let close: Vec<_> = pairs.iter().filter(without_gap).collect();
    if pairs.len() + 1 < ENOUGH || close.len() * 2 <= pairs.len() {
        return None;
    }
    Some(Advice::BackToBack {
        of_these: close.len(),
        of: pairs.len(),
        longest: close.iter().map(|pair| pair.2).max().unwrap_or_default(),
        interval,
        remedies: remedies(settings),
    })
}

/// In the order of TU-01.
fn remedies(settings: &Settings) -> Vec<String> {
    let mut remedies = Vec::new();
    let pause = settings.checkpointing.min_pause;
    remedies.push(if pause.is_zero() {
        "set execution.checkpointing.min-pause, 500ms for example, so that there is time between them"
            .to_owned()
    } else {
        format!("raise execution.checkpointing.min-pause, which is {}", format_duration(pause))
    });
    if settings.state.backend == StateBackend::Hashmap {
        remedies.push(
            "keep the state in pages (state.backend.type=paged), of which a checkpoint has what changed"
                .to_owned(),
        );
    } else if !settings.checkpointing.incremental {
        remedies.push(
            "set execution.checkpointing.incremental=true, so that one has only what changed".to_owned(),
        );
    }
    remedies.push("raise the parallelism, so that each subtask has less state".to_owned());
    remedies
}

/// A checkpoint as a matter of waiting for barriers: who waited longest, and the others of its task.
struct Waited {
    subtask: SubtaskId,
    metrics: AckMetrics,
    siblings: Option<Duration>,
}

fn alignment(statistics: &CheckpointStatistics, tasks: &[TaskDescription]) -> Option<Advice> {
    let ended: Vec<&CheckpointRecord> = statistics.history().filter(|record| tells(record)).collect();
    let slow: Vec<Waited> = ended.iter().filter_map(|record| waited(record, tasks)).collect();
    if ended.len() < ENOUGH || slow.len() * 2 <= ended.len() {
        return None;
    }
    let mut often: BTreeMap<SubtaskId, usize> = BTreeMap::new();
    for waited in &slow {
        *often.entry(waited.subtask).or_default() += 1;
    }
    let (subtask, times) = often.into_iter().max_by_key(|(_, times)| *times)?;
    let its = || slow.iter().filter(|waited| waited.subtask == subtask);
    let far_less = |waited: &&Waited| {
        waited.siblings.is_some_and(|siblings| siblings.saturating_mul(SKEW) <= waited.metrics.alignment)
    };
    Some(Advice::Alignment {
        of_these: slow.len(),
        of: ended.len(),
        subtask: subtask_name(tasks, subtask),
        longest: its().map(|waited| waited.metrics.alignment).max().unwrap_or_default(),
        held_bytes: its().map(|waited| waited.metrics.held_bytes).max().unwrap_or_default(),
        skewed: its().filter(far_less).count() * 2 > times,
    })
}

/// Whether a checkpoint says anything about waiting: one that failed for another reason does not.
fn tells(record: &CheckpointRecord) -> bool {
    match &record.status {
        CheckpointStatus::Completed => true,
        CheckpointStatus::Failed(failure) => matches!(failure, CheckpointFailure::AlignmentLimit { .. }),
        CheckpointStatus::InProgress => false,
    }
}

/// Who waited, if that is most of what the checkpoint took.
fn waited(record: &CheckpointRecord, tasks: &[TaskDescription]) -> Option<Waited> {
    if let (CheckpointStatus::Failed(CheckpointFailure::AlignmentLimit { held, .. }), Some(subtask)) =
        (&record.status, record.failed_subtask)
    {
        let metrics = AckMetrics { alignment: record.duration, held_bytes: *held, ..AckMetrics::default() };
        return Some(Waited { subtask, metrics, siblings: None });
    }
    let acks = record.parts.iter().filter_map(|part| Some((part.subtask, part.ack?.1)));
    let (subtask, metrics) = acks.max_by_key(|(_, metrics)| metrics.alignment)?;
    let task = tasks.iter().find(|task| task.subtasks.contains(&subtask.0));
    let others = task.map_or(&[][..], |task| record.parts_of(task.subtasks.clone()));
    let others = others.iter().filter(|part| part.subtask != subtask);
    let siblings = others.filter_map(|part| Some(part.ack?.1.alignment)).max();
    let most = metrics.alignment >= LONG && metrics.alignment * 2 >= record.duration;
    most.then_some(Waited { subtask, metrics, siblings })
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BackToBack { of_these, of, longest, interval, remedies } => write!(
                f,
                "checkpoints are back to back: {of_these} of {of} began as soon as the one before had ended (the longest \
                 took {}, execution.checkpointing.interval is {}): {}; more of them at the same time do not help",
                rounded(*longest),
                format_duration(*interval),
                remedies.join("; ")
            ),
            Self::Alignment { of_these, of, subtask, longest, held_bytes, skewed } => {
                write!(
                    f,
                    "barriers are waited for: in {of_these} of {of} checkpoints that took most of the time, most often in \
                     {subtask}, up to {} with {} held back: ",
                    rounded(*longest),
                    ByteSize(*held_bytes)
                )?;
                f.write_str(if *skewed {
                    "the other subtasks beside it wait far less, so spread its records (a key that has most of them, say) \
                     or raise the parallelism"
                } else {
                    "one of its inputs is slower than the others, so relieve what holds that one up (the start delays say \
                     where)"
                })?;
                if Key::named("execution.checkpointing.unaligned.enabled").is_some() {
                    f.write_str(", or set execution.checkpointing.unaligned.enabled=true")?;
                }
                Ok(())
            }
        }
    }
}

/// To milliseconds, which is what people look at.
fn rounded(duration: Duration) -> String {
    format_duration(Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests;

//! What is said of a job's checkpoints and figures in detail, and printed as JSON. Pure.

use super::protocol::{Counts, Entry, Restored};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// One checkpoint, as `checkpoints --id N --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Details {
    /// 32 hex digits.
    pub job_id: String,
    /// The job's name.
    pub name: String,
    /// The checkpoint, as in the history.
    pub checkpoint: Entry,
    /// When its last acknowledgement so far came, in ms since the epoch.
    pub latest_ack_ms: Option<u64>,
    /// When it was complete or failed, in ms since the epoch.
    pub ended_ms: Option<u64>,
    /// How many subtasks take part.
    pub subtasks: u64,
    /// How many have acknowledged.
    pub acknowledged: u64,
    /// Whether it was completed and has been deleted since.
    pub discarded: bool,
    /// The subtask on account of which it failed, where it was one.
    pub failed_subtask: Option<String>,
    /// Sums of sizes, and the longest times.
    pub measured: Measured,
    /// Its tasks.
    pub tasks: Vec<TaskPart>,
}

/// What one task has to do with a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskPart {
    /// The names of its operators.
    pub name: String,
    /// These names one by one.
    pub operators: Vec<String>,
    /// How many of its subtasks take part.
    pub subtasks: u64,
    /// How many have acknowledged.
    pub acknowledged: u64,
    /// When the last of these acknowledgements came, in ms since the epoch.
    pub latest_ack_ms: Option<u64>,
    /// From the trigger to then.
    pub duration_ms: Option<u64>,
    /// Sums of sizes, and the longest times.
    pub measured: Measured,
    /// Its subtasks.
    pub parts: Vec<Part>,
}

/// What one subtask has to do with a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Its place in its task.
    pub index: u64,
    /// `COMPLETED` or `PENDING_OR_FAILED`.
    pub status: String,
    /// When it acknowledged, in ms since the epoch.
    pub ack_ms: Option<u64>,
    /// From the trigger to then.
    pub duration_ms: Option<u64>,
    /// What it measured.
    pub measured: Option<Measured>,
}

/// What was measured of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// Bytes written for it.
    pub checkpointed_bytes: u64,
    /// Bytes that it refers to.
    pub full_bytes: u64,
    /// From the trigger to the first barrier.
    pub start_delay_ms: u64,
    /// From the first barrier to the last.
    pub alignment_ms: u64,
    /// Bytes held back meanwhile.
    pub held_bytes: u64,
    /// Bytes of these that were written into files.
    pub spilled_bytes: u64,
    /// Bytes processed meanwhile.
    pub processed_bytes: u64,
    /// Whether barriers overtook records, which it holds.
    pub unaligned: bool,
    /// Bytes of in-flight records that it holds.
    pub persisted_bytes: u64,
    /// For how long the subtask stood still.
    pub sync_ms: u64,
    /// From there to the end of the writing.
    pub async_ms: u64,
}

/// All checkpoints together, as `checkpoints --summary --json` prints them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// 32 hex digits.
    pub job_id: String,
    /// The job's name.
    pub name: String,
    /// How many there were in this process.
    pub counts: Counts,
    /// What the completed ones have in common, by quantity.
    pub summary: BTreeMap<String, Spread>,
    /// The latest of each kind.
    pub latest: Latest,
    /// The settings of checkpoints in force, by key.
    pub config: BTreeMap<String, String>,
    /// What is wrong, and what to do about it.
    pub doctor: Vec<String>,
}

/// How one quantity is spread; all null before the first value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// The least.
    pub min: Option<u64>,
    /// The mean.
    pub avg: Option<u64>,
    /// The most.
    pub max: Option<u64>,
    /// Half of the values are not above this.
    pub p50: Option<u64>,
    /// So many of a hundred are not.
    pub p90: Option<u64>,
    /// As above.
    pub p95: Option<u64>,
    /// As above.
    pub p99: Option<u64>,
    /// 999 of a thousand are not.
    pub p999: Option<u64>,
}

/// The latest of each kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latest {
    /// Of the completed ones.
    pub completed: Option<Entry>,
    /// Of the failed ones.
    pub failed: Option<Entry>,
    /// What was restored last.
    pub restored: Option<Restored>,
}

/// The figures of a job, as `metrics --json` prints them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// 32 hex digits.
    pub job_id: String,
    /// The job's name.
    pub name: String,
    /// `RUNNING`, `RESTARTING`, …
    pub state: String,
    /// Those of the job, then those of subtasks; all of one name stand together.
    pub figures: Vec<Figure>,
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// What it says, and its unit.
    pub help: String,
    /// `counter` or `gauge`.
    pub kind: String,
    /// The task whose subtask it is of; null where it is the job's.
    pub task: Option<String>,
    /// That subtask's place in its task.
    pub subtask: Option<u64>,
    /// A number, a text, or null where there is nothing to say yet.
    pub value: Value,
}

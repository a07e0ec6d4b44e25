//! What is said over a control socket: one request, one reply, each one line of JSON. Pure.
//!
//! The types that `list --json` and `checkpoints --json` print are the ones that travel.

use super::report::{Details, Figures, Overview};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use thiserror::Error;

/// Longest request.
pub const REQUEST_MAX: usize = 4 << 10;

/// Longest reply: a history of ten thousand checkpoints fits.
pub const REPLY_MAX: usize = 16 << 20;

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// How the job is.
    Status,
    /// Its checkpoints.
    Checkpoints,
    /// One checkpoint in detail.
    Details {
        /// Its number.
        id: u64,
    },
    /// All its checkpoints together.
    Overview,
    /// Its figures.
    Metrics,
    /// Take a checkpoint now; answered when it has completed or failed.
    Checkpoint {
        /// Write the whole state.
        full: bool,
    },
    /// Take a final checkpoint and end for good; answered when the job has ended.
    Stop,
    /// End without a checkpoint; answered when the job has ended.
    Cancel,
}

/// What the job answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", content = "value", rename_all = "kebab-case")]
pub enum Reply {
    /// To [`Request::Status`].
    Status(Status),
    /// To [`Request::Checkpoints`].
    History(History),
    /// To [`Request::Details`].
    Details(Box<Details>),
    /// To [`Request::Overview`].
    Overview(Box<Overview>),
    /// To [`Request::Metrics`].
    Figures(Figures),
    /// To [`Request::Checkpoint`] and [`Request::Stop`]: the path of the checkpoint.
    Path(String),
    /// To [`Request::Cancel`].
    Done,
    /// It could not be done.
    Refused(Fault),
}

/// Why something could not be done; the parts of an error line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What failed.
    pub what: String,
    /// The thing at fault.
    pub at: String,
    /// Why.
    pub cause: String,
    /// What the user may do.
    pub hint: Option<String>,
}

/// A running job, as `list --json` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// 32 hex digits.
    pub job_id: String,
    /// The job's name.
    pub name: String,
    /// `RUNNING`, `RESTARTING`, …
    pub state: String,
    /// The process.
    pub pid: u32,
    /// Default parallelism.
    pub parallelism: u32,
    /// When it was started, in ms since the epoch.
    pub start_ms: u64,
    /// The newest completed checkpoint.
    pub last_checkpoint: Option<LastCheckpoint>,
}

/// The newest completed checkpoint of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastCheckpoint {
    /// Its number.
    pub id: u64,
    /// Its directory.
    pub path: String,
    /// When it completed, in ms since the epoch.
    pub completed_ms: u64,
}

/// The checkpoints of a job, as `checkpoints --json` prints them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// 32 hex digits.
    pub job_id: String,
    /// The job's name.
    pub name: String,
    /// How many there were in this process.
    pub counts: Counts,
    /// What the present attempt was restored from.
    pub restored: Option<Restored>,
    /// The newest first.
    pub history: Vec<Entry>,
}

/// Numbers of checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All.
    pub total: u64,
    /// Running now.
    pub in_progress: u64,
    /// Completed.
    pub completed: u64,
    /// Failed.
    pub failed: u64,
    /// Restores.
    pub restored: u64,
}

/// A restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// Number of the checkpoint.
    pub id: u64,
    /// Its path.
    pub path: String,
    /// When, in ms since the epoch.
    pub ms: u64,
}

/// One checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number.
    pub id: u64,
    /// `CHECKPOINT`, `SAVEPOINT` or `FULL_CHECKPOINT`.
    pub kind: String,
    /// `IN_PROGRESS`, `COMPLETED` or `FAILED`.
    pub status: String,
    /// Whether it holds in-flight records.
    pub unaligned: bool,
    /// When it was triggered, in ms since the epoch.
    pub trigger_ms: u64,
    /// From the trigger to the last acknowledgement.
    pub duration_ms: u64,
    /// Bytes written for it.
    pub checkpointed_bytes: u64,
    /// Bytes of the state it stands for.
    pub full_bytes: u64,
    /// Bytes processed between first and last barrier.
    pub processed_bytes: u64,
    /// Bytes of in-flight records it holds.
    pub persisted_bytes: u64,
    /// From first to last barrier, the longest.
    pub alignment_ms: u64,
    /// From the trigger to the first barrier, the longest.
    pub start_delay_ms: u64,
    /// Its directory, once completed.
    pub path: Option<String>,
    /// Why it failed.
    pub failure: Option<String>,
}

/// What was heard is not the protocol.
#[derive(Debug, Error)]
pub enum ProtocolError {
    /// Reading or writing failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The other side said nothing, or stopped in the middle of a line.
    #[error("the connection ended in the middle of a message")]
    Cut,
    /// More than the limit.
    #[error("a message of more than {0} bytes")]
    TooLong(usize),
    /// No JSON, or none of ours.
    #[error("not a message of this protocol: {0}")]
    Malformed(#[from] serde_json::Error),
}

/// Writes a message as one line.
///
/// # Errors
/// Those of the writer.
pub fn send<T: Serialize>(to: &mut impl Write, message: &T) -> Result<(), ProtocolError> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    Ok(to.flush()?)
}

/// Reads a message of at most `limit` bytes.
///
/// # Errors
/// What cannot be read, is cut, too long, or not of this protocol.
pub fn receive<T: DeserializeOwned>(from: &mut impl Read, limit: usize) -> Result<T, ProtocolError> {
    let mut line = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let n = match from.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        let end = chunk[..n].iter().position(|b| *b == b'\n');
        line.extend_from_slice(&chunk[..end.unwrap_or(n)]);
        if line.len() > limit {
            return Err(ProtocolError::TooLong(limit));
        }
        match (end, n) {
            (Some(_), _) => return Ok(serde_json::from_slice(&line)?),
            (None, 0) => return Err(ProtocolError::Cut),
            (None, _) => {}
        }
    }
}

#[cfg(test)]
mod tests;

//! When a checkpoint is taken, what it waits for, and how it ends: decided here, done elsewhere.
//!
//! The [`Coordinator`] is a pure state machine: it is given the time and what happened as an [`Input`], and says
//! as [`Action`]s what to do. It reads no clock, starts no thread and touches no file, so that a test can lead it
//! through any history.
//!
//! Invariants, each asserted by the property test:
//! - ids strictly increase over all attempts of a job (CP-13);
//! - `Store` of a checkpoint comes after the acknowledgement of every subtask of its plan, `Complete` after its
//!   `Stored`, and neither after its `Abort`;
//! - at most one checkpoint is being stored, in order of ids;
//! - an accepted payload ends in a stored checkpoint or in one `Discard`;
//! - every request is answered exactly once;
//! - a subtask is released (`MayFinish`) only when a completed checkpoint holds its end (CP-31) and no pending one
//!   still waits for it, and all subtasks of one task are released together. A snapshot may show an
//!   operator of which some subtasks have ended; how it is restored is told by CP-28 to CP-30.

mod coordinator;
mod effective;
mod event;
mod failure;
mod message;
mod pending;
mod plan;
mod record;
mod request;
mod schedule;
mod statistics;
mod summary;
#[cfg(test)]
mod tests;

pub use crate::config::CheckpointMode;
pub use coordinator::Coordinator;
pub use event::CheckpointEvent;
pub use failure::{CheckpointFailure, ToleranceExceeded};
pub use message::{
    AckMetrics, Action, Barrier, CheckpointKind, Input, RequestKind, SubtaskId, Taken, TaskInfo, Ticket,
};
pub use record::{CheckpointRecord, CheckpointStatus, SubtaskRecord, TaskRecord};
pub use statistics::{CheckpointCounts, CheckpointStatistics};
pub use summary::{CheckpointSummary, Distribution};

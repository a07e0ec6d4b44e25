//! How a process ends, and what it leaves.

use crate::orders::Order;
use millstream::checkpoint::{CheckpointFailure, CheckpointStatistics, CheckpointStatus};
use millstream::{Error, Summary};
use millstream_io::storage::fault::{Crash, Fault, Op};

/// How a process ended.
pub(crate) enum Ended {
    /// The job did, or was stopped or cancelled.
    Orderly(Box<Summary>),
    /// The job failed.
    Failed(Error),
    /// Its handle was dropped.
    Abandoned,
    /// It died, in this storage operation or between two steps.
    Died(Option<(Op, Crash)>),
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Orderly(summary) => write!(f, "ended {}", summary.state),
            Self::Failed(error) => write!(f, "ended: {error}"),
            Self::Abandoned => f.write_str("abandoned"),
            Self::Died(Some((op, how))) => write!(f, "died in {} ({how:?})", op.name()),
            Self::Died(None) => f.write_str("died between steps"),
        }
    }
}

/// What there was to hold back while barriers were aligned.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    /// Checkpoints for which something was held back in files, of those that are remembered.
    pub in_files: u64,
    /// Completed checkpoints that have records which were in flight.
    pub in_flight: u64,
    /// Checkpoints given up because more would have had to be.
    pub too_much: u64,
    /// Checkpoints given up because the disk was full.
    pub full: u64,
}

impl Held {
    pub(super) fn of(checkpoints: &CheckpointStatistics) -> Self {
        let mut held = Self::default();
        for record in checkpoints.history() {
            held.in_files += u64::from(record.metrics.spilled_bytes > 0);
            match &record.status {
                CheckpointStatus::Completed => {
                    held.in_flight += u64::from(record.metrics.persisted_bytes > 0)
                }
                CheckpointStatus::Failed(CheckpointFailure::AlignmentLimit { .. }) => held.too_much += 1,
                CheckpointStatus::Failed(CheckpointFailure::Spill { .. }) => held.full += 1,
                _ => {}
            }
        }
        held
    }
}

/// A process's end, and what it leaves.
pub(crate) struct Left {
    pub ended: Ended,
    pub operations: u64,
    pub steps: u64,
    pub checkpoints: u64,
    pub restarts: u64,
    pub held: Held,
    /// What failed in storage.
    pub failures: Vec<(Op, Fault)>,
    /// Scratch files that there was no room for.
    pub full: u64,
    /// What was asked of it and done to it.
    pub told: Vec<Order>,
}

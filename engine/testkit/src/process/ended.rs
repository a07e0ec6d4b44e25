//! How a process ends, and what it leaves.

use crate::orders::Order;
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

/// A process's end, and what it leaves.
pub(crate) struct Left {
    pub ended: Ended,
    pub operations: u64,
    pub steps: u64,
    pub checkpoints: u64,
    pub restarts: u64,
    /// What failed in storage.
    pub failures: Vec<(Op, Fault)>,
    /// Scratch files that there was no room for.
    pub full: u64,
    /// What was asked of it and done to it.
    pub told: Vec<Order>,
}

//! Identifiers that several crates share.

use std::fmt;

/// Number of a checkpoint of one job: starts at 1, grows by one with every attempt, and never goes back while
/// the job goes on (CP-13). A new run of a job whose checkpoints are deleted may start at 1 again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckpointId(pub u64);

impl CheckpointId {
    /// The first id of a job that has no earlier checkpoint.
    pub const FIRST: Self = Self(1);

    /// The id that the next attempt uses.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

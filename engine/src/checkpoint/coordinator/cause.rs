//! Why a checkpoint is triggered, and what follows from that.

use crate::checkpoint::message::{CheckpointKind, Ticket};
use millstream_io::clock::Moment;
use std::time::Duration;

/// When a failed final checkpoint is tried again (CP-31).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FinalRetry {
    pub(super) at: Moment,
    backoff: Duration,
}

impl FinalRetry {
    const FIRST: Duration = Duration::from_millis(100);
    const LONGEST: Duration = Duration::from_secs(10);

    pub(super) fn failed(&mut self, now: Moment) {
        self.backoff = (self.backoff * 2).clamp(Self::FIRST, Self::LONGEST);
        self.at = now.saturating_add(self.backoff);
    }
}

/// Why a checkpoint is triggered.
pub(super) enum Cause {
    Periodic,
    Requested(Ticket, CheckpointKind),
    Stop(Vec<Ticket>),
    Final,
}

impl Cause {
    pub(super) fn kind(&self) -> CheckpointKind {
        match self {
            Self::Requested(_, kind) => *kind,
            Self::Periodic | Self::Stop(_) | Self::Final => CheckpointKind::Checkpoint,
        }
    }

    /// Whether the job ends with it.
    pub(super) fn last(&self) -> bool {
        matches!(self, Self::Stop(_) | Self::Final)
    }

    pub(super) fn tickets(self) -> Vec<Ticket> {
        match self {
            Self::Periodic | Self::Final => Vec::new(),
            Self::Requested(ticket, _) => vec![ticket],
            Self::Stop(tickets) => tickets,
        }
    }
}

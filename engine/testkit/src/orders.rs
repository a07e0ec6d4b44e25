//! What is asked of a simulated process while it runs, and what is done to it.

use crate::faults::{Faults, early};
use crate::rng::Rng;

/// Something that happens to a process at a step of its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// A user asks for a checkpoint, perhaps for a full one.
    Checkpoint { full: bool },
    /// A user stops the job, and perhaps keeps its final checkpoint.
    Stop { keep: bool },
    /// A user cancels it; its checkpoints are kept.
    Cancel,
    /// A user drops the job's handle, and starts the job again while background work of the old one is still there.
    Abandon,
    /// One of its subtasks fails; which one, the schedule draws.
    FailSubtask,
}

impl Order {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Checkpoint { full: false } => "checkpoint",
            Self::Checkpoint { full: true } => "full checkpoint",
            Self::Stop { keep: false } => "suspend",
            Self::Stop { keep: true } => "stop",
            Self::Cancel => "cancel",
            Self::Abandon => "abandon",
            Self::FailSubtask => "subtask failure",
        }
    }

    fn draw(rng: &mut Rng) -> Self {
        match rng.below(11) {
            0..=3 => Self::Checkpoint { full: false },
            4 => Self::Checkpoint { full: true },
            5 => Self::Stop { keep: false },
            6 => Self::Stop { keep: true },
            7 => Self::Cancel,
            8 => Self::Abandon,
            _ => Self::FailSubtask,
        }
    }
}

/// Draws what happens to a process that things go wrong in.
pub(crate) fn draw(faults: &Faults, rng: &mut Rng) -> Vec<(u64, Order)> {
    let mut orders: Vec<_> =
        (0..rng.below(faults.orders + 1)).map(|_| (early(faults.steps, rng), Order::draw(rng))).collect();
    orders.sort_unstable_by_key(|(step, _)| *step);
    orders
}

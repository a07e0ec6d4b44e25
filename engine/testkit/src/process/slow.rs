//! A schedule that is not fair.

use crate::rng::Rng;

/// One in so many of its turns it takes.
const SLOWNESS: usize = 12;

/// Who gets a turn less often than the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slow {
    Nobody,
    Cell(usize),
    Background,
    Supervisor,
}

impl Slow {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        match rng.below(8) {
            0..=3 => Self::Nobody,
            4..=5 => Self::Cell(rng.below(6)),
            6 => Self::Background,
            _ => Self::Supervisor,
        }
    }

    /// Whether it misses its turn, where the cells come first in the choice, then background work, then the supervisor.
    pub(super) fn passes_over(self, choice: usize, cells: usize, work: usize, rng: &mut Rng) -> bool {
        let slow = match self {
            Self::Nobody => false,
            Self::Cell(slow) => choice == slow && choice < cells,
            Self::Background => (cells..cells + work).contains(&choice),
            Self::Supervisor => choice == cells + work,
        };
        slow && !rng.one_in(SLOWNESS)
    }
}

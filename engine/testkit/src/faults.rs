//! What goes wrong in a simulation, drawn from its seed.

use crate::coverage::{EIO, ENOSPC};
use crate::orders::{self, Order};
use crate::rng::Rng;
use millstream_io::storage::fault::{Crash, Fault};

/// What may go wrong in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Most processes, from the first on, in which something goes wrong; how many is drawn. Nothing is put in the way
    /// of the one after them, so it has to bring the job to its end.
    pub processes: usize,
    /// Most single storage operations that fail in each of them.
    pub failures: usize,
    /// Storage operations among which the places of deaths and failures are drawn; those that a process never comes to
    /// do not happen.
    pub operations: u64,
    /// Most things that are asked of each of them or done to it: a checkpoint, a stop, a cancellation, the failure
    /// of a subtask.
    pub orders: usize,
    /// Steps of the schedule among which the places of orders, and of deaths between operations, are drawn.
    pub steps: u64,
}

/// Scratch files among which the one is drawn that there is no room for: simulated states have few.
const SCRATCH_FILES: usize = 8;

impl Default for Faults {
    /// Three processes, two failed operations in each, three orders to each.
    fn default() -> Self {
        Self { processes: 3, failures: 2, operations: 200, orders: 3, steps: 1500 }
    }
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Self = Self { processes: 0, failures: 0, operations: 1, orders: 0, steps: 1 };

    /// In how many processes something goes wrong: seldom none.
    pub(crate) fn draw_processes(&self, rng: &mut Rng) -> usize {
        if self.processes == 0 || rng.one_in(10) { 0 } else { 1 + rng.below(self.processes) }
    }

    /// The place of something among storage operations; early ones are more likely, for runs differ in length.
    fn operation(&self, rng: &mut Rng) -> u64 {
        early(self.operations, rng)
    }
}

/// A number below `n`, the first half of the first half more likely.
pub(crate) fn early(n: u64, rng: &mut Rng) -> u64 {
    let among = (n >> rng.below(3)).max(1);
    rng.below(among as usize) as u64
}

/// How a process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Death {
    /// At a storage operation.
    At(u64, Crash),
    /// Before a step of the schedule.
    Before(u64),
}

/// What goes wrong in one process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fate {
    pub death: Option<Death>,
    /// The power goes too: what was not durable may be lost.
    pub power_cut: bool,
    pub failures: Vec<(u64, Fault)>,
    /// Scratch files, by number, that there is no room for.
    pub full: Option<u64>,
    /// Nobody waits for ever for its end.
    pub impatient: bool,
    /// By ascending step.
    pub orders: Vec<(u64, Order)>,
}

impl Fate {
    pub(crate) fn draw(faults: &Faults, rng: &mut Rng) -> Self {
        let dies = !rng.one_in(4);
        let failures = if rng.one_in(2) { 0 } else { rng.below(faults.failures + 1) };
        Self {
            death: dies.then(|| death(faults, rng)),
            power_cut: !rng.one_in(3),
            failures: (0..failures).map(|_| (faults.operation(rng), failure(rng))).collect(),
            impatient: true,
            orders: orders::draw(faults, rng),
            full: (faults.failures > 0 && rng.one_in(6)).then(|| rng.below(SCRATCH_FILES) as u64),
        }
    }

    /// A death that is set down, and nothing else.
    pub(crate) fn scripted(death: Option<(u64, Crash)>, power_cut: bool) -> Self {
        let death = death.map(|(operation, how)| Death::At(operation, how));
        Self { death, power_cut, ..Self::default() }
    }
}

fn death(faults: &Faults, rng: &mut Rng) -> Death {
    match rng.below(8) {
        0..=1 => Death::Before(early(faults.steps, rng)),
        2..=3 => Death::At(faults.operation(rng), Crash::Before),
        4..=5 => Death::At(faults.operation(rng), Crash::Torn),
        _ => Death::At(faults.operation(rng), Crash::After),
    }
}

fn failure(rng: &mut Rng) -> Fault {
    let cause = if rng.one_in(2) { ENOSPC } else { EIO };
    match rng.below(3) {
        0 => Fault::Before(cause),
        1 => Fault::After(cause),
        _ => Fault::Short(rng.below(64) as u64, cause),
    }
}

//! What goes wrong in a simulation, drawn from its seed.

use crate::rng::Rng;
use millstream_io::storage::fault::{Crash, Fault};

/// What may go wrong in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Most processes that die; how many is drawn.
    pub deaths: usize,
    /// Most single storage operations that fail in each process.
    pub failures: usize,
    /// Storage operations among which the fault's place is drawn; later ones are never reached by short jobs.
    pub operations: u64,
}

impl Default for Faults {
    /// At most two deaths and one failed operation a process, among the first 120 operations.
    fn default() -> Self {
        Self { deaths: 2, failures: 1, operations: 120 }
    }
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Self = Self { deaths: 0, failures: 0, operations: 1 };
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
#[derive(Clone, Debug)]
pub(crate) struct Fate {
    pub death: Option<Death>,
    /// The power goes too: what was not durable may be lost.
    pub power_cut: bool,
    pub failures: Vec<(u64, Fault)>,
}

const ENOSPC: i32 = 28;
const EIO: i32 = 5;

impl Fate {
    pub(crate) fn draw(faults: &Faults, dies: bool, rng: &mut Rng) -> Self {
        let failures = if faults.failures == 0 { 0 } else { rng.below(faults.failures + 1) };
        Self {
            death: dies.then(|| death(faults, rng)),
            power_cut: !rng.one_in(3),
            failures: (0..failures).map(|_| (place(faults, rng), failure(rng))).collect(),
        }
    }
}

fn place(faults: &Faults, rng: &mut Rng) -> u64 {
    rng.below(faults.operations as usize) as u64
}

fn death(faults: &Faults, rng: &mut Rng) -> Death {
    match rng.below(8) {
        0 => Death::Before(rng.below(400) as u64),
        1..=3 => Death::At(place(faults, rng), Crash::Before),
        4..=5 => Death::At(place(faults, rng), Crash::Torn),
        _ => Death::At(place(faults, rng), Crash::After),
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

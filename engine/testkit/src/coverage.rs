//! What a number of runs covered.

use millstream_io::storage::fault::{Crash, Fault, Op};
use std::collections::BTreeMap;
use std::fmt;

/// What happened in a number of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Runs.
    pub runs: u64,
    /// Runs in which a process died or failed, or an attempt was restarted.
    pub disturbed: u64,
    /// Processes.
    pub processes: u64,
    /// Attempts restarted within a process.
    pub restarts: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Storage operations.
    pub operations: u64,
    /// Steps of the schedule.
    pub steps: u64,
    /// By group and name.
    kinds: BTreeMap<(&'static str, &'static str), u64>,
}

impl Coverage {
    pub(crate) fn of_one_run() -> Self {
        Self { runs: 1, ..Self::default() }
    }

    /// Adds another run's, or other runs'.
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.disturbed += other.disturbed;
        self.processes += other.processes;
        self.restarts += other.restarts;
        self.checkpoints += other.checkpoints;
        self.operations += other.operations;
        self.steps += other.steps;
        for (kind, n) in &other.kinds {
            *self.kinds.entry(*kind).or_default() += n;
        }
    }

    /// How often something of a kind happened. The groups: `death in` (a kind of storage operation, or `no operation`),
    /// `death` (`before`, `torn` or `after` the operation), `died by` (`kill` or `power cut`), `fault` (how an operation
    /// failed, or a scratch file had no room), `told` (what was asked of a process, or done to it), `ended` (how a process did), `held` (checkpoints
    /// for which records were held back `in files`, or that were complete with some `in flight`, or which were given up for it), `job` (what the simulated jobs had).
    pub fn count(&self, group: &'static str, name: &'static str) -> u64 {
        self.kinds.get(&(group, name)).copied().unwrap_or(0)
    }

    pub(crate) fn note(&mut self, group: &'static str, name: &'static str) {
        *self.kinds.entry((group, name)).or_default() += 1;
    }

    /// A process died, in an operation or between steps.
    pub(crate) fn death(&mut self, crash: Option<(Op, Crash)>, power_cut: bool) {
        self.note("death in", crash.map_or("no operation", |(op, _)| op.name()));
        if let Some((_, how)) = crash {
            self.note("death", phase(how));
        }
        self.note("died by", if power_cut { "power cut" } else { "kill" });
    }

    pub(crate) fn faults(&mut self, failures: &[(Op, Fault)]) {
        for (_, fault) in failures {
            self.note("fault", fault_name(*fault));
        }
    }
}

fn phase(crash: Crash) -> &'static str {
    match crash {
        Crash::Before => "before",
        Crash::Torn => "torn",
        Crash::After => "after",
    }
}

pub(crate) const ENOSPC: i32 = 28;
pub(crate) const EIO: i32 = 5;

fn fault_name(fault: Fault) -> &'static str {
    match fault {
        Fault::Before(ENOSPC) => "before ENOSPC",
        Fault::Before(_) => "before EIO",
        Fault::After(ENOSPC) => "after ENOSPC",
        Fault::After(_) => "after EIO",
        Fault::Short(_, ENOSPC) => "short ENOSPC",
        Fault::Short(..) => "short EIO",
        Fault::Panic => "panic",
    }
}

/// One line, and one for each group.
impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} runs, {} disturbed, {} processes, {} checkpoints, {} restarts, {} storage operations, {} steps",
            self.runs,
            self.disturbed,
            self.processes,
            self.checkpoints,
            self.restarts,
            self.operations,
            self.steps,
        )?;
        let mut group = "";
        for ((of, name), n) in &self.kinds {
            if group == *of {
                write!(f, ", {name} {n}")?;
            } else {
                write!(f, "\n  {of}: {name} {n}")?;
            }
            group = of;
        }
        Ok(())
    }
}

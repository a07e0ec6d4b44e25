//! What a simulation found, and what it covered.

use millstream::Summary;
use millstream_io::clock::Moment;
use millstream_io::storage::fault::Op;
use millstream_io::storage::{Kind, MemoryStorage, Storage, read_all};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Something that must not happen in any run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Violation {
    /// Nobody has anything to do, nothing is due, and the job has not ended.
    Stuck {
        /// The virtual time.
        at: Moment,
    },
    /// The run does not end.
    Endless {
        /// Steps after which it was given up.
        steps: u64,
    },
    /// The supervisor says that it is done and has no outcome.
    NoOutcome,
    /// The job failed although the fault was one that it must survive.
    Failed {
        /// The job's error.
        error: String,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stuck { at } => write!(f, "stuck at {at:?}: nothing to do and nothing due"),
            Self::Endless { steps } => write!(f, "not done after {steps} steps"),
            Self::NoOutcome => f.write_str("done without an outcome"),
            Self::Failed { error } => write!(f, "the job failed: {error}"),
        }
    }
}

impl std::error::Error for Violation {}

/// What happened in a number of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Runs.
    pub runs: u64,
    /// Runs in which a process died or an attempt was restarted.
    pub disturbed: u64,
    /// Processes that died in a storage operation, by its kind.
    pub deaths: BTreeMap<&'static str, u64>,
    /// Processes that died between steps.
    pub deaths_between: u64,
    /// Attempts restarted within a process.
    pub restarts: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Steps of the schedule.
    pub steps: u64,
}

impl Coverage {
    /// Adds another run's, or other runs'.
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.disturbed += other.disturbed;
        for (op, n) in &other.deaths {
            *self.deaths.entry(op).or_default() += n;
        }
        self.deaths_between += other.deaths_between;
        self.restarts += other.restarts;
        self.checkpoints += other.checkpoints;
        self.steps += other.steps;
    }

    pub(crate) fn death(&mut self, op: Option<Op>) {
        match op {
            Some(op) => *self.deaths.entry(op.name()).or_default() += 1,
            None => self.deaths_between += 1,
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} runs, {} disturbed, {} checkpoints, {} restarts, {} steps; deaths: {} between steps",
            self.runs, self.disturbed, self.checkpoints, self.restarts, self.steps, self.deaths_between
        )?;
        for (op, n) in &self.deaths {
            write!(f, ", {n} in {op}")?;
        }
        Ok(())
    }
}

/// A run that came to its end.
pub struct Run {
    /// What the last process said; nothing when it died after the job's end was on record, before it could say so.
    pub summary: Option<Summary>,
    /// The disk as it is left.
    pub storage: MemoryStorage,
    /// What happened.
    pub coverage: Coverage,
}

impl Run {
    /// All lines of the visible files below `dir`, sorted: what a reader of the output sees, as a multiset.
    pub fn lines(&self, dir: impl AsRef<Path>) -> Vec<String> {
        let mut lines = Vec::new();
        collect(&self.storage, dir.as_ref(), &mut lines);
        lines.sort_unstable();
        lines
    }

    /// Names of hidden files in `dir`: work in progress that should not outlive the job.
    pub fn hidden(&self, dir: impl AsRef<Path>) -> Vec<String> {
        let entries = self.storage.list(dir.as_ref()).unwrap_or_default();
        let names = entries.into_iter().map(|entry| entry.name.to_string_lossy().into_owned());
        names.filter(|name| name.starts_with('.')).collect()
    }
}

fn collect(storage: &MemoryStorage, dir: &Path, lines: &mut Vec<String>) {
    for entry in storage.list(dir).unwrap_or_default() {
        let name = entry.name.to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        let path = dir.join(&*name);
        match entry.kind {
            Kind::Dir => collect(storage, &path, lines),
            _ => {
                let bytes = read_all(storage, &path).unwrap_or_default();
                lines.extend(String::from_utf8_lossy(&bytes).lines().map(str::to_owned));
            }
        }
    }
}

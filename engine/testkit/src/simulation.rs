//! A simulated run: processes one after the other, until the job ends.

use crate::faults::{Fate, Faults};
use crate::process::{self, Ended};
use crate::report::{Coverage, Run, Violation};
use crate::rng::Rng;
use millstream::{Class, Env};
use millstream_io::storage::{MemoryStorage, Storage, read_all};
use millstream_state::JobId;
use millstream_state::lineage::{LineEnd, Lineage};
use std::path::PathBuf;
use std::time::Duration;

/// Processes that may fail in a row for reasons of their own before a run is given up: a start may be refused when a
/// storage operation fails in it, and is then tried again.
const TRIES: usize = 12;

/// Where simulated jobs keep their checkpoints.
const CHECKPOINTS: &str = "/checkpoints";

/// One run of a job, decided by its seed.
#[derive(Clone, Debug)]
pub struct Simulation {
    seed: u64,
    faults: Faults,
    disk: Option<MemoryStorage>,
    parallelism: Option<u32>,
    interval: Duration,
}

impl Simulation {
    /// A run with this seed and the default faults.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            faults: Faults::default(),
            disk: None,
            parallelism: None,
            interval: Duration::from_millis(10),
        }
    }

    /// Nothing goes wrong.
    #[must_use]
    pub fn undisturbed(mut self) -> Self {
        self.faults = Faults::NONE;
        self
    }

    /// What may go wrong.
    #[must_use]
    pub fn faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    /// Begins on this disk instead of an empty one: for input files.
    #[must_use]
    pub fn disk(mut self, disk: MemoryStorage) -> Self {
        self.disk = Some(disk);
        self
    }

    /// The default parallelism of the job.
    #[must_use]
    pub fn parallelism(mut self, parallelism: u32) -> Self {
        self.parallelism = Some(parallelism);
        self
    }

    /// Virtual time between checkpoints (10 ms unless said otherwise).
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Runs the job that `build` describes; it is called for every simulated process.
    ///
    /// # Errors
    /// What must not happen in any run; repeat it with the same seed.
    pub fn run(&self, build: impl Fn(&Env)) -> Result<Run, Violation> {
        let mut rng = Rng::new(self.seed);
        let mut disk = match &self.disk {
            Some(disk) => disk.kill_image(),
            None => MemoryStorage::new(),
        };
        let mut coverage = Coverage { runs: 1, ..Coverage::default() };
        let mut deaths = if self.faults.deaths == 0 { 0 } else { rng.below(self.faults.deaths + 1) };
        let mut tries = 0;
        loop {
            let env = self.env();
            build(&env);
            let dies = deaths > 0;
            deaths = deaths.saturating_sub(1);
            let mut fate = Fate::draw(&self.faults, dies, &mut rng);
            // The last tries are undisturbed: every job must come to its end once nothing is in its way.
            if tries + 2 >= TRIES {
                fate.failures.clear();
            }
            let left = process::run(&env, &disk, &fate, &mut rng)?;
            coverage.steps += left.steps;
            coverage.checkpoints += left.checkpoints;
            coverage.restarts += left.restarts;
            match left.ended {
                Ended::Finished(summary) => {
                    coverage.disturbed = u64::from(tries > 0 || coverage.restarts > 0);
                    return Ok(Run { summary: Some(*summary), storage: disk, coverage });
                }
                // A fault that the process could not survive; the next one starts on what it left.
                Ended::Failed(error) => {
                    if fate.failures.is_empty() || tries >= TRIES || error.class() == Class::Data {
                        return Err(Violation::Failed { error: error.to_string() });
                    }
                    disk = disk.kill_image();
                }
                Ended::Died(op) => {
                    coverage.death(op);
                    disk = if fate.power_cut { disk.crash_image(rng.next()) } else { disk.kill_image() };
                }
            }
            tries += 1;
            // A start after this would be another run (ruling 2).
            if has_finished(&disk) {
                coverage.disturbed = 1;
                return Ok(Run { summary: None, storage: disk, coverage });
            }
        }
    }

    fn env(&self) -> Env {
        let env = Env::new();
        env.configure(|settings| {
            settings.checkpointing.interval = Some(self.interval);
            settings.checkpointing.dir = Some(PathBuf::from(CHECKPOINTS));
            if let Some(parallelism) = self.parallelism {
                settings.pipeline.parallelism = parallelism;
            }
        });
        env
    }
}

/// Whether the job is over: its end is on record, and its final checkpoint gone.
fn has_finished(disk: &MemoryStorage) -> bool {
    let job = PathBuf::from(CHECKPOINTS).join(JobId::of(process::JOB).to_string());
    let bytes = read_all(disk, &job.join("lineage")).unwrap_or_default();
    let finished = Lineage::parse(&bytes).is_ok_and(|lineage| lineage.end == LineEnd::Finished);
    let entries = if finished { disk.list(&job).unwrap_or_default() } else { Vec::new() };
    finished && !entries.iter().any(|entry| disk.stat(&job.join(&entry.name).join("_metadata")).is_ok())
}

/// Puts a file on a simulated disk, for input.
///
/// # Panics
/// When the path cannot be written to.
pub fn put(disk: &MemoryStorage, path: impl AsRef<std::path::Path>, bytes: &[u8]) {
    let path = path.as_ref();
    if let Some(dir) = path.parent() {
        disk.create_dir_all(dir).expect("the directory can be created");
    }
    disk.publish(path, bytes).expect("the file can be written");
}

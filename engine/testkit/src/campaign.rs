//! Many runs: over the zoo, over seeds, over every storage operation.

use crate::compare::{Expected, compare_at_end, compare_between};
use crate::process::Script;
use crate::report::Run;
use crate::zoo::{self, JOBS, Job};
use crate::{Coverage, Simulation};
use millstream::config::CheckpointMode;
use millstream_io::storage::fault::Crash;
use millstream_io::storage::{MemoryStorage, Storage};
use std::sync::Arc;
use std::time::Duration;

/// One of so many runs of a job that can be judged then is in at-least-once mode.
const AT_LEAST_ONCE: u64 = 8;

/// Few checkpoints, each with all that belongs to it: the sweep is over every operation.
const SWEEP_INTERVAL: Duration = Duration::from_millis(25);

/// The jobs of a campaign, each with the output of its undisturbed run.
pub struct Campaign {
    jobs: Vec<(Job, Expected)>,
    pages: bool,
    chunk: Option<u64>,
    over: Option<fn(MemoryStorage) -> Arc<dyn Storage>>,
}

impl Campaign {
    /// Over the whole zoo.
    ///
    /// # Panics
    /// When a job fails with nothing in its way.
    pub fn new() -> Self {
        Self::over(JOBS)
    }

    /// Over these jobs.
    ///
    /// # Panics
    /// When a job fails with nothing in its way.
    pub fn over(jobs: &[Job]) -> Self {
        let jobs = jobs.iter().map(|job| (*job, Expected::new(job.expected()))).collect();
        Self { jobs, pages: false, chunk: None, over: None }
    }

    /// Over another storage, see [`Simulation::storage`].
    #[must_use]
    pub fn storage(mut self, over: fn(MemoryStorage) -> Arc<dyn Storage>) -> Self {
        self.over = Some(over);
        self
    }

    /// With state in pages, and more checkpoints, so that changes are merged: see [`Simulation::pages`].
    #[must_use]
    pub fn pages(mut self) -> Self {
        self.pages = true;
        self
    }

    /// With snapshots that are written while the rest of the state is still being copied: see [`Simulation::chunks_of`].
    #[must_use]
    pub fn chunks_of(mut self, bytes: u64) -> Self {
        self.chunk = Some(bytes);
        self
    }

    /// The run of this seed: one of the jobs, with settings and faults that are drawn.
    ///
    /// # Errors
    /// What went wrong, in words that begin with what is needed to repeat it.
    pub fn check(&self, seed: u64) -> Result<Coverage, String> {
        let (job, expected) = &self.jobs[seed as usize % self.jobs.len()];
        let nth = seed / self.jobs.len() as u64;
        let at_least_once = job.at_least_once && nth % AT_LEAST_ONCE == AT_LEAST_ONCE - 1;
        let mode = if at_least_once { CheckpointMode::AtLeastOnce } else { CheckpointMode::ExactlyOnce };
        let mut simulation = Simulation::new(seed).varied().mode(mode);
        if let Some(over) = self.over {
            simulation = simulation.storage(over);
        }
        let mut run =
            judge(simulation, job, mode, expected).map_err(|wrong| format!("seed {seed}: {wrong}"))?;
        run.coverage.note("job", if at_least_once { "at least once" } else { "exactly once" });
        Ok(run.coverage)
    }

    /// The first of so many seeds whose run goes wrong.
    pub fn first_violation(&self, seeds: u64) -> Option<(u64, String)> {
        (0..seeds).find_map(|seed| Some((seed, self.check(seed).err()?)))
    }

    /// Crashes each job at every storage operation of its undisturbed run, in every phase of the operation and with
    /// and without a power cut; and after one of these crashes in the recovery again, at every `stride`th operation.
    ///
    /// # Errors
    /// The first crash whose recovery is not exact.
    pub fn sweep(&self, parallelism: u32, stride: u64) -> Result<Coverage, String> {
        let mut covered = Coverage::default();
        for (job, expected) in &self.jobs {
            let mut run = |deaths: Vec<(u64, Crash)>, power_cut| {
                let script = Script { deaths, power_cut };
                let told = format!("{script:?}");
                let simulation = Simulation::new(1).parallelism(parallelism).script(script);
                let simulation = match self.pages {
                    true => simulation.pages(),
                    false => simulation.interval(SWEEP_INTERVAL),
                };
                let simulation = match self.chunk {
                    Some(bytes) => simulation.chunks_of(bytes).interval(SWEEP_INTERVAL),
                    None => simulation,
                };
                let run = judge(simulation, job, CheckpointMode::ExactlyOnce, expected);
                let run = run.map_err(|wrong| format!("{told}: {wrong}"))?;
                covered.add(&run.coverage);
                Ok::<_, String>(run.last_operations)
            };
            let operations = run(Vec::new(), false)?;
            for operation in 0..operations {
                for (n, phase, power_cut) in ways_to_die() {
                    let recovery = run(vec![(operation, phase)], power_cut)?;
                    // One of the ways also dies in the recovery.
                    if operation % 6 == n {
                        for second in (operation % stride..recovery).step_by(stride as usize) {
                            run(vec![(operation, phase), (second, Crash::Before)], power_cut)?;
                        }
                    }
                }
            }
        }
        Ok(covered)
    }
}

impl Default for Campaign {
    fn default() -> Self {
        Self::new()
    }
}

/// Six ways to die in an operation, numbered.
fn ways_to_die() -> impl Iterator<Item = (u64, Crash, bool)> {
    let phases = [Crash::Before, Crash::Torn, Crash::After];
    let ways = phases.into_iter().flat_map(|phase| [(phase, false), (phase, true)]);
    (0..).zip(ways).map(|(n, (phase, power_cut))| (n, phase, power_cut))
}

/// Runs the job and holds what it leaves against what it should.
fn judge(
    simulation: Simulation,
    job: &Job,
    mode: CheckpointMode,
    expected: &Expected,
) -> Result<Run, String> {
    let mut before = Vec::new();
    let run = simulation.disk(zoo::disk()).watched(job.build, |disk, power_cut| {
        // Names that were not made durable yet may be lost with the power; the next start gives them again.
        let must = if power_cut { &[][..] } else { &before };
        before = compare_between(disk, expected, mode, must)?;
        Ok(())
    });
    let mut run = run.map_err(|violation| format!("job {}: {violation}", job.name))?;
    compare_at_end(&run, expected, mode).map_err(|difference| format!("job {}: {difference}", job.name))?;
    run.coverage.note("job", "two-phase sink");
    if job.keyed {
        run.coverage.note("job", "keyed state");
    }
    Ok(run)
}

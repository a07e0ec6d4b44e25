//! A simulated run: processes one after the other, until the job ends.

use crate::coverage::Coverage;
use crate::faults::{Fate, Faults};
use crate::job_dir::{CHECKPOINTS, complete, has_finished, job_dir, line, line_end, newest};
use crate::process::{self, Ended, Left, Script, World};
use crate::report::{Run, Violation};
use crate::rng::Rng;
use crate::trace;
use crate::variety::Variety;
use millstream::config::{ByteSize, CheckpointMode, Retention, StateBackend};
use millstream::{Class, Env, JobState};
use millstream_io::executor::StepExecutor;
use millstream_io::storage::{MemoryStorage, Storage};
use millstream_state::lineage::LineEnd;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// One in so many processes is told which checkpoint to start from: the newest.
const BY_PATH: usize = 8;

/// One run of a job, decided by its seed.
#[derive(Clone, Debug)]
pub struct Simulation {
    seed: u64,
    faults: Faults,
    disk: Option<MemoryStorage>,
    parallelism: Option<u32>,
    interval: Duration,
    mode: CheckpointMode,
    varied: bool,
    pages: bool,
    chunk: Option<u64>,
    over: fn(MemoryStorage) -> Arc<dyn Storage>,
    script: Option<Script>,
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
            mode: CheckpointMode::ExactlyOnce,
            varied: false,
            pages: false,
            chunk: None,
            over: direct,
            script: None,
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

    /// How records count: exactly once unless said otherwise.
    #[must_use]
    pub fn mode(mut self, mode: CheckpointMode) -> Self {
        self.mode = mode;
        self
    }

    /// Draws settings, too: checkpoints, buffers, restart strategy, and for each process another parallelism unless
    /// [`Simulation::parallelism`] says which. What a job promises must hold under all of them.
    #[must_use]
    pub fn varied(mut self) -> Self {
        self.varied = true;
        self
    }

    /// Keeps even the smallest state in pages, and what is written of it in files.
    #[must_use]
    pub fn pages(mut self) -> Self {
        self.pages = true;
        self
    }

    /// Has what changed of pages written in chunks of so many bytes, each by itself, while the rest is still being copied.
    #[must_use]
    pub fn chunks_of(mut self, bytes: u64) -> Self {
        self.chunk = Some(bytes);
        self
    }

    /// Puts another storage between the job and its disk: one of your own, or one that lies.
    #[must_use]
    pub fn storage(mut self, over: fn(MemoryStorage) -> Arc<dyn Storage>) -> Self {
        self.over = over;
        self
    }

    /// Deaths that are set down instead of drawn.
    #[must_use]
    pub(crate) fn script(mut self, script: Script) -> Self {
        self.script = Some(script);
        self
    }

    /// Runs the job that `build` describes; it is called for every simulated process.
    ///
    /// # Errors
    /// What must not happen in any run; repeat it with the same seed.
    pub fn run(&self, build: impl Fn(&Env)) -> Result<Run, Violation> {
        self.watched(build, |_, _| Ok(()))
    }

    /// The same; `watch` sees the disk that each process leaves to the next one, hears whether there was a power cut,
    /// and says what is wrong.
    ///
    /// # Errors
    /// As for [`Simulation::run`], and what `watch` says.
    pub fn watched(
        &self,
        build: impl Fn(&Env),
        watch: impl FnMut(&MemoryStorage, bool) -> Result<(), String>,
    ) -> Result<Run, Violation> {
        if trace::wanted() {
            trace::told(|| self.processes(build, watch))
        } else {
            self.processes(build, watch)
        }
    }

    fn processes(
        &self,
        build: impl Fn(&Env),
        mut watch: impl FnMut(&MemoryStorage, bool) -> Result<(), String>,
    ) -> Result<Run, Violation> {
        let mut rng = Rng::new(self.seed);
        let mut disk = self.disk.as_ref().map_or_else(MemoryStorage::new, MemoryStorage::kill_image);
        let mut coverage = Coverage::of_one_run();
        let variety = self.varied.then(|| Variety::draw(&mut rng));
        let undisturbed = self.script.is_none() && self.faults == Faults::NONE;
        let executor = Arc::new(StepExecutor::new());
        let (mut kept, mut excused) = (BTreeSet::new(), false);
        let disturbed = match &self.script {
            Some(script) => script.deaths.len(),
            None => self.faults.draw_processes(&mut rng),
        };
        loop {
            let number = coverage.processes as usize;
            let calm = number >= disturbed;
            let env = self.env(variety.as_ref(), calm, &mut rng);
            // The checkpoints of a line that has ended may be half gone.
            let by_path = variety.is_some() && rng.one_in(BY_PATH) && line_end(&disk) == LineEnd::Open;
            let from = if by_path { newest(&disk) } else { None };
            let before = from.map(|_| (line(&disk), complete(&disk)));
            if let Some(id) = from {
                env.configure(|settings| settings.recovery.path = Some(job_dir().join(format!("chk-{id}"))));
                coverage.note("told", "start from a path");
            }
            build(&env);
            let fate = match &self.script {
                Some(script) => Fate::scripted(script.deaths.get(number).copied(), script.power_cut),
                None if calm => Fate::default(),
                None => Fate::draw(&self.faults, &mut rng),
            };
            let world =
                World { disk: (self.over)(disk.clone()), executor: executor.clone(), fair: undisturbed };
            let left = process::run(&env, world, &fate, &mut rng)?;
            note(&mut coverage, &left, fate.power_cut);
            // What a job that has ended in good order has done is durable.
            let power_cut = match &left.ended {
                Ended::Died(_) => fate.power_cut,
                Ended::Orderly(_) => !undisturbed && rng.one_in(2),
                Ended::Failed(_) | Ended::Abandoned => false,
            };
            if power_cut {
                disk = disk.crash_image(rng.next());
            } else if !undisturbed && !matches!(left.ended, Ended::Abandoned) {
                disk = disk.kill_image();
            }
            let summary = match left.ended {
                Ended::Orderly(summary) if summary.state == JobState::Finished => Some(*summary),
                Ended::Orderly(_) if !calm => None,
                Ended::Failed(error) if !calm && error.class() != Class::Data => None,
                Ended::Orderly(summary) => {
                    return Err(Violation::Failed { error: format!("ended {}", summary.state) });
                }
                Ended::Failed(error) => return Err(Violation::Failed { error: error.to_string() }),
                Ended::Died(_) | Ended::Abandoned => None,
            };
            watch(&disk, power_cut).map_err(|what| Violation::Left { what })?;
            if summary.is_none()
                && let LineEnd::Stopped(dir) = line_end(&disk)
            {
                kept.insert(dir.file_name().unwrap_or_default().to_string_lossy().into_owned());
            }
            // A start from a path begins a line, and the checkpoints of the one before are the user's from then on.
            if let Some((line_before, complete)) = before
                && line(&disk) != line_before
            {
                kept.extend(complete);
            }
            // A start removes what is left of its own line only, and after a stop the next one begins a line.
            excused |= from.is_some() || power_cut && !kept.is_empty();
            // A start after the job's end would be another run (ruling 2).
            if summary.is_some() || has_finished(&disk) {
                let excused = excused || summary.is_none() || !left.failures.is_empty() || power_cut;
                let last_operations = left.operations;
                return Ok(Run { summary, storage: disk, coverage, last_operations, kept, clean: !excused });
            }
        }
    }

    fn env(&self, variety: Option<&Variety>, calm: bool, rng: &mut Rng) -> Env {
        let env = Env::new();
        env.configure(|settings| {
            settings.checkpointing.interval = Some(self.interval);
            settings.checkpointing.mode = self.mode;
            settings.checkpointing.dir = Some(PathBuf::from(CHECKPOINTS));
            // A job that is cancelled in a simulation is started again, and goes on.
            settings.checkpointing.retention = Retention::RetainOnCancellation;
            if let Some(variety) = variety {
                variety.apply(settings, calm, rng);
            }
            if self.pages {
                settings.state.backend = StateBackend::Paged;
                settings.state.paged_small_state = ByteSize(0);
                settings.checkpointing.data_inline_threshold = ByteSize(0);
                settings.recovery.from_local = true;
                settings.checkpointing.local_dir = Some(PathBuf::from("/copies"));
            }
            if let Some(bytes) = self.chunk {
                settings.state.paged_chunk_size = ByteSize(bytes);
                settings.checkpointing.write_buffer_size = ByteSize(bytes);
            }
            if let Some(parallelism) = self.parallelism {
                settings.pipeline.parallelism = parallelism;
            }
        });
        env
    }
}

fn note(coverage: &mut Coverage, left: &Left, power_cut: bool) {
    coverage.processes += 1;
    coverage.steps += left.steps;
    coverage.operations += left.operations;
    coverage.checkpoints += left.checkpoints;
    coverage.restarts += left.restarts;
    coverage.faults(&left.failures);
    (0..left.full).for_each(|_| coverage.note("fault", "scratch ENOSPC"));
    let held = [
        ("in files", left.held.in_files),
        ("in flight", left.held.in_flight),
        ("too much", left.held.too_much),
        ("full disk", left.held.full),
    ];
    for (name, n) in held {
        (0..n).for_each(|_| coverage.note("held", name));
    }
    for order in &left.told {
        coverage.note("told", order.name());
    }
    let ended = match &left.ended {
        Ended::Orderly(summary) => match summary.state {
            JobState::Stopped => "stopped",
            JobState::Canceled => "canceled",
            _ => "finished",
        },
        Ended::Failed(_) => "failed",
        Ended::Abandoned => "abandoned",
        Ended::Died(crash) => {
            coverage.death(*crash, power_cut);
            "died"
        }
    };
    coverage.note("ended", ended);
    if left.restarts > 0 || matches!(ended, "failed" | "died") {
        coverage.disturbed = 1;
    }
}

/// The same disk.
fn direct(disk: MemoryStorage) -> Arc<dyn Storage> {
    Arc::new(disk)
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

//! One simulated process: a job from its start to its end or its death.

use crate::clock::VirtualClock;
use crate::driver::{Cells, SimulationDriver};
use crate::faults::{Death, Fate};
use crate::report::Violation;
use crate::rng::Rng;
use millstream::runtime::{Environment, Stepped, Supervisor, Turn};
use millstream::{Clock, Env, Error, Summary};
use millstream_io::clock::Moment;
use millstream_io::executor::StepExecutor;
use millstream_io::storage::fault::{FaultStorage, Op};
use millstream_io::storage::{MemoryStorage, Storage};
use std::sync::Arc;
use std::time::Duration;

/// How a process ended.
pub(crate) enum Ended {
    /// The job did.
    Finished(Box<Summary>),
    /// The job failed.
    Failed(Error),
    /// It died, in this kind of storage operation or between two steps.
    Died(Option<Op>),
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Finished(summary) => write!(f, "ended {}", summary.state),
            Self::Failed(error) => write!(f, "ended: {error}"),
            Self::Died(Some(op)) => write!(f, "died in {}", op.name()),
            Self::Died(None) => f.write_str("died between steps"),
        }
    }
}

/// A process's end, and what it leaves.
pub(crate) struct Left {
    pub ended: Ended,
    pub steps: u64,
    pub checkpoints: u64,
    pub restarts: u64,
}

/// The name of every simulated job.
pub(crate) const JOB: &str = "simulated";

/// Steps after which a run is taken to go on for ever.
const STEPS: u64 = 2_000_000;

struct Process {
    clock: Arc<VirtualClock>,
    storage: FaultStorage,
    executor: Arc<StepExecutor>,
    cells: Cells,
    steps: u64,
}

/// Runs the job that `env` describes on `disk`.
pub(crate) fn run(env: &Env, disk: &MemoryStorage, fate: &Fate, rng: &mut Rng) -> Result<Left, Violation> {
    let storage = FaultStorage::new(Arc::new(disk.clone()));
    if let Some(Death::At(operation, how)) = fate.death {
        storage.crash_at(operation, how);
    }
    for (operation, fault) in &fate.failures {
        storage.fail_at(*operation, *fault);
    }
    let trace = std::env::var_os("MILLSTREAM_TRACE").is_some();
    if trace {
        storage.record();
        eprintln!("process: {fate:?}");
    }
    let mut process = Process {
        clock: Arc::new(VirtualClock::new(rng.next())),
        storage: storage.clone(),
        executor: Arc::new(StepExecutor::new()),
        cells: Cells::default(),
        steps: 0,
    };
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    let environment = Environment {
        clock: process.clock.clone(),
        files: shared.clone(),
        checkpoints: shared,
        executor: process.executor.clone(),
        driver: Box::new(SimulationDriver(process.cells.clone())),
        seed: rng.next(),
        holder: "simulation".to_owned(),
    };
    let launched = env.launch(JOB, environment);
    let (ended, checkpoints, restarts) = match launched {
        Err(_) if storage.crashed_in().is_some() => (Ended::Died(storage.crashed_in()), 0, 0),
        Err(error) => (Ended::Failed(error), 0, 0),
        Ok(launched) => {
            let control = launched.control;
            let ended = process.schedule(launched.supervisor, fate, rng)?;
            let metrics = control.metrics();
            (ended, metrics.checkpoints.counts().completed, metrics.restarts)
        }
    };
    if trace {
        for (number, op, path) in storage.log() {
            eprintln!("  {number:4} {} {}", op.name(), path.display());
        }
        eprintln!("  {ended}");
    }
    process.executor.clear();
    process.cells.lock().clear();
    Ok(Left { ended, steps: process.steps, checkpoints, restarts })
}

impl Process {
    /// Steps subtasks, background work and the supervisor in a drawn order until the job or the process ends.
    fn schedule(
        &mut self,
        mut supervisor: Supervisor,
        fate: &Fate,
        rng: &mut Rng,
    ) -> Result<Ended, Violation> {
        let mut quiet: Quiet = Quiet::default();
        loop {
            self.steps += 1;
            if let Some(op) = self.storage.crashed_in() {
                return Ok(Ended::Died(Some(op)));
            }
            if fate.death.is_some_and(|death| matches!(death, Death::Before(step) if step <= self.steps)) {
                return Ok(Ended::Died(None));
            }
            if self.steps > STEPS {
                return Err(Violation::Endless { steps: STEPS });
            }
            let cells = self.cells.lock().len();
            let work = self.executor.len();
            let choice = rng.below(cells + work + 1);
            if choice < cells {
                self.step_cell(choice, &mut quiet);
            } else if choice < cells + work {
                self.executor.run(choice - cells);
                quiet.noise();
            } else {
                match supervisor.turn() {
                    Turn::Done => {
                        if let Some(op) = self.storage.crashed_in() {
                            return Ok(Ended::Died(Some(op)));
                        }
                        let outcome = supervisor.outcome().ok_or(Violation::NoOutcome)?;
                        return Ok(match outcome {
                            Ok(summary) => Ended::Finished(Box::new(summary)),
                            Err(error) => Ended::Failed(error),
                        });
                    }
                    Turn::Wait(due) => quiet.supervisor(due),
                }
            }
            // A process that has just died is not stuck, nor one whose last step began background work.
            let alive = self.storage.crashed_in().is_none();
            if alive && self.executor.is_empty() && quiet.is_complete(self.cells.lock().len()) {
                self.pass_time(&mut quiet)?;
            } else if rng.one_in(8) {
                self.clock.advance(Duration::from_micros(rng.below(300) as u64));
            }
        }
    }

    fn step_cell(&self, index: usize, quiet: &mut Quiet) {
        let mut cells = self.cells.lock();
        match cells[index].step() {
            Stepped::Worked => quiet.noise(),
            Stepped::Idle(due) => quiet.cell(index, due),
            Stepped::Gone => {
                cells.remove(index);
                quiet.noise();
            }
        }
    }

    /// Nothing can happen before the next due moment.
    fn pass_time(&self, quiet: &mut Quiet) -> Result<(), Violation> {
        let Some(due) = quiet.due else {
            return Err(Violation::Stuck { at: self.clock.now() });
        };
        self.clock.advance_to(due);
        quiet.noise();
        Ok(())
    }
}

/// Who has had nothing to do since something last happened.
#[derive(Default)]
struct Quiet {
    cells: Vec<bool>,
    supervisor: bool,
    due: Option<Moment>,
}

impl Quiet {
    fn noise(&mut self) {
        self.cells.clear();
        self.supervisor = false;
        self.due = None;
    }

    fn cell(&mut self, index: usize, due: Option<Moment>) {
        if self.cells.len() <= index {
            self.cells.resize(index + 1, false);
        }
        self.cells[index] = true;
        self.earlier(due);
    }

    fn supervisor(&mut self, due: Option<Moment>) {
        // Its turn may have sent messages: whoever was quiet before must be asked again.
        if !self.supervisor {
            self.noise();
            self.supervisor = true;
        }
        self.earlier(due);
    }

    fn earlier(&mut self, due: Option<Moment>) {
        self.due = match (self.due, due) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }

    fn is_complete(&self, cells: usize) -> bool {
        self.supervisor && self.cells.iter().filter(|quiet| **quiet).count() == cells
    }
}

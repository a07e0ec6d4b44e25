//! One simulated process: a job from its start to its end or its death.

mod ended;
mod slow;

use crate::clock::VirtualClock;
use crate::driver::{Cells, SimulationDriver};
use crate::faults::{Death, Fate};
use crate::orders::Order;
use crate::quiet::Quiet;
use crate::report::Violation;
use crate::rng::Rng;
use crate::shared;
use crate::trace;
use millstream::runtime::{Abandoned, Environment, Launched, Stepped, Supervisor, Turn};
use millstream::{CheckpointRequest, Clock, Env, JobControl};
use millstream_io::executor::StepExecutor;
use millstream_io::scratch::MemoryScratch;
use millstream_io::storage::Storage;
use millstream_io::storage::fault::{Crash, FaultStorage};
use millstream_state::metadata::METADATA_FILE;
use slow::Slow;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use ended::{Ended, Held, Left};

/// Deaths that are set down instead of drawn: one for each process, at these storage operations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    pub deaths: Vec<(u64, Crash)>,
    pub power_cut: bool,
}

/// The name of every simulated job.
pub(crate) const JOB: &str = "simulated";

/// Steps after which a run is taken to go on for ever.
const STEPS: u64 = 1_000_000;

/// Steps after which a process that gets nowhere, for its settings may be such that it never does, is killed.
const PATIENCE: u64 = 8_000;

struct Process<'a> {
    clock: Arc<VirtualClock>,
    disk: Arc<dyn Storage>,
    storage: FaultStorage,
    scratch: Arc<MemoryScratch>,
    executor: Arc<StepExecutor>,
    cells: Cells,
    fate: &'a Fate,
    rng: &'a mut Rng,
    slow: Slow,
    /// The most by which time moves on beside a step, in microseconds.
    haste: usize,
    steps: u64,
    told: Vec<Order>,
    requests: Vec<CheckpointRequest>,
    /// Checkpoints that were complete when the shared files were looked at.
    looked: u64,
}

/// What a process runs in.
pub(crate) struct World {
    pub disk: Arc<dyn Storage>,
    /// Background work, with what an abandoned job has left.
    pub executor: Arc<StepExecutor>,
    /// A fair schedule makes nobody wait longer than others.
    pub fair: bool,
}

/// Runs the job that `env` describes.
pub(crate) fn run(env: &Env, world: World, fate: &Fate, rng: &mut Rng) -> Result<Left, Violation> {
    let World { disk, executor, fair } = world;
    let storage = FaultStorage::new(disk.clone());
    if let Some(Death::At(operation, how)) = fate.death {
        storage.crash_at(operation, how);
    }
    for (operation, fault) in &fate.failures {
        storage.fail_at(*operation, *fault);
    }
    // All state that is in pages is in files.
    let scratch = MemoryScratch::with_memory(0);
    if let Some(file) = fate.full {
        scratch.full_at(file);
    }
    let trace = trace::wanted();
    if trace {
        storage.record();
        eprintln!("process: {fate:?}\n{}", env.config());
    }
    let mut process = Process {
        clock: Arc::new(VirtualClock::new(rng.next())),
        disk,
        storage,
        scratch: Arc::new(scratch),
        executor,
        cells: Cells::default(),
        fate,
        slow: if fair { Slow::Nobody } else { Slow::draw(rng) },
        haste: if fair { 300 } else { rng.any(&[30, 300, 300, 2000]) },
        rng,
        steps: 0,
        told: Vec::new(),
        requests: Vec::new(),
        looked: 0,
    };
    let (ended, checkpoints, restarts, held) = match env.launch(JOB, process.environment()) {
        Err(error) => {
            let ended =
                process.storage.crash().map_or(Ended::Failed(error), |crash| Ended::Died(Some(crash)));
            (ended, 0, 0, Held::default())
        }
        Ok(launched) => {
            let control = launched.control.clone();
            let ended = process.schedule(launched)?;
            let metrics = control.metrics();
            let checkpoints = &metrics.checkpoints;
            (ended, checkpoints.counts().completed, metrics.restarts, Held::of(checkpoints))
        }
    };
    if trace {
        for (number, op, path) in process.storage.log() {
            eprintln!("  {number:4} {} {}", op.name(), path.display());
        }
        eprintln!("  {ended}");
    }
    Ok(Left { held, ..process.left(ended, checkpoints, restarts) })
}

impl Process<'_> {
    fn environment(&mut self) -> Environment {
        let shared: Arc<dyn Storage> = Arc::new(self.storage.clone());
        Environment {
            clock: self.clock.clone(),
            files: shared.clone(),
            checkpoints: shared,
            scratch: self.scratch.clone(),
            executor: self.executor.clone(),
            driver: Box::new(SimulationDriver(self.cells.clone())),
            seed: self.rng.next(),
            holder: "simulation".to_owned(),
        }
    }

    /// What is left when everything that ran is gone. Background work of a job that has ended may still be done, that
    /// of an abandoned one stays.
    fn left(self, ended: Ended, checkpoints: u64, restarts: u64) -> Left {
        if !matches!(ended, Ended::Abandoned) {
            if self.storage.crash().is_none() && self.rng.one_in(2) {
                self.executor.run_all();
            }
            self.executor.clear();
        }
        self.cells.lock().clear();
        Left {
            ended,
            operations: self.storage.operations(),
            steps: self.steps,
            checkpoints,
            restarts,
            held: Held::default(),
            failures: self.storage.failures(),
            full: self.scratch.refused(),
            told: self.told,
        }
    }

    /// Steps subtasks, background work and the supervisor in a drawn order until the job or the process ends.
    fn schedule(&mut self, launched: Launched) -> Result<Ended, Violation> {
        let Launched { mut supervisor, control, .. } = launched;
        let mut quiet = Quiet::default();
        loop {
            self.steps += 1;
            if let Some(crash) = self.storage.crash() {
                return Ok(Ended::Died(Some(crash)));
            }
            if matches!(self.fate.death, Some(Death::Before(step)) if step <= self.steps) {
                return Ok(Ended::Died(None));
            }
            if self.steps > PATIENCE && self.fate.impatient {
                return Ok(Ended::Died(None));
            }
            if self.steps > STEPS {
                return Err(Violation::Endless { steps: STEPS });
            }
            self.orders(&control, &mut quiet);
            let cells = self.cells.lock().len();
            let work = self.executor.len();
            let choice = self.rng.below(cells + work + 1);
            if self.slow.passes_over(choice, cells, work, self.rng) {
                continue;
            }
            if choice < cells {
                self.step_cell(choice, &mut quiet);
            } else if choice < cells + work {
                self.executor.run(choice - cells);
                quiet.noise();
            } else {
                match supervisor.turn() {
                    Turn::Done => return self.done(supervisor),
                    Turn::Wait(due) => {
                        self.answers()?;
                        quiet.supervisor(due);
                    }
                }
            }
            // A process that has just died is not stuck, nor one whose last step began background work.
            let idle = quiet.is_complete(self.cells.lock().len()) && self.executor.is_empty();
            if idle && self.storage.crash().is_none() {
                self.shared_files(&control)?;
                self.pass_time(&mut quiet)?;
            } else if self.rng.one_in(8) {
                self.clock.advance(Duration::from_micros(self.rng.below(self.haste) as u64));
            }
        }
    }

    /// The job has ended, and with it everything that is asked of it.
    fn done(&mut self, mut supervisor: Supervisor) -> Result<Ended, Violation> {
        if let Some(crash) = self.storage.crash() {
            return Ok(Ended::Died(Some(crash)));
        }
        let outcome = supervisor.outcome().ok_or(Violation::NoOutcome)?;
        drop(supervisor);
        if self.requests.iter().any(|request| request.answer().is_none()) {
            return Err(Violation::Unanswered);
        }
        Ok(match outcome {
            Ok(summary) => Ended::Orderly(Box::new(summary)),
            Err(error) if error.cause().is::<Abandoned>() => Ended::Abandoned,
            Err(error) => Ended::Failed(error),
        })
    }

    /// Gives the orders that are due.
    fn orders(&mut self, control: &JobControl, quiet: &mut Quiet) {
        while let Some((_, order)) = self.fate.orders.get(self.told.len()).filter(|(at, _)| *at <= self.steps)
        {
            self.told.push(*order);
            quiet.noise();
            if trace::wanted() {
                eprintln!("   order {order:?}");
            }
            // A job that has just ended takes no orders.
            match order {
                Order::Checkpoint { full } => self.requests.extend(control.request_checkpoint(*full).ok()),
                Order::Stop { keep: false } => drop(control.stop()),
                Order::Stop { keep: true } => drop(control.stop_and_keep()),
                Order::Cancel => drop(control.cancel()),
                Order::Abandon => drop(control.abandon()),
                Order::FailSubtask => {
                    let mut cells = self.cells.lock();
                    if !cells.is_empty() {
                        let index = self.rng.below(cells.len());
                        cells.remove(index).fail("failed by the simulation");
                    }
                }
            }
        }
    }

    /// A checkpoint that a user was told of is there.
    fn answers(&mut self) -> Result<(), Violation> {
        let mut wrong = None;
        self.requests.retain(|request| match request.answer() {
            None => true,
            Some(Ok(info)) if self.disk.stat(&info.path.join(METADATA_FILE)).is_err() => {
                wrong = Some(Violation::NoCheckpoint { path: info.path });
                false
            }
            Some(_) => false,
        });
        wrong.map_or(Ok(()), Err)
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

    /// Once a checkpoint is complete and nothing is under way the shared files are those that checkpoints name. What could not
    /// be removed, or an attempt that was given up writes late, stays for the next one to remove.
    fn shared_files(&mut self, control: &JobControl) -> Result<(), Violation> {
        let metrics = control.metrics();
        let completed = metrics.checkpoints.counts().completed;
        if completed == self.looked || metrics.restarts > 0 || !self.storage.failures().is_empty() {
            return Ok(());
        }
        self.looked = completed;
        shared::amiss(&*self.disk).map_or(Ok(()), |what| Err(Violation::Shared { what }))
    }

    /// Nothing can happen before the next due moment.
    fn pass_time(&self, quiet: &mut Quiet) -> Result<(), Violation> {
        let Some(due) = quiet.due() else {
            return Err(Violation::Stuck { at: self.clock.now() });
        };
        self.clock.advance_to(due);
        quiet.noise();
        Ok(())
    }
}

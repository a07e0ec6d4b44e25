//! A job in the hands of a test: it decides which subtask takes its next step, when background work is done, when the
//! supervisor has its turn, and what time it is. Everything else is the engine as it is.

use millstream::runtime::{Cell, Driver, Environment, JobState, Seat, Stepped, Supervisor, Turn};
use millstream::{CheckpointId, Env, Error, JobControl, Summary};
use millstream_io::clock::ManualClock;
use millstream_io::executor::StepExecutor;
use millstream_io::scratch::MemoryScratch;
use millstream_io::storage::Storage;
use millstream_io::waker::Waker;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

/// Time between two checkpoints: one is triggered whenever the clock moves by so much.
pub const INTERVAL: Duration = Duration::from_secs(10);

/// More steps than any of these jobs has.
const MANY: usize = 100_000;

/// An environment with checkpoints in `/ck`. Failed checkpoints are tolerated, so that they can be looked at.
pub fn env() -> Env {
    let env = Env::new();
    env.configure(|settings| {
        settings.checkpointing.interval = Some(INTERVAL);
        settings.checkpointing.dir = Some(PathBuf::from("/ck"));
        settings.checkpointing.tolerable_failed = 100;
    });
    env
}

/// Keeps the subtasks for the test to step.
struct ByHand(Arc<Mutex<Vec<Cell>>>);

impl Driver for ByHand {
    fn seat(&mut self, seats: &[Seat]) -> Vec<Waker> {
        vec![Waker::nobody(); seats.len()]
    }

    fn start(&mut self, cells: Vec<Cell>) -> Result<(), Error> {
        *self.0.lock().unwrap() = cells;
        Ok(())
    }

    fn stop(&mut self) {
        self.0.lock().unwrap().clear();
    }
}

/// A running job. Dropping it is what `kill -9` is: whatever was under way is gone.
pub struct Hand {
    supervisor: Supervisor,
    pub control: JobControl,
    /// What the start said.
    pub start: String,
    cells: Arc<Mutex<Vec<Cell>>>,
    executor: Arc<StepExecutor>,
    pub clock: Arc<ManualClock>,
    outcome: Option<Result<Summary, Error>>,
}

impl Hand {
    /// Starts the job on these files; no subtask has taken a step yet.
    #[track_caller]
    pub fn launch(env: &Env, files: &(impl Storage + Clone)) -> Self {
        Self::try_launch(env, files).unwrap()
    }

    pub fn try_launch(env: &Env, files: &(impl Storage + Clone)) -> Result<Self, Error> {
        Self::try_launch_at(env, files, Duration::ZERO)
    }

    /// The same, at another time.
    fn try_launch_at(env: &Env, files: &(impl Storage + Clone), time: Duration) -> Result<Self, Error> {
        Self::try_launch_in(env, files, &Arc::default(), time)
    }

    /// The same, with files that need not last in `scratch`.
    fn try_launch_in(
        env: &Env,
        files: &(impl Storage + Clone),
        scratch: &Arc<MemoryScratch>,
        time: Duration,
    ) -> Result<Self, Error> {
        let files: Arc<dyn Storage> = Arc::new(files.clone());
        let cells = Arc::<Mutex<Vec<Cell>>>::default();
        let (executor, clock) = (Arc::new(StepExecutor::new()), Arc::new(ManualClock::new()));
        clock.advance(time);
        let launched = env.launch(
            "by hand",
            Environment {
                clock: clock.clone(),
                files: files.clone(),
                checkpoints: files,
                scratch: scratch.clone(),
                executor: executor.clone(),
                driver: Box::new(ByHand(cells.clone())),
                seed: 7,
                holder: "test".to_owned(),
            },
        )?;
        Ok(Self {
            supervisor: launched.supervisor,
            control: launched.control,
            start: launched.start,
            cells,
            executor,
            clock,
            outcome: None,
        })
    }

    /// The same, with every subtask running.
    #[track_caller]
    pub fn begin(env: &Env, files: &(impl Storage + Clone)) -> Self {
        Self::begin_at(env, files, Duration::ZERO)
    }

    /// The same, at another time.
    #[track_caller]
    pub fn begin_at(env: &Env, files: &(impl Storage + Clone), time: Duration) -> Self {
        Self::try_launch_at(env, files, time).unwrap().opened()
    }

    /// The same, with files that need not last in `scratch`.
    #[track_caller]
    pub fn begin_in(env: &Env, files: &(impl Storage + Clone), scratch: &Arc<MemoryScratch>) -> Self {
        Self::try_launch_in(env, files, scratch, Duration::ZERO).unwrap().opened()
    }

    #[track_caller]
    fn opened(self) -> Self {
        let mut hand = self;
        for cell in hand.cells.lock().unwrap().iter_mut() {
            assert_eq!(cell.step(), Stepped::Worked, "{} opens", cell.name());
        }
        hand.turn();
        assert_eq!(hand.control.metrics().state, JobState::Running);
        hand
    }

    /// The subtasks that are not gone.
    pub fn names(&self) -> Vec<String> {
        self.cells.lock().unwrap().iter().map(|cell| cell.name().to_owned()).collect()
    }

    /// One step of the subtask whose name begins so.
    #[track_caller]
    pub fn step(&mut self, name: &str) -> Stepped {
        let mut cells = self.cells.lock().unwrap();
        let names: Vec<&str> = cells.iter().map(|cell| cell.name()).collect();
        let at = names.iter().position(|other| other.starts_with(name));
        let at = at.unwrap_or_else(|| panic!("no {name} in {names:?}"));
        let stepped = cells[at].step();
        if stepped == Stepped::Gone {
            cells.remove(at);
        }
        stepped
    }

    /// The subtask whose name begins so fails, and the supervisor hears of it.
    #[track_caller]
    pub fn fail(&mut self, name: &str) {
        let mut cells = self.cells.lock().unwrap();
        let names: Vec<_> = cells.iter().map(|cell| cell.name().to_owned()).collect();
        let at = names.iter().position(|other| other.starts_with(name));
        cells.remove(at.unwrap_or_else(|| panic!("no {name} in {names:?}"))).fail("failed by hand");
        drop(cells);
        self.turn();
    }

    /// Steps of one subtask until it has nothing to do.
    #[track_caller]
    pub fn run(&mut self, name: &str) {
        assert!((0..MANY).any(|_| self.step(name) != Stepped::Worked), "{name} always has something to do");
    }

    /// Steps of all subtasks until none has anything to do. Did any?
    #[track_caller]
    pub fn run_all(&mut self) -> bool {
        let mut any = false;
        for _ in 0..MANY {
            let mut worked = false;
            self.cells.lock().unwrap().retain_mut(|cell| {
                let stepped = cell.step();
                worked |= !matches!(stepped, Stepped::Idle(_));
                stepped != Stepped::Gone
            });
            if !worked {
                return any;
            }
            any = true;
        }
        panic!("the subtasks always have something to do");
    }

    /// The attempt that follows a failed one begins, and all its subtasks run.
    #[track_caller]
    pub fn finish_restart(&mut self) {
        for _ in 0..100 {
            self.settle();
            if self.control.metrics().state == JobState::Running {
                return;
            }
            self.pass(Duration::from_secs(1));
        }
        panic!("the job does not go on");
    }

    /// The supervisor's turn.
    pub fn turn(&mut self) {
        if self.outcome.is_none() && self.supervisor.turn() == Turn::Done {
            self.outcome = self.supervisor.outcome();
        }
    }

    /// Whether the job has ended.
    pub fn is_over(&self) -> bool {
        self.outcome.is_some()
    }

    /// All background work that waits.
    pub fn work(&mut self) {
        self.executor.run_all();
    }

    /// The `index`th oldest piece of background work that waits.
    #[track_caller]
    pub fn work_on(&mut self, index: usize) {
        assert!(self.executor.run(index), "no such work");
    }

    /// The oldest piece of background work that waits, on a thread of its own.
    #[expect(clippy::disallowed_methods, reason = "the work is to wait while the test goes on")]
    pub fn work_aside(&self) -> JoinHandle<()> {
        let executor = self.executor.clone();
        spawn(move || assert!(executor.run(0), "no such work"))
    }

    /// Every subtask comes to its barrier, its snapshot is written, and the supervisor hears of it. What waits then is
    /// the metadata.
    #[track_caller]
    pub fn acknowledge(&mut self) {
        self.run_all();
        self.work();
        self.turn();
    }

    /// The job is told to stop.
    #[track_caller]
    pub fn stop(&mut self) {
        self.control.stop().unwrap();
        self.turn();
    }

    /// Pieces of background work that wait.
    pub fn waiting(&self) -> usize {
        self.executor.len()
    }

    /// Everybody, until nobody has anything to do; no time passes.
    #[track_caller]
    pub fn settle(&mut self) {
        let mut quiet = 0;
        while quiet < 2 {
            let worked = self.run_all() | (self.waiting() > 0);
            self.work();
            self.turn();
            quiet = if worked { 0 } else { quiet + 1 };
        }
    }

    /// Time passes, and the supervisor sees it.
    pub fn pass(&mut self, time: Duration) {
        self.clock.advance(time);
        self.turn();
    }

    /// The next checkpoint is triggered, and nothing else happens.
    #[track_caller]
    pub fn trigger(&mut self) -> CheckpointId {
        let before = self.control.metrics().checkpoints.counts().total;
        self.pass(INTERVAL);
        let checkpoints = self.control.metrics().checkpoints;
        assert_eq!(checkpoints.counts().total, before + 1, "one checkpoint is triggered");
        let newest = checkpoints.history().next().unwrap();
        newest.id
    }

    /// A checkpoint from its trigger to its commit.
    #[track_caller]
    pub fn checkpoint(&mut self) -> CheckpointId {
        let id = self.trigger();
        self.settle();
        assert_eq!(self.completed(), Some(id));
        id
    }

    /// The newest checkpoint that this process has completed.
    pub fn completed(&self) -> Option<CheckpointId> {
        self.control.metrics().checkpoints.latest_completed().map(|record| record.id)
    }

    /// How many checkpoints have failed.
    pub fn failed(&self) -> u64 {
        self.control.metrics().checkpoints.counts().failed
    }

    /// What came of a job that is over.
    #[track_caller]
    pub fn outcome(mut self) -> Result<Summary, Error> {
        self.outcome.take().expect("the job is over")
    }

    /// Everybody, and time passes, until the job has ended.
    #[track_caller]
    pub fn finish(mut self) -> Result<Summary, Error> {
        for _ in 0..100 {
            self.settle();
            if let Some(outcome) = self.outcome.take() {
                return outcome;
            }
            self.pass(INTERVAL);
        }
        panic!("the job does not end");
    }
}

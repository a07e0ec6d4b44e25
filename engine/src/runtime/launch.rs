//! From a description to a running job: everything that can refuse a start happens here, before the first record.

use super::attempt::Shared;
use super::board::Board;
use super::described::TaskDescription;
use super::driver::Driver;
use super::ending::BeforeEnd;
use super::handle::JobControl;
use super::restore::{Base, Gathered, Prepared};
use super::supervisor::{Supervisor, SupervisorParts};
use super::{restore, settings};
use crate::checkpoint::Coordinator;
use crate::config::{ClaimMode, Config};
use crate::error::Error;
use crate::graph::{Graph, Plan, check_checkpoints};
use crate::restart::Restart;
use crossbeam_channel::unbounded;
use millstream_io::clock::Clock;
use millstream_io::error::ConnectorError;
use millstream_io::executor::Executor;
use millstream_io::scratch::Scratch;
use millstream_io::storage::Storage;
use millstream_state::checkpoint_store::{Opening, Restored};
use millstream_state::local::{LocalCopies, Mirrored};
use millstream_state::recovery::Start;
use millstream_state::{JobId, StateError};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;

/// The world that a job runs in. A real one has a disk and threads; a simulated one is a function of a seed.
pub struct Environment {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Files of sources and sinks.
    pub files: Arc<dyn Storage>,
    /// Where checkpoints go.
    pub checkpoints: Arc<dyn Storage>,
    /// Memory and files that need not outlive the process.
    pub scratch: Arc<dyn Scratch>,
    /// Background work.
    pub executor: Arc<dyn Executor>,
    /// What runs the subtasks.
    pub driver: Box<dyn Driver>,
    /// Decides delays that are drawn by chance.
    pub seed: u64,
    /// Who this is, for others that find the job running: `pid 123`.
    pub holder: String,
}

/// A job that is about to run.
pub struct Launched {
    /// To be turned until it is done.
    pub supervisor: Supervisor,
    /// To steer it with.
    pub control: JobControl,
    /// What it begins with, for people: `resuming from …`.
    pub start: String,
}

/// Checks everything that could refuse the start, then builds the first attempt.
pub(crate) fn launch(
    name: &str,
    graph: Graph,
    config: &Config,
    mut environment: Environment,
    before_end: Option<BeforeEnd>,
) -> Result<Launched, Error> {
    if name.trim().is_empty() {
        return Err(Error::refuse(
            "start",
            "job name",
            "a job needs a name, by which its checkpoints are found",
        ));
    }
    config.validate().map_err(|error| Error::from(ConnectorError::from(error)).refused())?;
    let width = i64::from(config.pipeline.parallelism);
    let mut plan = Plan::new(graph, width, config.pipeline.max_parallelism.map(i64::from))?;
    check_checkpoints(&plan.graph, &config.checkpointing)?;
    let own_backend = plan.keep_state_in(settings::backend(config))?;
    let checkpointing = config.checkpointing.interval.is_some();
    for word in config.overruled() {
        tracing::warn!(job = name, "{word}");
    }
    let job_id = JobId::of(name);
    let copies_before = local_copies(name, config, &environment);
    let copies = copies_before.clone().filter(|_| config.recovery.from_local);
    if let Some(copies) = &copies {
        environment.checkpoints = Arc::new(Mirrored::new(environment.checkpoints, copies.clone()));
    }
    let opening = open(name, config, &environment).map_err(refused)?;
    let mut opening = opening.filter(|opening| checkpointing || matters(opening, config));
    let start = match &opening {
        Some(opening) => opening.start().to_string(),
        None => "starting without state (checkpoints are off)".to_owned(),
    };
    let restored = opening.as_ref().and_then(|opening| opening.restored().cloned());
    let goes_on = restored.is_some();
    let over = opening.as_ref().is_some_and(|opening| matches!(opening.start(), Start::Conclude(_)));
    let allow_dropped = config.recovery.ignore_unclaimed_state;
    let (sender, inbox) = unbounded();
    let mut shared = Shared {
        clock: environment.clock,
        files: environment.files,
        checkpoints: environment.checkpoints,
        checkpoint_dir: PathBuf::new(),
        copies,
        scratch: environment.scratch,
        executor: environment.executor,
        settings: Arc::new(settings::task(config, own_backend, plan.subtasks())),
        write_options: settings::write_options(config),
        ring_segments: config.exchange.ring_segments as usize,
        job_id: job_id.to_string(),
        checkpointing: opening.is_some(),
        sender: sender.clone(),
    };
    let ended = opening.as_ref().and_then(Opening::over);
    if let (Some(copies), Some(opening)) = (&copies_before, &opening) {
        copies.begin(opening.job_dir().root());
    }
    let (prepared, unread, gathered) = if over {
        Default::default()
    } else {
        prepare(&mut plan, opening.as_mut(), restored.as_ref(), allow_dropped, &shared)
            .map_err(Error::refused)?
    };
    let store = match opening {
        Some(opening) => {
            let store = opening.begin(config.checkpointing.num_retained as usize).map_err(refused)?;
            shared.checkpoint_dir = store.job_dir().root().to_owned();
            match (&shared.copies, copies_before) {
                (Some(copies), _) => copies.tidy(&*shared.checkpoints),
                // Of an earlier run, which wanted them.
                (None, Some(copies)) => copies.remove_all(),
                (None, None) => {}
            }
            if let Some(line) = ended {
                restore::discard(name, &mut plan, line, gathered.as_ref(), &shared);
            }
            Some(Arc::new(Mutex::new(store)))
        }
        None => None,
    };
    let mut coordinator = Coordinator::new(&config.checkpointing);
    if let Some(store) = &store {
        coordinator.end_with_a_checkpoint();
        coordinator.continue_from(store.lock().next_id());
    }
    let tasks = TaskDescription::of(&plan);
    let board = Arc::new(Board::new(shared.clock.clone(), tasks, config.settings()));
    let control = JobControl::new(sender, board.clone(), name.into());
    let mut supervisor = Supervisor::new(SupervisorParts {
        name: name.to_owned(),
        job_id,
        plan,
        shared,
        store,
        coordinator,
        restart: Restart::new(settings::restart(config), environment.seed),
        driver: environment.driver,
        inbox,
        board,
        retention: settings::retention(config),
        allow_dropped,
        seed: environment.seed,
        before_end,
    });
    if let Some(restored) = restored.as_ref().filter(|_| !over) {
        restore::tell_unmatched(name, &supervisor.parts.plan, restored, allow_dropped);
    }
    restore::tell_unread(name, &unread);
    match restored {
        Some(last) if over => supervisor.conclude(&last),
        restored => supervisor.begin(restored, prepared).map_err(Error::refused)?,
    }
    if !checkpointing && goes_on && !over {
        tracing::warn!(
            job = name,
            "execution.checkpointing.interval is not set: the next checkpoint is taken at the end of the input, and output \
             is committed with it"
        );
    }
    Ok(Launched { supervisor, control, start })
}

/// Where second copies of what is kept of checkpoints are, or were (BE-06): of what stays in memory there are none.
fn local_copies(name: &str, config: &Config, environment: &Environment) -> Option<Arc<LocalCopies>> {
    if config.checkpointing.in_memory() {
        return None;
    }
    let base = config.checkpointing.local_dir.clone().unwrap_or_else(|| {
        let local = config.task.local_dir.clone().unwrap_or_else(std::env::temp_dir);
        local.join("millstream-copies")
    });
    let name = name.to_owned();
    let tell = move |what: &str| tracing::info!(job = name, "{what}");
    Some(Arc::new(LocalCopies::new(environment.files.clone(), base, Box::new(tell))))
}

/// Looks at what the job may go on from, also when it takes no checkpoints itself: those of an earlier run count all the
/// same. Without a directory there can be none.
fn open(name: &str, config: &Config, environment: &Environment) -> Result<Option<Opening>, StateError> {
    let dir = config.checkpointing.dir.as_ref();
    if config.checkpointing.interval.is_none() && config.recovery.path.is_none() && dir.is_none() {
        return Ok(None);
    }
    let root = dir.cloned().unwrap_or_else(|| PathBuf::from("checkpoints"));
    let from = settings::start_from(config);
    let opening = Opening::new(environment.checkpoints.clone(), &root, name, &environment.holder, &from)?;
    Ok(Some(match config.recovery.claim_mode {
        ClaimMode::Claim => opening.taking_over()?,
        ClaimMode::NoClaim => opening,
    }))
}

/// Whether a job without checkpoints of its own has to do with what is in the directory: it goes on from it, or begins
/// anew although it could.
fn matters(opening: &Opening, config: &Config) -> bool {
    opening.start().snapshot().is_some() || (config.recovery.fresh && opening.has_past())
}

/// What each subtask begins with, what their sources do not read, and, where the line before is over, all state that is gone
/// on with. Until the line is recorded nothing that the job goes on from is changed.
fn prepare(
    plan: &mut Plan,
    opening: Option<&mut Opening>,
    restored: Option<&Restored>,
    allow_dropped: bool,
    shared: &Shared,
) -> Result<(Prepared, Vec<String>, Option<Gathered>), Error> {
    let assigned = restore::fit(plan, restored, allow_dropped)?;
    let gathered = restore::gather(plan, &assigned, restored, allow_dropped, shared)?;
    let unread = restored.map_or_else(Vec::new, |from| restore::unread(plan, &gathered, from, shared));
    let (mut line, mut owned, mut retained, mut kept) = (1, false, Vec::new(), None);
    if let Some(opening) = opening {
        opening.claim()?;
        kept = opening.over().map(|_| gathered.clone());
        (line, owned, retained) = (opening.line(), opening.owns_restored(), opening.retained()?);
    }
    let base = Base { restored, owned, retained: &retained, line };
    Ok((restore::prepare(plan, &assigned, gathered, &base, shared)?, unread, kept))
}

fn refused(error: StateError) -> Error {
    Error::from(error).refused()
}

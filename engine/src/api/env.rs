//! Where a job begins.

use super::stream::{Draft, Stream};
use crate::config::{Config, Settings};
use crate::error::Error;
use crate::graph::{Graph, OfSource, OperatorNode, OwnBackend};
use crate::runtime::{
    self, BeforeEnd, Ending, Environment, JobHandle, Launched, Over, Summary, ThreadDriver,
};
use crate::task::{SOURCE_STATE, SourceChain};
use crossbeam_channel::bounded;
use millstream_io::clock::SystemClock;
use millstream_io::error::Class;
use millstream_io::executor::RayonExecutor;
use millstream_io::scratch::{Budget, DiskScratch};
use millstream_io::source::Source;
use millstream_io::storage::{DiskStorage, MemoryStorage, Storage};
use millstream_state::BackendFactory;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// A job that is being described, and its configuration.
///
/// ```
/// use millstream::Env;
/// use millstream::connector::{CollectSink, Collection};
///
/// let env = Env::new();
/// let sink = CollectSink::new();
/// let doubled = sink.collected();
/// let numbers = env.source(Collection::new(vec![1u64, 2, 3]));
/// numbers.map(|n| n * 2).sink(sink);
/// let summary = env.execute("double")?;
/// assert_eq!(summary.records_out, 3);
/// assert_eq!(doubled.take(), [2, 4, 6]);
/// # Ok::<(), millstream::Error>(())
/// ```
#[derive(Default)]
pub struct Env {
    graph: Rc<RefCell<Graph>>,
    config: RefCell<Config>,
    before_end: RefCell<Option<BeforeEnd>>,
}

impl Env {
    /// An empty job with the default configuration.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty job with this configuration.
    pub fn with_config(config: Config) -> Self {
        Self { config: RefCell::new(config), ..Self::default() }
    }

    /// Changes settings by code. What was set on a command line stays as it is (ruling 23).
    pub fn configure(&self, change: impl FnOnce(&mut Settings)) {
        self.config.borrow_mut().edit(change);
    }

    /// The configuration as it stands.
    pub fn config(&self) -> Config {
        self.config.borrow().clone()
    }

    /// A stream of what a source reads.
    pub fn source<S: Source>(&self, source: S) -> Stream<SourceChain<S>> {
        let mut draft = Draft::new(self.graph.clone(), Vec::new());
        let mut node = OperatorNode::new("source");
        node.lists = vec![OperatorNode::list::<S::Split>(SOURCE_STATE, S::REDISTRIBUTION)];
        node.source = Some(Box::new(OfSource(source.clone())));
        let operator = draft.operator(node);
        Stream::new(draft, SourceChain::new(source, operator))
    }

    /// Registers a backend of your own for the states of keyed functions, which `state.backend.type` then chooses by this
    /// name (BE-01). A name has 1 to 31 bytes and is none of those that are built in. It is part of every snapshot, which
    /// no other backend reads (BE-09). The one value of a [process function](crate::KeyedStream::process) stays in a hash
    /// table.
    ///
    /// ```
    /// use millstream::Env;
    /// use millstream::config::StateBackend;
    /// use millstream::state::{BackendFactory, BackendName, HeapOrdered, OrderedBackend, PagedFault};
    /// use millstream::state::{KeyGroupRange, StateDescriptor};
    ///
    /// /// One that brings nothing new.
    /// struct Plain;
    ///
    /// impl BackendFactory for Plain {
    ///     fn create(
    ///         &self,
    ///         _: &StateDescriptor,
    ///         groups: KeyGroupRange,
    ///     ) -> Result<Box<dyn OrderedBackend>, PagedFault> {
    ///         Ok(Box::new(HeapOrdered::new(groups)))
    ///     }
    /// }
    ///
    /// let env = Env::new();
    /// env.state_backend("plain", Plain);
    /// env.configure(|settings| {
    ///     settings.state.backend = BackendName::new("plain").map(StateBackend::Own).expect("a short name");
    /// });
    /// ```
    pub fn state_backend(&self, name: impl Into<String>, factory: impl BackendFactory) {
        self.graph.borrow_mut().backends.push((name.into(), OwnBackend(Arc::new(factory))));
    }

    /// Has `conclude` called, on the job's own thread, when the job has finished: all input is processed and committed,
    /// but that is not on record yet. `conclude` puts it there with [`Ending::complete`], on any thread.
    ///
    /// Once it is on record, the next start of the job is a new run. So a process that dies between the record and its
    /// exit has finished without having said so, and whoever starts it again has everything done twice. What belongs to
    /// the end, like writing a report, is therefore done before: a process that dies in it has nothing left to process
    /// when it is started again, and comes here once more. After the record there should be nothing left to do but to
    /// exit.
    ///
    /// An error means that the job is not over; it is what [`JobHandle::wait`] then returns. A job that is stopped,
    /// cancelled or fails does not come here.
    ///
    /// ```
    /// use millstream::Env;
    /// use millstream::connector::{CollectSink, Collection};
    /// use std::sync::mpsc::channel;
    ///
    /// let env = Env::new();
    /// env.source(Collection::new(vec![1u64, 2, 3])).sink(CollectSink::new());
    /// let (report, reported) = channel();
    /// env.before_end(move |ending| {
    ///     report.send(ending.summary().records_in).expect("somebody listens");
    ///     ending.complete()
    /// });
    /// env.execute("count")?;
    /// assert_eq!(reported.recv(), Ok(3));
    /// # Ok::<(), millstream::Error>(())
    /// ```
    pub fn before_end(&self, conclude: impl FnOnce(Ending) -> Result<Over, Error> + Send + 'static) {
        *self.before_end.borrow_mut() = Some(Box::new(conclude));
    }

    /// Runs the job and waits for its end.
    ///
    /// # Errors
    /// The start is refused ([`Class::Refuse`]), or the job fails for good.
    pub fn execute(&self, name: &str) -> Result<Summary, Error> {
        self.start(name)?.wait()
    }

    /// Starts the job on threads of its own. The description is used up.
    ///
    /// # Errors
    /// The start is refused: nothing was created or deleted.
    pub fn start(&self, name: &str) -> Result<JobHandle, Error> {
        let environment = self.real_environment(name)?;
        let Launched { supervisor, control, start } = self.launch(name, environment)?;
        tracing::info!(job = name, "{start}");
        let (sender, outcome) = bounded(1);
        std::thread::Builder::new()
            .name("millstream".to_owned())
            .spawn(move || {
                // Nobody may wait any more.
                let _ = sender.send(supervisor.run());
            })
            .map_err(|error| Error::new(Class::Refuse, "start thread", name, error))?;
        Ok(JobHandle::new(control, outcome, start))
    }

    /// Prepares the job for an environment of your own: a simulation, say. Whoever calls this turns the supervisor.
    ///
    /// # Errors
    /// The start is refused.
    pub fn launch(&self, name: &str, environment: Environment) -> Result<Launched, Error> {
        let graph = self.graph.take();
        runtime::launch(name, graph, &self.config.borrow(), environment, self.before_end.take())
    }

    fn real_environment(&self, name: &str) -> Result<Environment, Error> {
        let config = self.config.borrow();
        let clock = Arc::new(SystemClock::new());
        let files: Arc<dyn Storage> = Arc::new(DiskStorage::new());
        let holder = format!("pid {}", std::process::id());
        let checkpoints: Arc<dyn Storage> = if config.checkpointing.in_memory() {
            runtime::refuse_passing_over(&config, name, &holder, files.clone())?;
            Arc::new(MemoryStorage::new())
        } else {
            files.clone()
        };
        let executor = RayonExecutor::new(RayonExecutor::DEFAULT_THREADS)
            .map_err(|error| Error::new(Class::Refuse, "start threads", "background work", error))?;
        let driver = ThreadDriver::new(
            clock.clone(),
            config.task.threads,
            config.task.wait_strategy,
            config.task.pinning,
        );
        let memory = config.state.pages_memory();
        let local = config.task.local_dir.clone().unwrap_or_else(std::env::temp_dir);
        Ok(Environment {
            scratch: Arc::new(DiskScratch::new(local, Budget::of_the_process(memory))),
            seed: u64::from(std::process::id()),
            holder,
            clock,
            files,
            checkpoints,
            executor: Arc::new(executor),
            driver: Box::new(driver),
        })
    }
}

//! The settings of a job as plain values: what the engine reads.

use super::backend::StateBackend;
use super::choices::{
    CheckpointMode, CheckpointStorage, ClaimMode, RestartKind, Retention, TaskThreads, WaitStrategy,
};
use super::units::ByteSize;
use millstream_io::scratch::machine_memory;
use millstream_state::paged::SMALL;
use std::path::PathBuf;
use std::time::Duration;

/// Everything that can be set. `Settings::default()` is what holds without any configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Checkpoints.
    pub checkpointing: Checkpointing,
    /// What a start goes on from.
    pub recovery: Recovery,
    /// How keyed state is kept.
    pub state: State,
    /// What happens after a failure.
    pub restart: Restart,
    /// Parallelism.
    pub pipeline: Pipeline,
    /// Threads.
    pub task: Task,
    /// Records on their way between subtasks.
    pub exchange: Exchange,
}

/// Keys `execution.checkpointing.*`.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpointing {
    /// Time from one start to the next; `None`: no periodic checkpoints (CP-01, CP-02).
    pub interval: Option<Duration>,
    /// The same while a source works off a backlog; nought: none meanwhile; `None`: no difference (CP-10).
    pub interval_during_backlog: Option<Duration>,
    /// What a failure may do to the state.
    pub mode: CheckpointMode,
    /// An attempt that takes longer fails (CP-14).
    pub timeout: Duration,
    /// Least time from the end of one to the start of the next (CP-04).
    pub min_pause: Duration,
    /// Attempts that may run at the same time (CP-06).
    pub max_concurrent: u32,
    /// Failed attempts in a row that do not fail the job (CP-18).
    pub tolerable_failed: u32,
    /// What becomes of them when the job is cancelled.
    pub retention: Retention,
    /// Directory of the files.
    pub dir: Option<PathBuf>,
    /// Where they are kept; `None`: files if there is a directory, else memory (CS-01).
    pub storage: Option<CheckpointStorage>,
    /// Bytes that one state of a subtask may have where they are kept in memory (CS-02).
    pub memory_max_state: ByteSize,
    /// Completed ones that are kept (RT-01).
    pub num_retained: u32,
    /// Whether a checkpoint has only what changed since the one before, where state can do that.
    pub incremental: bool,
    /// Where second copies of state are kept, nearby; `None`: where temporary files of tasks are.
    pub local_dir: Option<PathBuf>,
    /// Pieces of state below this go into `_metadata` (BE-07).
    pub data_inline_threshold: ByteSize,
    /// Buffer between the state and its file.
    pub write_buffer_size: ByteSize,
    /// Whether checkpoints go on after some subtasks have ended (CP-28).
    pub after_tasks_finish: bool,
    /// Whether barriers overtake records in their way, which become part of the checkpoint (UC-01).
    pub unaligned: bool,
    /// How long barriers wait for their turn before they do (UC-08).
    pub aligned_checkpoint_timeout: Duration,
    /// Whether they do so in loops, too (UC-07).
    pub unaligned_forced: bool,
    /// Whether checkpoints are taken of jobs with loops (IT-01).
    pub iterations_forced: bool,
    /// Held back in memory while barriers are aligned, by each subtask.
    pub alignment_memory: ByteSize,
    /// Held back in files beyond that; where more would be, the checkpoint is given up (ruling 9).
    pub alignment_max_spill: ByteSize,
    /// Checkpoints that the history remembers.
    pub history: u32,
}

impl Default for Checkpointing {
    fn default() -> Self {
        Self {
            interval: None,
            interval_during_backlog: None,
            mode: CheckpointMode::ExactlyOnce,
            timeout: Duration::from_secs(600),
            min_pause: Duration::ZERO,
            max_concurrent: 1,
            tolerable_failed: 0,
            retention: Retention::DeleteOnCancellation,
            dir: None,
            storage: None,
            memory_max_state: ByteSize::mb(5),
            num_retained: 1,
            incremental: true,
            local_dir: None,
            data_inline_threshold: ByteSize::kb(20),
            write_buffer_size: ByteSize::kb(4),
            after_tasks_finish: true,
            unaligned: false,
            aligned_checkpoint_timeout: Duration::ZERO,
            unaligned_forced: false,
            iterations_forced: false,
            alignment_memory: ByteSize::mb(4),
            alignment_max_spill: ByteSize::gb(1),
            history: 10,
        }
    }
}

/// Keys `execution.state-recovery.*`.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovery {
    /// Start from this checkpoint: its directory or its `_metadata` file.
    pub path: Option<PathBuf>,
    /// State of operators that the job no longer has may be left behind.
    pub ignore_unclaimed_state: bool,
    /// Who owns the files restored from.
    pub claim_mode: ClaimMode,
    /// Begin without state although the job has completed checkpoints.
    pub fresh: bool,
    /// Whether state has second copies nearby, which a restart reads where they are right.
    pub from_local: bool,
}

impl Default for Recovery {
    fn default() -> Self {
        Self {
            path: None,
            ignore_unclaimed_state: false,
            claim_mode: ClaimMode::NoClaim,
            fresh: false,
            from_local: false,
        }
    }
}

/// Keys `state.*`.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// How keyed state is kept.
    pub backend: StateBackend,
    /// Bytes up to which the keyed state of a subtask is not divided into pages.
    pub paged_small_state: ByteSize,
    /// Memory of all pages in the process; `None`: half of the machine's (ruling 24).
    pub paged_memory: Option<ByteSize>,
    /// Bytes of changed pages that a checkpoint hands over to be written at once.
    pub paged_chunk_size: ByteSize,
}

impl State {
    /// The same, in bytes, also where it is not said.
    pub fn pages_memory(&self) -> u64 {
        self.paged_memory.map_or(machine_memory() / 2, ByteSize::bytes)
    }
}

impl Default for State {
    fn default() -> Self {
        Self {
            backend: StateBackend::Hashmap,
            paged_small_state: ByteSize(SMALL as u64),
            paged_memory: None,
            paged_chunk_size: ByteSize::kb(256),
        }
    }
}

/// Keys `restart-strategy.*`.
#[derive(Clone, Debug, PartialEq)]
pub struct Restart {
    /// The strategy.
    pub kind: RestartKind,
    /// Settings of that strategy.
    pub fixed_delay: FixedDelay,
    /// Settings of that strategy.
    pub failure_rate: FailureRate,
    /// Settings of that strategy.
    pub exponential_delay: ExponentialDelay,
}

impl Default for Restart {
    fn default() -> Self {
        Self {
            kind: RestartKind::Auto,
            fixed_delay: FixedDelay::default(),
            failure_rate: FailureRate::default(),
            exponential_delay: ExponentialDelay::default(),
        }
    }
}

/// Keys `restart-strategy.fixed-delay.*` (RS-02).
#[derive(Clone, Debug, PartialEq)]
pub struct FixedDelay {
    /// Restarts in total.
    pub attempts: u32,
    /// Pause before each.
    pub delay: Duration,
}

impl Default for FixedDelay {
    fn default() -> Self {
        Self { attempts: 1, delay: Duration::from_secs(1) }
    }
}

/// Keys `restart-strategy.failure-rate.*` (RS-03).
#[derive(Clone, Debug, PartialEq)]
pub struct FailureRate {
    /// Failures within an interval that still lead to a restart.
    pub max_failures_per_interval: u32,
    /// Length of the sliding interval.
    pub interval: Duration,
    /// Pause before each restart.
    pub delay: Duration,
}

impl Default for FailureRate {
    fn default() -> Self {
        Self {
            max_failures_per_interval: 1,
            interval: Duration::from_secs(60),
            delay: Duration::from_secs(1),
        }
    }
}

/// Keys `restart-strategy.exponential-delay.*` (RS-04).
#[derive(Clone, Debug, PartialEq)]
pub struct ExponentialDelay {
    /// The first pause.
    pub initial_backoff: Duration,
    /// The longest pause.
    pub max_backoff: Duration,
    /// Each pause is this many times the one before.
    pub backoff_multiplier: f64,
    /// After running this long the next pause is the first one again.
    pub reset_backoff_threshold: Duration,
    /// Share of the pause by which it varies at random.
    pub jitter_factor: f64,
    /// Restarts without a reset between them; `None`: any number.
    pub attempts_before_reset: Option<u32>,
}

impl Default for ExponentialDelay {
    fn default() -> Self {
        Self {
            initial_backoff: Duration::from_secs(1),
            max_backoff: Duration::from_secs(60),
            backoff_multiplier: 1.5,
            reset_backoff_threshold: Duration::from_secs(3600),
            jitter_factor: 0.1,
            attempts_before_reset: None,
        }
    }
}

/// Parallelism.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// Subtasks of an operator that does not say otherwise.
    pub parallelism: u32,
    /// Number of key groups, an upper limit of parallelism for the life of the state; `None`: from the parallelism
    /// (KG-03), or as the restored checkpoint has it (KG-04).
    pub max_parallelism: Option<u32>,
}

impl Default for Pipeline {
    fn default() -> Self {
        Self { parallelism: 1, max_parallelism: None }
    }
}

/// Keys `task.*`.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Which threads run subtasks.
    pub threads: TaskThreads,
    /// What a thread does that finds nothing to do.
    pub wait_strategy: WaitStrategy,
    /// Whether a thread stays on one core.
    pub pinning: bool,
    /// Directory of files that need not outlive the process; `None`: the system's temporary directory (ruling 24).
    pub local_dir: Option<PathBuf>,
}

impl Default for Task {
    fn default() -> Self {
        Self {
            threads: TaskThreads::Auto,
            wait_strategy: WaitStrategy::Adaptive,
            pinning: true,
            local_dir: None,
        }
    }
}

/// Keys `exchange.*` and `execution.buffer-timeout.*`.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// A segment that is not full is handed on after this at the latest. An idle subtask hands it on at once.
    pub buffer_timeout: Duration,
    /// Bytes of a segment.
    pub segment_size: ByteSize,
    /// Segments that one ring holds.
    pub ring_segments: u32,
}

impl Default for Exchange {
    fn default() -> Self {
        Self { buffer_timeout: Duration::from_millis(100), segment_size: ByteSize::kb(32), ring_segments: 16 }
    }
}

//! The one table of keys: names, old names, forms, limits and descriptions. Reading, checking, "did you mean" and the
//! reference page all come from it.

use super::setting::Setting;
use super::settings::Settings;
use super::units::ByteSize;
use std::time::Duration;

/// A key of the configuration.
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// Names it had before; accepted (CF-01).
    pub old: &'static [&'static str],
    /// What it does.
    pub doc: &'static str,
    /// What is allowed beyond the form; empty when everything of that form is.
    pub limit: &'static str,
    form: fn() -> String,
    bare: fn() -> bool,
    parse: fn(&mut Settings, &str) -> Result<(), String>,
    show: fn(&Settings) -> String,
    copy: fn(&mut Settings, &Settings),
    within: fn(&Settings) -> bool,
}

impl Key {
    /// The key with this name, new or old.
    pub fn named(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name || key.old.contains(&name))
    }

    /// The form of its values.
    pub fn form(&self) -> String {
        (self.form)()
    }

    /// Whether a file that has types for numbers and truth values holds its value as one of these, not as text.
    pub fn is_bare(&self) -> bool {
        (self.bare)()
    }

    /// Its value, written as it would be set.
    pub fn show(&self, settings: &Settings) -> String {
        (self.show)(settings)
    }

    pub(super) fn parse(&self, settings: &mut Settings, text: &str) -> Result<(), String> {
        (self.parse)(settings, text)
    }

    pub(super) fn copy(&self, to: &mut Settings, from: &Settings) {
        (self.copy)(to, from);
    }

    pub(super) fn within_limit(&self, settings: &Settings) -> bool {
        (self.within)(settings)
    }
}

/// The form of the values of the field that a function reads.
fn form_of<T: Setting>(_: fn(&Settings) -> &T) -> String {
    T::form()
}

/// Whether the field that a function reads has values without quotes.
fn is_bare<T: Setting>(_: fn(&Settings) -> &T) -> bool {
    T::is_bare()
}

macro_rules! within {
    ([$($path:tt)+]) => {
        |_| true
    };
    ([$($path:tt)+] $value:ident $within:expr) => {
        |s| {
            let $value = &s.$($path)+;
            $within
        }
    };
}

macro_rules! keys {
    ($($name:literal $([$($old:literal),+])? = $group:ident . $($field:ident).+, $doc:literal
        $(, $limit:literal => |$value:ident| $within:expr)?;)+) => {
        /// All keys, in the order of the reference page.
        pub static KEYS: &[Key] = &[$(Key {
            name: $name,
            old: &[$($($old),+)?],
            doc: $doc,
            limit: concat!("" $(, $limit)?),
            form: || form_of(|s| &s.$group.$($field).+),
            bare: || is_bare(|s| &s.$group.$($field).+),
            parse: |s, text| {
                s.$group.$($field).+ = Setting::parse(text)?;
                Ok(())
            },
            show: |s| Setting::show(&s.$group.$($field).+),
            copy: |to, from| to.$group.$($field).+ = from.$group.$($field).+.clone(),
            within: within!([$group.$($field).+] $($value $within)?),
        }),+];
    };
}

/// Shortest interval and timeout of checkpoints (CP-01).
const LEAST_CHECKPOINT_TIME: Duration = Duration::from_millis(10);

/// Most key groups (KG-03).
pub const MOST_KEY_GROUPS: u32 = 32_768;

keys! {
    "execution.checkpointing.interval" = checkpointing.interval,
        "Time from the start of one checkpoint to the start of the next. Without it no checkpoints are taken.",
        "at least 10ms" => |v| v.is_none_or(|d| d >= LEAST_CHECKPOINT_TIME);
    "execution.checkpointing.interval-during-backlog" = checkpointing.interval_during_backlog,
        "The interval while a source says that it works off a backlog; with 0ms no periodic checkpoints are taken meanwhile. No source that comes with the engine says so. By default the same as ever.",
        "0ms, or at least the interval" => |v| v.is_none_or(|d| d.is_zero() || d >= LEAST_CHECKPOINT_TIME);
    "execution.checkpointing.mode" = checkpointing.mode,
        "Whether every record counts exactly once in the state after a failure, or at least once.";
    "execution.checkpointing.timeout" = checkpointing.timeout,
        "A checkpoint that takes longer fails.",
        "at least 10ms" => |v| *v >= LEAST_CHECKPOINT_TIME;
    "execution.checkpointing.min-pause" = checkpointing.min_pause,
        "Least time from the end of one checkpoint to the start of the next. When set, one runs at a time.";
    "execution.checkpointing.max-concurrent-checkpoints" = checkpointing.max_concurrent,
        "Checkpoints that may run at the same time.",
        "at least 1" => |v| *v >= 1;
    "execution.checkpointing.tolerable-failed-checkpoints" = checkpointing.tolerable_failed,
        "Failed checkpoints in a row that do not fail the job.";
    "execution.checkpointing.externalized-checkpoint-retention" = checkpointing.retention,
        "What becomes of the checkpoints of a job that was cancelled or failed for good: delete those of both, of a cancelled one, or none. A suspended job always keeps them, one that finished never does.";
    "execution.checkpointing.dir" ["state.checkpoints.dir"] = checkpointing.dir,
        "Directory of the checkpoints. The command line uses `checkpoints` in its home directory when it is not set.";
    "execution.checkpointing.storage" ["state.checkpoint-storage"] = checkpointing.storage,
        "Where checkpoints are kept: in files, or in memory and gone with the process; then a job of which there are checkpoints in the directory is refused, unless it is to begin without state. By default files if there is a directory, else memory.";
    "execution.checkpointing.memory-storage.max-state-size" = checkpointing.memory_max_state,
        "Where checkpoints are kept in memory: bytes that one state of a subtask may have. A checkpoint of more fails. Meant for tests and small state; for more there are files.",
        "at least 1b" => |v| *v >= ByteSize(1);
    "execution.checkpointing.num-retained" ["state.checkpoints.num-retained"] = checkpointing.num_retained,
        "Completed checkpoints that are kept.",
        "at least 1" => |v| *v >= 1;
    "execution.checkpointing.incremental" ["state.backend.incremental"] = checkpointing.incremental,
        "Whether a checkpoint of state in pages has only what changed since the one before. State that the hashmap backend keeps, and small state, is in each checkpoint as a whole in any case.";
    "execution.checkpointing.local-backup.dirs" ["taskmanager.state.local.root-dirs"] = checkpointing.local_dir,
        "Directory of the second copies of keyed state, if there are any. By default a directory of its own in `task.local-dir`.";
    "execution.checkpointing.data-inline-threshold"
        ["state.storage.fs.memory-threshold", "state.backend.fs.memory-threshold"] = checkpointing.data_inline_threshold,
        "Pieces of state smaller than this are written into `_metadata` itself.",
        "at most 1mb" => |v| *v <= ByteSize::mb(1);
    "execution.checkpointing.write-buffer-size"
        ["state.storage.fs.write-buffer-size", "state.backend.fs.write-buffer-size"] = checkpointing.write_buffer_size,
        "Buffer between the state and a checkpoint file.",
        "from 1b to 64mb" => |v| (ByteSize(1)..=ByteSize::mb(64)).contains(v);
    "execution.checkpointing.checkpoints-after-tasks-finish"
        ["execution.checkpointing.checkpoints-after-tasks-finish.enabled"] = checkpointing.after_tasks_finish,
        "Whether checkpoints go on after some subtasks have come to their end.";
    "execution.checkpointing.unaligned.enabled" ["execution.checkpointing.unaligned"] = checkpointing.unaligned,
        "Whether barriers overtake records that are in their way, which become part of the checkpoint: it is taken at once, however slow the job is. What is overtaken is kept in memory until the last barrier of a subtask has come. Records that go to several operators, or to all subtasks of one, are not overtaken. Only with EXACTLY_ONCE, and with one checkpoint at a time. The checkpoint that a job is stopped with never does that.";
    "execution.checkpointing.aligned-checkpoint-timeout" ["execution.checkpointing.alignment-timeout"] = checkpointing.aligned_checkpoint_timeout,
        "How long after the start of an unaligned checkpoint its barriers wait for their turn before they overtake what is in their way; with 0ms they never wait.";
    "execution.checkpointing.unaligned.forced" = checkpointing.unaligned_forced,
        "Whether barriers overtake records in jobs with loops, too, where `execution.checkpointing.unaligned.enabled` is set: all that is in a loop is part of such a checkpoint, also what is not being fed back.";
    "execution.checkpointing.iterations.forced" = checkpointing.iterations_forced,
        "Whether checkpoints are taken of jobs with loops, which are refused otherwise. What is being fed back is part of each of them, however much it is, and nothing of it is lost.";
    "execution.checkpointing.alignment.memory" = checkpointing.alignment_memory,
        "What one subtask holds back in memory while it waits for the barriers of its other inputs, or while there is no room for what a loop feeds back to it. More than that goes into files in `task.local-dir`.";
    "execution.checkpointing.alignment.max-spill" = checkpointing.alignment_max_spill,
        "What one subtask holds back in files beyond `execution.checkpointing.alignment.memory`. A checkpoint for which more would have to be held back is given up, which never counts as a failure of `execution.checkpointing.tolerable-failed-checkpoints`; one for which the disk has no room is given up as well, and that does count. Where a loop feeds back more than that, the attempt fails. With 0b there are no files.";
    "execution.state-recovery.path" ["execution.savepoint.path"] = recovery.path,
        "Start from this checkpoint: its directory or its `_metadata` file. Option `-s`.";
    "execution.state-recovery.ignore-unclaimed-state" ["execution.savepoint.ignore-unclaimed-state"] = recovery.ignore_unclaimed_state,
        "State of operators that the job no longer has may be left behind. Option `-n`.";
    "execution.state-recovery.claim-mode" ["execution.savepoint-restore-mode"] = recovery.claim_mode,
        "Who owns the snapshot that a start is told to go on from: the user, and it is never changed; or, with CLAIM, the job, which deletes it like the oldest of its own checkpoints, with the files that no other checkpoint beside it names. To be given again whenever the start is repeated. Option `--claim-mode`.";
    "execution.state-recovery.fresh" = recovery.fresh,
        "Begin without state although the job has completed checkpoints; nothing old is deleted. Option `--fresh`.";
    "execution.state-recovery.from-local" ["execution.checkpointing.local-backup.enabled", "state.backend.local-recovery"] = recovery.from_local,
        "Whether second copies of keyed state are kept on this machine, which a restart reads in place of the checkpoint's files as far as they are there and right.";
    "state.backend.type" ["state.backend"] = state.backend,
        "How keyed state is kept: in tables, of which each checkpoint has everything; in pages, of which a checkpoint has what changed; or, for the states of keyed functions, in a backend that the program has registered.";
    "state.backend.paged.small-state" = state.paged_small_state,
        "Bytes up to which the keyed state of a subtask is kept as a whole, with the paged backend: its checkpoints then have all of it.",
        "at most 64mb" => |v| *v <= ByteSize::mb(64);
    "state.backend.paged.memory" = state.paged_memory,
        "Memory that pages of keyed state take, in all subtasks of the process together; pages beyond it are in files below `task.local-dir`, which the system writes and reads as it needs. State that is kept as a whole (small, or with an entry of more than 16 KiB) is not counted, nor are snapshots on their way to the disk, which take at most 64 chunks in each subtask, and as much again or a quarter of this memory, before records wait for the disk. By default half of the machine's memory: less where the process may not have as much.";
    "state.backend.paged.chunk-size" = state.paged_chunk_size,
        "Bytes of changed pages that a checkpoint hands over to be written at once, while the rest is still being copied. Up to 64 times as many wait for the disk in each subtask, beside copies of what has changed before its turn.",
        "from 1b to 16mb" => |v| (ByteSize(1)..=ByteSize::mb(16)).contains(v);
    "restart-strategy.type" ["restart-strategy"] = restart.kind,
        "What decides about a restart after a failure; auto is exponential-delay with checkpointing and none without.";
    "restart-strategy.fixed-delay.attempts" = restart.fixed_delay.attempts,
        "Restarts in total.";
    "restart-strategy.fixed-delay.delay" = restart.fixed_delay.delay,
        "Pause before each restart.";
    "restart-strategy.failure-rate.max-failures-per-interval" = restart.failure_rate.max_failures_per_interval,
        "Failures within an interval that still lead to a restart.",
        "at least 1" => |v| *v >= 1;
    "restart-strategy.failure-rate.failure-rate-interval" = restart.failure_rate.interval,
        "Length of the sliding interval.",
        "more than 0ms" => |v| !v.is_zero();
    "restart-strategy.failure-rate.delay" = restart.failure_rate.delay,
        "Pause before each restart.";
    "restart-strategy.exponential-delay.initial-backoff" = restart.exponential_delay.initial_backoff,
        "The first pause.",
        "at least 1ms" => |v| *v >= Duration::from_millis(1);
    "restart-strategy.exponential-delay.max-backoff" = restart.exponential_delay.max_backoff,
        "The longest pause.",
        "at least 1ms" => |v| *v >= Duration::from_millis(1);
    "restart-strategy.exponential-delay.backoff-multiplier" = restart.exponential_delay.backoff_multiplier,
        "Each pause is this many times the one before.",
        "more than 1" => |v| *v > 1.0;
    "restart-strategy.exponential-delay.reset-backoff-threshold" = restart.exponential_delay.reset_backoff_threshold,
        "After running this long without a failure the next pause is the first one again.",
        "at least 1ms" => |v| *v >= Duration::from_millis(1);
    "restart-strategy.exponential-delay.jitter-factor" = restart.exponential_delay.jitter_factor,
        "Share of a pause by which it varies at random.",
        "from 0 to 1" => |v| (0.0..=1.0).contains(v);
    "restart-strategy.exponential-delay.attempts-before-reset-backoff" = restart.exponential_delay.attempts_before_reset,
        "Restarts without a quiet time between them; none for any number.",
        "at least 1" => |v| v.is_none_or(|n| n >= 1);
    "parallelism.default" = pipeline.parallelism,
        "Subtasks of an operator that does not say otherwise. Option `-p`.",
        "from 1 to 32768" => |v| (1..=MOST_KEY_GROUPS).contains(v);
    "pipeline.max-parallelism" = pipeline.max_parallelism,
        "Number of key groups: the highest parallelism for the whole life of the state. By default from the parallelism, at least 128, or as the restored checkpoint has it.",
        "from 1 to 32768" => |v| v.is_none_or(|n| (1..=MOST_KEY_GROUPS).contains(&n));
    "execution.buffer-timeout.interval" ["execution.buffer-timeout"] = exchange.buffer_timeout,
        "A buffer that does not fill is handed on after this at the latest; an idle subtask hands it on at once.",
        "more than 0ms" => |v| !v.is_zero();
    "exchange.segment-size" = exchange.segment_size,
        "Size of the buffers in which records travel between subtasks.",
        "from 1kb to 16mb" => |v| (ByteSize::kb(1)..=ByteSize::mb(16)).contains(v);
    "exchange.ring-segments" = exchange.ring_segments,
        "Buffers that one connection between two subtasks holds.",
        "a power of two from 2 to 4096" => |v| v.is_power_of_two() && (2..=4096).contains(v);
    "task.threads" = task.threads,
        "Which threads run subtasks: one for each subtask, one for each core, or the first while cores suffice.";
    "task.wait-strategy" = task.wait_strategy,
        "What a thread does that finds nothing to do.";
    "task.pinning" = task.pinning,
        "Whether a thread stays on one core.";
    "task.local-dir" = task.local_dir,
        "Directory of files that need not outlive the process, such as state that has no place in memory; made when the first one is. They have no names: nothing is left of them when the process ends or is killed. By default the system's temporary directory.";
    "web.checkpoints.history" = checkpointing.history,
        "Checkpoints that the history remembers.",
        "from 1 to 10000" => |v| (1..=10_000).contains(v);
}

/// Keys (or, with a dot at the end, groups of keys) that are known and not there yet. They are refused with these
/// words, so that nobody takes them for misspelt or, worse, for working.
pub(super) static NOT_YET: &[&str] = &[
    "execution.checkpointing.unaligned.interruptible-timers.enabled",
    "execution.checkpointing.unaligned.max-subtasks-per-channel-state-file",
    "execution.checkpointing.unaligned.recover-output-on-downstream.enabled",
    "execution.checkpointing.unaligned.during-recovery.enabled",
    "execution.checkpointing.savepoint-dir",
    "state.savepoints.dir",
    "execution.checkpointing.create-subdir",
    "execution.checkpointing.snapshot-compression",
    "execution.checkpointing.file-merging.",
    "execution.state-recovery.without-channel-state.checkpoint-id",
    "execution.checkpointing.recover-without-channel-state.checkpoint-id",
    "state.backend.rocksdb.",
    "state.backend.changelog.",
    "state.changelog.",
    "jobmanager.execution.failover-strategy",
    "pipeline.auto-generate-uids",
    "pipeline.auto-watermark-interval",
    "pipeline.watermark-alignment.",
    "taskmanager.network.memory.buffer-debloat.",
];

/// Whether the name is one of [`NOT_YET`].
pub(super) fn is_not_yet(name: &str) -> bool {
    NOT_YET.iter().any(|known| if known.ends_with('.') { name.starts_with(known) } else { name == *known })
}

/// Values of such keys that ask for what is done anyway; these are accepted.
static AS_IT_IS: &[(&str, &str)] = &[
    ("execution.checkpointing.unaligned.interruptible-timers.enabled", "false"),
    ("execution.checkpointing.create-subdir", "true"),
    ("execution.checkpointing.snapshot-compression", "false"),
    ("execution.checkpointing.file-merging.enabled", "false"),
    ("state.changelog.enabled", "false"),
    ("state.backend.changelog.enabled", "false"),
    ("pipeline.auto-generate-uids", "true"),
    ("taskmanager.network.memory.buffer-debloat.enabled", "false"),
    ("jobmanager.execution.failover-strategy", "full"),
];

/// A key that is accepted and has no effect any more.
pub(super) struct NoEffect {
    /// Its name.
    pub name: &'static str,
    /// What happens in any case.
    pub instead: &'static str,
    /// The value that asks for just that.
    usual: bool,
}

/// Keys of truth values that programs and files may still have. Whatever they say, the same is done.
pub(super) static NO_EFFECT: &[NoEffect] = &[
    NoEffect {
        name: "execution.checkpointing.prefer-checkpoint-for-recovery",
        instead: "a restart goes on from the newest completed checkpoint, or from what the job was started from",
        usual: false,
    },
    NoEffect {
        name: "execution.checkpointing.cleaner.parallel-mode",
        instead: "checkpoints are deleted beside everything else, one after the other",
        usual: true,
    },
    NoEffect {
        name: "state.backend.async",
        instead: "snapshots are written while records are processed",
        usual: true,
    },
    NoEffect {
        name: "pipeline.object-reuse",
        instead: "records are handed on without copies of them",
        usual: true,
    },
];

impl NoEffect {
    /// The key with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        NO_EFFECT.iter().find(|key| key.name == name)
    }

    /// A word for whoever asks for something else than what is done.
    ///
    /// # Errors
    /// The value is no truth value.
    pub fn word(&self, value: &str) -> Result<Option<String>, String> {
        let asked = bool::parse(value)?;
        Ok((asked != self.usual).then(|| format!("{} has no effect: {}", self.name, self.instead)))
    }
}

/// Whether a value asks a key that is not there yet for what is done anyway.
pub(super) fn is_as_it_is(name: &str, value: &str) -> bool {
    let value = value.trim();
    AS_IT_IS.iter().any(|(key, as_it_is)| *key == name && value.eq_ignore_ascii_case(as_it_is))
}

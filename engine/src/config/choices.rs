//! Settings with a fixed list of values.

use super::setting::Setting;

/// An enum whose values have names in the configuration: the first name is the one that is written, the others are
/// accepted too. Case does not matter, and `_` and `-` are one.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $value:ident = $first:literal $(| $other:literal)*,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $value,)+
        }

        impl Setting for $name {
            fn form() -> String {
                [$($first),+].join(" | ")
            }

            fn parse(text: &str) -> Result<Self, String> {
                let plain = plain(text);
                $(if [$first $(, $other)*].iter().any(|name| plain == self::plain(name)) {
                    return Ok(Self::$value);
                })+
                Err(format!("expected {}", Self::form()))
            }

            fn show(&self) -> String {
                match self {
                    $(Self::$value => $first,)+
                }
                .to_owned()
            }
        }
    };
}

fn plain(text: &str) -> String {
    text.trim().to_ascii_lowercase().replace('_', "-")
}

choice! {
    /// What a failure may do to the state (CP-22).
    CheckpointMode {
        /// Every record counts once: barriers are aligned.
        ExactlyOnce = "EXACTLY_ONCE",
        /// Records between barriers may count twice after a failure; nothing waits for a barrier.
        AtLeastOnce = "AT_LEAST_ONCE",
    }
}

choice! {
    /// What becomes of the checkpoints at the end (RT-02 as Millstream has it): a suspended job always keeps them, one that
    /// finished never does.
    Retention {
        /// They go with the job, also when it failed for good.
        NoExternalizedCheckpoints = "NO_EXTERNALIZED_CHECKPOINTS",
        /// They go with a cancelled job; a job that failed for good keeps them.
        DeleteOnCancellation = "DELETE_ON_CANCELLATION",
        /// They stay.
        RetainOnCancellation = "RETAIN_ON_CANCELLATION",
    }
}

choice! {
    /// Where checkpoints are kept (CS-01).
    CheckpointStorage {
        /// In files below `execution.checkpointing.dir`.
        Filesystem = "filesystem",
        /// In memory: gone with the process.
        Memory = "memory" | "jobmanager",
    }
}

choice! {
    /// Who owns the files that a job was restored from (CL-02).
    ClaimMode {
        /// The user: the engine never deletes them.
        NoClaim = "NO_CLAIM",
        /// The engine: deleted like a checkpoint of its own.
        Claim = "CLAIM",
    }
}

choice! {
    /// What decides about a restart after a failure (RS-01 to RS-06).
    RestartKind {
        /// Exponential delay with checkpointing, none without (RS-05, ruling 8).
        Auto = "auto",
        /// The first failure is the end.
        None = "none" | "off" | "disable",
        /// A number of restarts, the same pause before each.
        FixedDelay = "fixed-delay" | "fixeddelay",
        /// As long as failures are rare enough.
        FailureRate = "failure-rate" | "failurerate",
        /// Pauses that grow, and shrink again after a quiet time.
        ExponentialDelay = "exponential-delay" | "exponentialdelay",
    }
}

choice! {
    /// Which threads run subtasks.
    TaskThreads {
        /// One thread for each subtask while cores suffice, else one for each core.
        Auto = "auto",
        /// One thread for each subtask.
        PerSubtask = "per-subtask",
        /// One thread for each core, which steps all subtasks of that core.
        PerCore = "per-core",
    }
}

choice! {
    /// What a thread does that finds nothing to do.
    WaitStrategy {
        /// Spins briefly, yields briefly, then sleeps until it is woken.
        Adaptive = "adaptive",
        /// Spins: the lowest latency, a core of its own for each thread.
        BusySpin = "busy-spin",
        /// Sleeps at once.
        Park = "park",
    }
}

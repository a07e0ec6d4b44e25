//! Settings that are accepted beside one another although one of them has no effect then. The one home of such words: no
//! other place warns of settings.

use super::{CheckpointMode, CheckpointStorage, ClaimMode, Config, Settings};

/// What is said, where there is something to say.
type Rule = fn(&Settings) -> Option<String>;

static RULES: &[Rule] = &[
    // CP-05.
    |s| {
        let c = &s.checkpointing;
        (!c.min_pause.is_zero() && c.max_concurrent > 1).then(|| {
            format!(
                "execution.checkpointing.max-concurrent-checkpoints = {} has no effect beside \
                 execution.checkpointing.min-pause: one checkpoint is taken at a time",
                c.max_concurrent
            )
        })
    },
    // CP-10.
    |s| {
        let c = &s.checkpointing;
        say(
            c.interval.is_none() && c.interval_during_backlog.is_some(),
            "execution.checkpointing.interval-during-backlog has no effect without execution.checkpointing.interval",
        )
    },
    // UC-01.
    |s| {
        let c = &s.checkpointing;
        say(
            c.unaligned && c.mode == CheckpointMode::AtLeastOnce,
            "execution.checkpointing.unaligned.enabled has no effect with execution.checkpointing.mode = AT_LEAST_ONCE: no \
             barrier waits there",
        )
    },
    // UC-08.
    |s| {
        let c = &s.checkpointing;
        say(
            !c.unaligned && !c.aligned_checkpoint_timeout.is_zero(),
            "execution.checkpointing.aligned-checkpoint-timeout has no effect without \
             execution.checkpointing.unaligned.enabled = true: barriers wait for their turn, however long",
        )
    },
    // CL-02.
    |s| {
        say(
            s.recovery.claim_mode == ClaimMode::Claim && s.recovery.path.is_none(),
            "execution.state-recovery.claim-mode = CLAIM has no effect without execution.state-recovery.path (-s): there is no \
             snapshot that would not be the job's own anyway",
        )
    },
    // BE-06.
    |s| {
        say(
            s.recovery.from_local && s.checkpointing.in_memory(),
            "execution.state-recovery.from-local has no effect on checkpoints that are kept in memory: there are no second \
             copies of these",
        )
    },
    |s| {
        say(
            !s.recovery.from_local && s.checkpointing.local_dir.is_some(),
            "execution.checkpointing.local-backup.dirs has no effect without execution.state-recovery.from-local = true",
        )
    },
    // Ruling 7.
    |s| {
        let c = &s.checkpointing;
        say(
            c.enabled() && c.dir.is_none(),
            "execution.checkpointing.dir is not set: checkpoints are kept in memory and end with the process",
        )
    },
    |s| {
        let c = &s.checkpointing;
        let passed_over =
            c.dir.as_ref().filter(|_| c.storage == Some(CheckpointStorage::Memory) && c.enabled())?;
        Some(format!(
            "execution.checkpointing.storage is memory: checkpoints end with the process, and nothing is written to {}",
            passed_over.display()
        ))
    },
];

fn say(holds: bool, word: &str) -> Option<String> {
    holds.then(|| word.to_owned())
}

impl Config {
    /// What deserves a word of settings that are accepted beside one another although one has no effect then, whoever gave
    /// them.
    pub fn overruled(&self) -> Vec<String> {
        RULES.iter().filter_map(|rule| rule(self)).collect()
    }
}

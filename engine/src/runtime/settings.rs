//! From the configuration to what the parts of the runtime take.

use crate::config::{Settings, StateBackend};
use crate::graph::OwnBackend;
use crate::restart::RestartStrategy;
use crate::task::TaskSettings;
use millstream_state::Backend;
use millstream_state::checkpoint_store::{Retention, StartFrom};
use millstream_state::snapshot::WriteOptions;

/// What every subtask needs to know.
pub(super) fn task(settings: &Settings, own_backend: Option<OwnBackend>, subtasks: usize) -> TaskSettings {
    TaskSettings {
        segment_size: settings.exchange.segment_size.as_usize(),
        alignment_memory: settings.checkpointing.alignment_memory.as_usize(),
        alignment_files: settings.checkpointing.alignment_max_spill.as_usize(),
        buffer_timeout: settings.exchange.buffer_timeout,
        mode: settings.checkpointing.mode,
        backend: backend(settings),
        own_backend,
        small_state: settings.state.paged_small_state.as_usize(),
        chunk: settings.state.paged_chunk_size.as_usize(),
        keep: keep(settings, subtasks),
        largest_state: settings
            .checkpointing
            .in_memory()
            .then(|| settings.checkpointing.memory_max_state.bytes()),
        interval: settings.checkpointing.interval,
        incremental: settings.checkpointing.incremental,
        after_tasks_finish: settings.checkpointing.after_tasks_finish,
    }
}

/// A subtask's part of a quarter of the memory that pages may take.
fn keep(settings: &Settings, subtasks: usize) -> usize {
    usize::try_from(settings.state.pages_memory() / 4).unwrap_or(usize::MAX) / subtasks.max(1)
}

/// What keeps keyed state.
pub(super) fn backend(settings: &Settings) -> Backend {
    match settings.state.backend {
        StateBackend::Hashmap => Backend::Hashmap,
        StateBackend::Paged => Backend::Paged,
        StateBackend::Own(name) => Backend::Own(name),
    }
}

/// How snapshots are written.
pub(super) fn write_options(settings: &Settings) -> WriteOptions {
    WriteOptions {
        inline_threshold: settings.checkpointing.data_inline_threshold.as_usize(),
        write_buffer: settings.checkpointing.write_buffer_size.as_usize(),
    }
}

/// What happens after a failure.
pub(super) fn restart(settings: &Settings) -> RestartStrategy {
    RestartStrategy::of(&settings.restart, settings.checkpointing.interval.is_some())
}

/// What the user asks the start to go on from.
pub(super) fn start_from(settings: &Settings) -> StartFrom {
    match (&settings.recovery.path, settings.recovery.fresh) {
        (Some(path), _) => StartFrom::Path(path.clone()),
        (None, true) => StartFrom::Fresh,
        (None, false) => StartFrom::Latest,
    }
}

/// What becomes of checkpoints at the end.
pub(super) fn retention(settings: &Settings) -> Retention {
    match settings.checkpointing.retention {
        crate::config::Retention::NoExternalizedCheckpoints => Retention::NoExternalized,
        crate::config::Retention::DeleteOnCancellation => Retention::DeleteOnCancellation,
        crate::config::Retention::RetainOnCancellation => Retention::RetainOnCancellation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ByteSize;

    /// `execution.checkpointing.write-buffer-size` is 4kb unless it is set, and a small value counts as well as a large.
    #[test]
    fn the_write_buffer_is_as_large_as_configured() {
        let mut settings = Settings::default();
        assert_eq!(write_options(&settings).write_buffer, 4096);
        for bytes in [1, 512, 1 << 20] {
            settings.checkpointing.write_buffer_size = ByteSize(bytes);
            assert_eq!(write_options(&settings).write_buffer as u64, bytes);
        }
    }
}

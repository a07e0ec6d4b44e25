//! Settings drawn from a seed: what a job promises must hold under all of them.

use crate::rng::Rng;
use millstream::config::{ByteSize, RestartKind, Settings, StateBackend};
use std::time::Duration;

/// What is the same for all processes of a run, because their state depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variety {
    max_parallelism: u32,
    backend: StateBackend,
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

impl Variety {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        Self {
            max_parallelism: rng.any(&[4, 5, 7, 128]),
            backend: rng.any(&[StateBackend::Hashmap, StateBackend::Paged]),
        }
    }

    /// Settings for one process. In a `calm` one nothing may keep the job from its end.
    pub(crate) fn apply(&self, settings: &mut Settings, calm: bool, rng: &mut Rng) {
        settings.pipeline.max_parallelism = Some(self.max_parallelism);
        settings.pipeline.parallelism = rng.any(&[1, 2, 2, 3, 4]);
        settings.state.backend = self.backend;
        // Simulated states are small.
        settings.state.paged_small_state = ByteSize(rng.any(&[0, 0, 100, 1000]));
        settings.recovery.from_local = rng.one_in(3);
        settings.checkpointing.local_dir = Some("/copies".into());
        settings.checkpointing.incremental = !rng.one_in(6);
        exchange(settings, rng);
        checkpoints(settings, rng);
        settings.state.paged_chunk_size = ByteSize(rng.any(&[70, 300, 256 << 10]));
        // The first pause is the whole pause: time in simulations is short.
        settings.restart.exponential_delay.initial_backoff = ms(1);
        if !calm {
            harsh(settings, rng);
        }
    }
}

fn exchange(settings: &mut Settings, rng: &mut Rng) {
    settings.exchange.segment_size = ByteSize::kb(rng.any(&[1, 1, 2, 32]));
    settings.exchange.ring_segments = rng.any(&[2, 2, 4, 16]);
    settings.exchange.buffer_timeout = rng.any(&[Duration::from_micros(50), ms(1), ms(100)]);
}

fn checkpoints(settings: &mut Settings, rng: &mut Rng) {
    let checkpointing = &mut settings.checkpointing;
    checkpointing.interval = Some(ms(rng.any(&[10, 10, 12, 25, 1000])));
    checkpointing.min_pause = ms(rng.any(&[0, 0, 0, 3]));
    checkpointing.max_concurrent = rng.any(&[1, 1, 2, 3]);
    checkpointing.num_retained = rng.any(&[1, 1, 2, 3]);
    checkpointing.data_inline_threshold = ByteSize(rng.any(&[0, 0, 100, 20 << 10]));
    checkpointing.write_buffer_size = ByteSize(rng.any(&[1, 4 << 10]));
    checkpointing.alignment_memory = ByteSize(rng.any(&[0, 2 << 10, 64 << 10, 4 << 20]));
    checkpointing.alignment_max_spill = ByteSize(rng.any(&[0, 2 << 10, 64 << 10, 1 << 30]));
    checkpointing.unaligned = rng.one_in(2);
    if checkpointing.unaligned {
        checkpointing.max_concurrent = 1;
        checkpointing.aligned_checkpoint_timeout = rng.any(&[ms(0), ms(0), ms(1), ms(4)]);
    }
    checkpointing.after_tasks_finish = !rng.one_in(6);
    checkpointing.tolerable_failed = u32::MAX;
}

/// What may fail a checkpoint, an attempt or the job.
fn harsh(settings: &mut Settings, rng: &mut Rng) {
    let checkpointing = &mut settings.checkpointing;
    checkpointing.tolerable_failed = rng.any(&[0, 0, 1, 3]);
    checkpointing.timeout = rng.any(&[ms(10), ms(20), ms(600_000), ms(600_000), ms(600_000)]);
    let restart = &mut settings.restart;
    restart.kind = rng.any(&[
        RestartKind::Auto,
        RestartKind::Auto,
        RestartKind::None,
        RestartKind::FixedDelay,
        RestartKind::FailureRate,
        RestartKind::ExponentialDelay,
    ]);
    restart.fixed_delay.attempts = rng.any(&[0, 1, 3, 10]);
    restart.fixed_delay.delay = ms(rng.any(&[0, 1, 5]));
    restart.failure_rate.delay = ms(rng.any(&[0, 1, 5]));
    restart.failure_rate.max_failures_per_interval = rng.any(&[1, 3]);
    restart.failure_rate.interval = ms(rng.any(&[1, 20, 60_000]));
    restart.exponential_delay.attempts_before_reset = rng.any(&[None, None, Some(2)]);
}

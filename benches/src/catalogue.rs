//! All workloads there are.

use crate::draws::Spread;
use crate::engine::checkpointed::{self, Input};
use crate::input::{Keyed, Updates};
use crate::report::Better;
use crate::workload::{Run, Workload};
use crate::{engine, limits};
use std::time::Duration;

const CHAIN: u64 = 100_000_000;
const EXCHANGE: u64 = 200_000_000;
const KEYED_1K: Keyed = Keyed { keys: 1_000, timed: 100_000_000 };
const KEYED_1M: Keyed = Keyed { keys: 1_000_000, timed: 60_000_000 };
const KEYED_10M: Keyed = Keyed { keys: 10_000_000, timed: 50_000_000 };
/// Long enough for several checkpoints.
const KEYED_1M_LONG: Keyed = Keyed { keys: 1_000_000, timed: 400_000_000 };

const STATE_1K: Updates = Updates { keys: 1_000, timed: 100_000_000 };
const STATE_1M: Updates = Updates { keys: 1_000_000, timed: 20_000_000 };
const STATE_10M: Updates = Updates { keys: 10_000_000, timed: 20_000_000 };

/// 10 million keys: some seconds of updates with other work, and some without.
const WORKING: Input = Input { keys: 10_000_000, timed: 20_000_000, spread: Spread::Uniform, work: true };
const ZIPF: Input = Input { spread: Spread::Zipf, ..WORKING };
const DENSE: Input = Input { timed: 160_000_000, work: false, ..WORKING };

/// Files of text that take several seconds.
const FILES: u64 = 4;

const SECOND: Option<Duration> = Some(Duration::from_secs(1));
const HUNDREDTH: Duration = Duration::from_millis(10);
const TENTH: Option<Duration> = Some(Duration::from_millis(100));

const fn rate(name: &'static str, threads: usize, engine: Run, limit: Run) -> Workload {
    let (engine, limit) = (Some(engine), Some(limit));
    Workload { name, unit: "M/s", better: Better::Higher, threads, engine, limit, long: false }
}

const fn absolute(name: &'static str, unit: &'static str, engine: Run) -> Workload {
    Workload { name, unit, better: Better::Lower, threads: 1, engine: Some(engine), limit: None, long: false }
}

/// All of them. Where a name says `ckpt`, the limit is the engine without checkpoints.
pub const ALL: &[Workload] = &[
    rate("chain", 1, || engine::chain::run(CHAIN), || limits::chain::run(CHAIN)),
    rate("exchange", 2, || engine::exchange::run(EXCHANGE), || limits::exchange::run(EXCHANGE)),
    rate("keyed-sum/1k", 2, || engine::keyed_sum::run(KEYED_1K, None), || limits::keyed_sum::run(KEYED_1K)),
    rate("keyed-sum/1m", 2, || engine::keyed_sum::run(KEYED_1M, None), || limits::keyed_sum::run(KEYED_1M)),
    rate(
        "keyed-sum/10m",
        2,
        || engine::keyed_sum::run(KEYED_10M, None),
        || limits::keyed_sum::run(KEYED_10M),
    ),
    rate(
        "keyed-sum/1m/ckpt-1s",
        2,
        || engine::keyed_sum::run(KEYED_1M_LONG, SECOND),
        || engine::keyed_sum::run(KEYED_1M_LONG, None),
    ),
    rate(
        "keyed-sum/1m/ckpt-100ms",
        2,
        || engine::keyed_sum::run(KEYED_1M_LONG, TENTH),
        || engine::keyed_sum::run(KEYED_1M_LONG, None),
    ),
    rate(
        "keyed-sum-paged/1k",
        2,
        || engine::keyed_sum::paged(KEYED_1K, None),
        || limits::keyed_sum::run(KEYED_1K),
    ),
    rate(
        "keyed-sum-paged/1m",
        2,
        || engine::keyed_sum::paged(KEYED_1M, None),
        || limits::keyed_sum::run(KEYED_1M),
    ),
    rate(
        "keyed-sum-paged/10m",
        2,
        || engine::keyed_sum::paged(KEYED_10M, None),
        || limits::keyed_sum::run(KEYED_10M),
    ),
    rate(
        "keyed-sum-paged/1m/ckpt-1s",
        2,
        || engine::keyed_sum::paged(KEYED_1M_LONG, SECOND),
        || engine::keyed_sum::paged(KEYED_1M_LONG, None),
    ),
    rate(
        "keyed-sum-paged/1m/ckpt-100ms",
        2,
        || engine::keyed_sum::paged(KEYED_1M_LONG, TENTH),
        || engine::keyed_sum::paged(KEYED_1M_LONG, None),
    ),
    rate("wordcount", 2, || engine::wordcount::run(1, None), limits::wordcount::run),
    rate(
        "wordcount/ckpt-1s",
        2,
        || engine::wordcount::run(FILES, SECOND),
        || engine::wordcount::run(FILES, None),
    ),
    Workload {
        name: "latency",
        unit: "us",
        better: Better::Lower,
        threads: 2,
        engine: Some(engine::latency::run),
        limit: Some(limits::latency::run),
        long: false,
    },
    rate("state/u64/1k", 1, || engine::state::words(STATE_1K), || limits::state::words(STATE_1K)),
    rate("state/u64/1m", 1, || engine::state::words(STATE_1M), || limits::state::words(STATE_1M)),
    rate("state/u64/10m", 1, || engine::state::words(STATE_10M), || limits::state::words(STATE_10M)),
    rate("state/v100/1m", 1, || engine::state::wide(STATE_1M), || limits::state::wide(STATE_1M)),
    rate("state/v100/10m", 1, || engine::state::wide(STATE_10M), || limits::state::wide(STATE_10M)),
    rate("state/string/1m", 1, || engine::state::text(STATE_1M), || limits::state::text(STATE_1M)),
    rate(
        "state/checkpoint-1s/zipf-10m",
        2,
        || checkpointed::with(ZIPF, Duration::from_secs(1)),
        || checkpointed::without(ZIPF),
    ),
    rate(
        "state/checkpoint-1s/uniform-10m",
        2,
        || checkpointed::with(DENSE, Duration::from_secs(1)),
        || checkpointed::without(DENSE),
    ),
    rate(
        "state/checkpoint-10ms/uniform-10m",
        2,
        || checkpointed::with(WORKING, HUNDREDTH),
        || checkpointed::without(WORKING),
    ),
    Workload {
        better: Better::Higher,
        threads: 2,
        ..absolute("state/checkpoint-10ms/uniform-10m/kept", "share", || {
            checkpointed::kept(WORKING, HUNDREDTH)
        })
    },
    absolute("state/freeze/10m-bytes", "us", || engine::freeze::run(10 << 20)),
    absolute("state/freeze/2g-bytes", "us", || engine::freeze::run(2 << 30)),
    Workload {
        unit: "MB",
        better: Better::Lower,
        ..rate("state/bytes-per-change", 1, engine::changes::run, limits::changes::run)
    },
    Workload { unit: "MB/s", ..rate("state/restore/1g", 1, engine::restore::run, engine::restore::read) },
    Workload {
        unit: "MB",
        better: Better::Lower,
        long: true,
        ..rate("state/storage-after-1000", 1, engine::storage::run, engine::storage::image)
    },
    absolute("state/insert/20m", "us", engine::insert::run),
    Workload { unit: "MB/s", ..rate("spill/replay", 1, engine::spill::run, limits::spill::run) },
    Workload {
        unit: "ms",
        better: Better::Lower,
        ..rate("unaligned/duration", 3, || engine::overtaking::run(true), || engine::overtaking::run(false))
    },
    absolute("startup/first-record", "ms", engine::startup::first_record),
    absolute("startup/rss", "MB", engine::startup::rss),
    absolute("sim/small", "us", engine::simulated::run),
];

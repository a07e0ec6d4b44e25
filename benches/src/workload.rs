//! The workloads: what is run, by which two sides, in which unit.

use crate::input::{Keyed, Updates};
use crate::report::Better;
use crate::{engine, limits};
use std::time::Duration;

/// One side of a workload, from nothing to the figure.
pub type Run = fn() -> Result<Outcome, String>;

/// What one side reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// In the workload's unit.
    pub figure: f64,
    /// What was computed; must be the same on both sides.
    pub result: Vec<(&'static str, u64)>,
}

impl Outcome {
    /// A rate, in millions of records per second.
    pub fn rate(records: u64, seconds: f64, result: Vec<(&'static str, u64)>) -> Self {
        Self { figure: records as f64 / seconds / 1e6, result }
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// As given on the command line.
    pub name: &'static str,
    /// Unit of the figures.
    pub unit: &'static str,
    /// Which direction is good.
    pub better: Better,
    /// Threads that exchange records.
    pub threads: usize,
    /// The engine, through its public interface, in its default configuration.
    pub engine: Option<Run>,
    /// The hand-written side, or another run of the engine; none for absolute rows.
    pub limit: Option<Run>,
}

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

/// Files of text that take several seconds.
const FILES: u64 = 4;

const SECOND: Option<Duration> = Some(Duration::from_secs(1));
const TENTH: Option<Duration> = Some(Duration::from_millis(100));

const fn rate(name: &'static str, threads: usize, engine: Run, limit: Run) -> Workload {
    Workload { name, unit: "M/s", better: Better::Higher, threads, engine: Some(engine), limit: Some(limit) }
}

const fn absolute(name: &'static str, unit: &'static str, engine: Run) -> Workload {
    Workload { name, unit, better: Better::Lower, threads: 1, engine: Some(engine), limit: None }
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
    },
    rate("state/u64/1k", 1, || engine::state::words(STATE_1K), || limits::state::words(STATE_1K)),
    rate("state/u64/1m", 1, || engine::state::words(STATE_1M), || limits::state::words(STATE_1M)),
    rate("state/u64/10m", 1, || engine::state::words(STATE_10M), || limits::state::words(STATE_10M)),
    rate("state/v100/1m", 1, || engine::state::wide(STATE_1M), || limits::state::wide(STATE_1M)),
    rate("state/v100/10m", 1, || engine::state::wide(STATE_10M), || limits::state::wide(STATE_10M)),
    rate("state/string/1m", 1, || engine::state::text(STATE_1M), || limits::state::text(STATE_1M)),
    absolute("startup/first-record", "ms", engine::startup::first_record),
    absolute("startup/rss", "MB", engine::startup::rss),
    absolute("sim/small", "us", engine::simulated::run),
];

/// The workloads that `names` mean: each name one workload or the group before a slash; all of them where there is no
/// name.
///
/// # Errors
/// A name that means none.
pub fn select(names: &[String]) -> Result<Vec<&'static Workload>, String> {
    let means = |name: &str, of: &Workload| {
        of.name == name || of.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'))
    };
    if let Some(unknown) = names.iter().find(|name| !ALL.iter().any(|of| means(name, of))) {
        let known: Vec<_> = ALL.iter().map(|of| of.name).collect();
        return Err(format!("no workload is named {unknown:?}; there are {}", known.join(", ")));
    }
    Ok(ALL.iter().filter(|of| names.is_empty() || names.iter().any(|name| means(name, of))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<&'static str> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        select(&names).unwrap().iter().map(|of| of.name).collect()
    }

    #[test]
    fn a_name_means_a_workload_or_a_group() {
        assert_eq!(names(&["chain"]), ["chain"]);
        assert!(names(&["keyed-sum"]).starts_with(&["keyed-sum/1k", "keyed-sum/1m", "keyed-sum/10m"]));
        assert_eq!(names(&[]).len(), ALL.len());
        assert!(select(&["chai".into()]).unwrap_err().contains("chain, exchange"));
    }
}

//! Counts by key in a store, made durable each second: read, add one, write.

use crate::rounds::{self, Contestant, Rate};
use crate::{fjall, redb};
use millstream_benches::draws::{Spread, uniform};
use millstream_benches::engine::checkpointed::{self, Input};
use std::fmt::Display;
use std::path::Path;
use std::time::{Duration, Instant};

/// Distinct keys.
const KEYS: u64 = 1_000_000;

/// Between two durable snapshots.
const INTERVAL: Duration = Duration::from_secs(1);

/// Snapshots of a run.
const SNAPSHOTS: u32 = 5;

/// Updates between two looks at the clock.
const STEP: usize = 64;

/// A store of counts.
pub trait Store: Sized {
    /// An empty one in a directory.
    fn open(dir: &Path) -> Result<Self, String>;

    /// Adds one for each key that `next` gives, until it gives none; then makes that durable.
    fn count(&mut self, next: impl FnMut() -> Option<u64>) -> Result<(), String>;

    /// The count of a key.
    fn get(&self, key: u64) -> Result<u64, String>;
}

/// Millions of updates in a second: every key once, which is not timed, then uniform keys.
pub fn run<S: Store>() -> Rate {
    let dir = tempfile::tempdir().map_err(text)?;
    let mut store = S::open(dir.path())?;
    let mut all = 0..KEYS;
    store.count(|| all.next())?;
    let mut counts = vec![1_u64; KEYS as usize];
    let (mut updates, begun) = (0, Instant::now());
    for nth in 1..=SNAPSHOTS {
        let end = begun + nth * INTERVAL;
        let mut drawn = uniform(updates, KEYS, usize::MAX >> 1);
        let (mut many, mut over) = (0, false);
        store.count(|| {
            if many % STEP == 0 {
                over = Instant::now() >= end;
            }
            let key = drawn.next().filter(|_| !over)?;
            many += 1;
            counts[key as usize] += 1;
            Some(key.into())
        })?;
        updates += many as u64;
    }
    let taken = begun.elapsed();
    for (key, count) in (0..).zip(counts) {
        let found = store.get(key)?;
        if found != count {
            return Err(format!("{key} was counted {count} times, and {found} are there"));
        }
    }
    Ok(updates as f64 / taken.as_secs_f64() / 1e6)
}

/// The same of state in pages, with a snapshot each second.
fn millstream() -> Rate {
    let input = Input { keys: KEYS, timed: 200_000_000, spread: Spread::Uniform, work: false };
    checkpointed::with(input, INTERVAL).map(|outcome| outcome.figure)
}

/// Millstream and each store.
///
/// # Errors
/// Those of the stores.
pub fn compare(rounds: usize) -> Result<(), String> {
    let contestants: &[Contestant<'_>] = &[
        ("millstream", Box::new(millstream)),
        ("redb", Box::new(run::<redb::Counts>)),
        ("fjall", Box::new(run::<fjall::Counts>)),
        #[cfg(feature = "rocksdb")]
        ("rocksdb", Box::new(run::<crate::rocksdb::Counts>)),
    ];
    rounds::compare("counts, 1m keys", rounds, contestants)
}

/// An error as it is reported.
pub fn text(error: impl Display) -> String {
    error.to_string()
}

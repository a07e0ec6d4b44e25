//! `state` on the engine's backend for state on pages: batches of updates, without the rest of the engine.

use crate::input::{TEXT, Updates, mix, texts};
use crate::workload::Outcome;
use millstream_io::executor::RayonExecutor;
use millstream_io::record::{Key, Record};
use millstream_io::scratch::{Budget, DiskScratch, Supply, machine_memory};
use millstream_state::keyed::Entry;
use millstream_state::keyed::batch::{Rows, for_batch};
use millstream_state::{KeyedBackend, PagedState, Parallelism};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A value that an update changes all of.
pub type Wide = [u8; 100];

/// Adds one to each byte.
#[inline(always)]
pub fn count(value: &mut Wide) {
    for byte in value {
        *byte = byte.wrapping_add(1);
    }
}

/// A wide value before the first update.
pub const WIDE: Wide = [0; 100];

/// The rows of a batch: keys, and what is done with each value.
pub struct Batch<'a, F>(pub &'a [u64], pub F);

impl<'a, V: Record, F: FnMut(&mut V)> Rows<'a, u64, V> for Batch<'a, F> {
    fn known(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn hash(&mut self, row: usize) -> u64 {
        u64::hash(self.0[row])
    }

    #[inline(always)]
    fn key(&mut self, row: usize) -> u64 {
        self.0[row]
    }

    #[inline(always)]
    fn apply(&mut self, _: usize, _: u64, mut entry: Entry<'_, V>) {
        (self.1)(&mut entry);
    }
}

/// The same, of keys as texts.
struct Texts<'a, F>(&'a str, F);

impl<'a, V: Record, F: FnMut(&mut V)> Rows<'a, String, V> for Texts<'a, F> {
    fn known(&self) -> usize {
        self.0.len() / TEXT
    }

    #[inline(always)]
    fn hash(&mut self, row: usize) -> u64 {
        String::hash(&self.0[row * TEXT..][..TEXT])
    }

    #[inline(always)]
    fn key(&mut self, row: usize) -> &'a str {
        &self.0[row * TEXT..][..TEXT]
    }

    #[inline(always)]
    fn apply(&mut self, _: usize, _: &'a str, mut entry: Entry<'_, V>) {
        (self.1)(&mut entry);
    }
}

/// A state in pages, for all key groups.
///
/// # Errors
/// No memory.
pub fn empty<K: Key, V: Record + Default>() -> Result<PagedState<K, V>, String> {
    let whole = Parallelism::new(1, None).map_err(|error| error.to_string())?;
    PagedState::new_in(whole.range_of(0), whole.max(), supply()?).map_err(|error| error.to_string())
}

/// Memory as jobs have it by default: up to half of the machine's, prepared ahead in the background.
fn supply() -> Result<Supply, String> {
    static SUPPLY: OnceLock<Result<Supply, String>> = OnceLock::new();
    let make = || {
        let budget = Budget::new(machine_memory() / 2);
        let scratch = Arc::new(DiskScratch::new(std::env::temp_dir(), budget));
        let executor = RayonExecutor::new(1).map_err(|error| error.to_string())?;
        Ok(Supply::new(scratch, Arc::new(executor)))
    };
    SUPPLY.get_or_init(make).clone()
}

/// Feeds batches, as `make` gives them, to `update`; says what the timed updates took.
pub fn timed<B>(input: Updates, make: impl Fn(Vec<u64>) -> B, mut update: impl FnMut(&B)) -> Duration {
    let mut taken = Duration::ZERO;
    for (timed, keys) in input.batches() {
        let batch = make(keys);
        let begun = Instant::now();
        update(&batch);
        if timed {
            taken += begun.elapsed();
        }
    }
    taken
}

/// `u64 -> u64`.
///
/// # Errors
/// No memory.
pub fn words(input: Updates) -> Result<Outcome, String> {
    let mut state = empty::<u64, u64>()?;
    let taken = timed(
        input,
        |keys| keys,
        |keys| {
            for_batch(&mut state, 0..keys.len(), &mut Batch(keys, |value: &mut u64| *value += 1));
        },
    );
    let (sum, mixed) = mixed(&mut state);
    Ok(outcome(input, taken, sum, mixed))
}

/// The sum of all values, and one in which it counts of which key each is.
pub fn mixed(state: &mut impl KeyedBackend<u64, u64>) -> (u64, u64) {
    let (mut sum, mut mixed) = (0, 0u64);
    state.for_each(|key, value| {
        sum += *value;
        mixed = mixed.wrapping_add(mix(key).wrapping_mul(*value));
    });
    (sum, mixed)
}

/// What was measured, and what the state then held.
pub fn outcome(input: Updates, taken: Duration, sum: u64, mixed: u64) -> Outcome {
    Outcome::rate(input.timed, taken.as_secs_f64(), vec![("sum", sum), ("per key", mixed)])
}

/// What is in a wide value, as a number.
pub fn counted(value: &Wide) -> u64 {
    value.iter().map(|byte| u64::from(*byte)).sum()
}

/// `u64 ->` 100 bytes.
///
/// # Errors
/// No memory.
pub fn wide(input: Updates) -> Result<Outcome, String> {
    let mut state = empty::<u64, Hundred>()?;
    let taken = timed(
        input,
        |keys| keys,
        |keys| {
            for_batch(&mut state, 0..keys.len(), &mut Batch(keys, |value: &mut Hundred| count(&mut value.0)));
        },
    );
    let (mut sum, mut mixed) = (0, 0u64);
    state.for_each(|key, value| {
        sum += counted(&value.0);
        mixed = mixed.wrapping_add(mix(key).wrapping_mul(counted(&value.0)));
    });
    Ok(outcome(input, taken, sum, mixed))
}

/// A wide value as a record that has a default.
#[derive(Clone, Debug, millstream_io::Record)]
#[record(crate = "millstream_io::record")]
pub struct Hundred(pub Wide);

impl Default for Hundred {
    fn default() -> Self {
        Self(WIDE)
    }
}

/// 20-byte texts `->` 100 bytes.
///
/// # Errors
/// No memory.
pub fn text(input: Updates) -> Result<Outcome, String> {
    let mut state = empty::<String, Hundred>()?;
    let taken = timed(
        input,
        |keys| texts(&keys),
        |texts| {
            for_batch(
                &mut state,
                0..texts.len() / TEXT,
                &mut Texts(texts, |value: &mut Hundred| count(&mut value.0)),
            );
        },
    );
    let mut sum = 0;
    state.for_each(|_, value| sum += counted(&value.0));
    Ok(outcome(input, taken, sum, 0))
}

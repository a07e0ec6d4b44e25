//! `state/insert/20m`: the slowest insertions into a state that grows.

use super::state::empty;
use crate::input::mix;
use crate::pin;
use crate::times;
use crate::workload::Outcome;
use millstream_io::record::Key;
use millstream_state::KeyedBackend;
use std::time::{Duration, Instant};

/// Insertions: the slowest two hundred of them are above the figure.
const INSERTIONS: u64 = 20_000_000;

/// The 99.999th percentile of one insertion of `u64 -> u64` in microseconds, the clock included.
///
/// # Errors
/// No memory.
pub fn run() -> Result<Outcome, String> {
    pin::on(&pin::cores(), 0, insert).join().map_err(|_| "the owner of the state panicked")?
}

fn insert() -> Result<Outcome, String> {
    let mut state = empty::<u64, u64>()?;
    // All of it touched before the timing.
    let mut taken = vec![Duration::MAX; INSERTIONS as usize];
    let mut before = Instant::now();
    for (i, taken) in (0..).zip(&mut taken) {
        let key = mix(i);
        state.with(u64::hash(key), key, |mut value| *value = i);
        let now = Instant::now();
        *taken = now - before;
        before = now;
    }
    let keys = state.len() as u64;
    if keys != INSERTIONS {
        return Err(format!("{keys} keys after {INSERTIONS} insertions"));
    }
    Ok(Outcome { figure: times::percentile(&mut taken, 0.99999), result: vec![("keys", keys)] })
}

//! `keyed-sum` on the engine, with either backend, with and without checkpoints.

use super::fold::Fold;
use crate::input::{Keyed, THREADS, Timed, mix};
use crate::workload::Outcome;
use millstream::Env;
use millstream::config::StateBackend;
use millstream::connector::Generator;
use std::sync::Arc;
use std::time::Duration;

/// Sums values per key in tables (ruling 18); exactly-once checkpoints to files every `checkpoints`, if any.
///
/// # Errors
/// The job's, or too few checkpoints to speak of.
pub fn run(input: Keyed, checkpoints: Option<Duration>) -> Result<Outcome, String> {
    sum(input, StateBackend::Hashmap, checkpoints)
}

/// The same in pages.
///
/// # Errors
/// The job's, or too few checkpoints to speak of.
pub fn paged(input: Keyed, checkpoints: Option<Duration>) -> Result<Outcome, String> {
    sum(input, StateBackend::Paged, checkpoints)
}

fn sum(input: Keyed, backend: StateBackend, checkpoints: Option<Duration>) -> Result<Outcome, String> {
    let env = Env::new();
    env.configure(|settings| settings.state.backend = backend);
    let directory = super::checkpoint_directory(&env, checkpoints)?;
    let timed = Arc::new(Timed::default());
    let total = Fold::<(u64, u64), _>::new(|sums, (key, sum)| {
        sums[0] += 1;
        sums[1] = sums[1].wrapping_add(sum);
        sums[2] = sums[2].wrapping_add(mix(key).wrapping_mul(sum));
    });
    let (starts, ends) = (Arc::clone(&timed), Arc::clone(&timed));
    let make = move |i| {
        if input.begins(i) {
            starts.begin();
        }
        input.record(i)
    };
    let mut ended = false;
    env.source(Generator::new(input.records(), make))
        .parallelism(THREADS as i64)
        .key_by::<u64>(|record| record.0)
        .process::<u64, (u64, u64)>("sum", |_, record, sum, _| *sum = sum.wrapping_add(record.1))
        .on_end(move |key, sum, out| {
            if !ended {
                ended = true;
                ends.end();
            }
            out.emit((key, *sum));
        })
        .parallelism(THREADS as i64)
        .sink(total.clone());
    let summary = env.execute("keyed-sum").map_err(|error| error.to_string())?;
    let seconds = timed.seconds()?;
    super::enough(checkpoints, seconds, &summary)?;
    drop(directory);
    let [keys, sum, mixed] = total.sums();
    Ok(Outcome::rate(input.timed, seconds, vec![("keys", keys), ("sum", sum), ("per key", mixed)]))
}

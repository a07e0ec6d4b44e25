//! `wordcount` on the engine, with and without checkpoints.

use super::fold::Fold;
use crate::input::THREADS;
use crate::text::{self, Counted};
use crate::workload::Outcome;
use millstream::Env;
use millstream::connector::FileSource;
use std::time::{Duration, Instant};

/// Counts the words of `files` files; exactly-once checkpoints to files every `checkpoints`, if any.
///
/// # Errors
/// The job's, or too few checkpoints to speak of.
pub fn run(files: u64, checkpoints: Option<Duration>) -> Result<Outcome, String> {
    let paths = text::paths(files)?;
    let begin = Instant::now();
    let env = Env::new();
    let directory = super::checkpoint_directory(&env, checkpoints)?;
    let total = Fold::<(Vec<u8>, u64), _>::new(|sums, (word, count)| {
        let [words, distinct, mixed] = sums;
        Counted::add_to(words, distinct, mixed, word, count);
    });
    env.source(FileSource::lines(paths))
        .parallelism(THREADS as i64)
        .flat_map::<Vec<u8>>(|line, out| {
            line.split(u8::is_ascii_whitespace)
                .filter(|word| !word.is_empty())
                .for_each(|word| out.emit(word));
        })
        .key_by::<Vec<u8>>(|word| word.get())
        .process::<u64, (Vec<u8>, u64)>("count", |_, _, count, _| *count += 1)
        .on_end(|word, count, out| out.emit((word, *count)))
        .parallelism(THREADS as i64)
        .sink(total.clone());
    let summary = env.execute("wordcount").map_err(|error| error.to_string())?;
    let seconds = begin.elapsed().as_secs_f64();
    super::enough(checkpoints, seconds, &summary)?;
    drop(directory);
    let [words, distinct, mixed] = total.sums();
    Ok(Outcome::rate(words, seconds, Counted { words, distinct, mixed }.result()))
}

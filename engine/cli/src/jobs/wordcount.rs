//! `wordcount`: how often each word occurs.

use super::csv::row;
use super::options::Common;
use super::words::words;
use crate::job_args::{BuildError, JobArgs};
use millstream::Env;

pub(super) fn build(env: &Env, args: &mut JobArgs) -> Result<(), BuildError> {
    let common: Common = args.options()?;
    common.validate(&env.config())?;
    let mut out_row = Vec::new();
    let counts = common
        .lines(env)
        .flat_map::<Vec<u8>>(|line, out| words(line).for_each(|word| out.emit(word)))
        .uid("words")
        .key_by::<Vec<u8>>(|word| word.get())
        .process::<u64, Vec<u8>>("wordcount", |_, _, count, _| *count += 1)
        .on_end(move |word, count, out| {
            row(&mut out_row, word, [*count]);
            out.emit(&out_row);
        })
        .uid("wordcount");
    common.write(counts, ".csv", args);
    Ok(())
}

//! `count`: how many records each key has.

use super::csv::{key, row};
use super::options::Common;
use crate::job_args::{BuildError, JobArgs};
use millstream::Env;

pub(super) fn build(env: &Env, args: &mut JobArgs) -> Result<(), BuildError> {
    let common: Common = args.options()?;
    common.validate(&env.config())?;
    let (mut scratch, mut out_row) = (Vec::new(), Vec::new());
    let counts = common
        .csv(env, false)
        .flat_map::<Vec<u8>>(move |record, out| out.emit(key(record.line, &mut scratch)))
        .uid("parse")
        .key_by::<Vec<u8>>(|key| key.get())
        .process::<u64, Vec<u8>>("count", |_, _, count, _| *count += 1)
        .on_end(move |key, count, out| {
            row(&mut out_row, key, [*count]);
            out.emit(&out_row);
        })
        .uid("count");
    common.write(counts, ".csv", args);
    Ok(())
}

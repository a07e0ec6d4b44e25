//! `dedup`: the first record of each key, its own bytes as they stood.

use super::csv::key;
use super::options::Common;
use crate::job_args::{BuildError, JobArgs};
use millstream::Env;

pub(super) fn build(env: &Env, args: &mut JobArgs) -> Result<(), BuildError> {
    let common: Common = args.options()?;
    common.validate(&env.config())?;
    let mut scratch = Vec::new();
    let first = common
        .csv(env, false)
        .flat_map::<(Vec<u8>, Vec<u8>)>(move |record, out| {
            out.emit((key(record.line, &mut scratch), record.line))
        })
        .uid("parse")
        .key_by::<Vec<u8>>(|record| record.0)
        .process::<bool, Vec<u8>>("dedup", |_, (_, line), seen, out| {
            if !*seen {
                *seen = true;
                out.emit(line);
            }
        })
        .uid("dedup");
    common.write(first, ".csv", args);
    Ok(())
}

//! `dedup`: the first record of each key, its own bytes as they stood.

use super::csv::key;
use super::options::Common;
use crate::failure::Failure;
use crate::job_args::{BuildError, JobArgs};
use clap::Args;
use millstream::Env;

/// Options of the job.
#[derive(Args, Clone, Debug)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// How long a key is remembered. Not there yet, and so not in the help.
    #[arg(long, hide = true)]
    ttl: Option<String>,
}

pub(super) fn build(env: &Env, args: &mut JobArgs) -> Result<(), BuildError> {
    let Options { common, ttl } = args.options()?;
    if let Some(ttl) = ttl {
        let cause = "state that expires (TTL) is not supported yet";
        let refused = Failure::refused("command line", format!("--ttl {ttl}"), cause);
        return Err(refused.hint("leave it out: keys are then remembered for good").into());
    }
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

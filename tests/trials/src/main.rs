//! Jobs of the field cases that no bundled job is like: slow sinks and slow commits, a slow branch, a shuffle between
//! two parallelisms, an outside system that forgets.

#![expect(clippy::disallowed_methods, reason = "a trial slows itself down, and plays a system outside")]

mod jobs;
mod outside;
mod slow;

use millstream::Env;
use millstream_cli::clap::{self, ValueEnum};
use millstream_cli::{BuildError, JobArgs};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Clone, Copy, ValueEnum)]
enum Trial {
    /// Lines as they are.
    Copy,
    /// Lines of two inputs, the first of which is slow, through a union.
    Union,
    /// Lines `number,checksum,payload` through a shuffle: `number,length of the payload,checksum` as it is found.
    Shuffle,
    /// Lines `key,…`: `key,count so far`.
    Running,
    /// Lines as they are, into an outside system with transactions.
    Outside,
}

#[derive(clap::Args)]
struct Options {
    /// Which job.
    #[arg(long)]
    trial: Trial,
    /// File or directory to read.
    #[arg(long = "input", required = true)]
    inputs: Vec<PathBuf>,
    /// Directory of the output.
    #[arg(long)]
    output: PathBuf,
    /// Keep reading.
    #[arg(long)]
    follow: bool,
    /// Subtasks of the source.
    #[arg(long)]
    sources: Option<i64>,
    /// Pause of the slow branch for every record.
    #[arg(long, default_value = "0ms", value_parser = millstream::config::parse_duration)]
    branch_delay: std::time::Duration,
    /// How the sink is slow.
    #[command(flatten)]
    slow: slow::Pauses,
    /// Bytes of a file of the output.
    #[arg(long, default_value_t = 4096)]
    roll: u64,
    /// Go on although output is gone, and say how much.
    #[arg(long)]
    forgive: bool,
}

fn build(env: &Env, args: &mut JobArgs) -> Result<(), BuildError> {
    let options: Options = args.options()?;
    match options.trial {
        Trial::Copy => jobs::copy(env, &options),
        Trial::Union => jobs::union(env, &options),
        Trial::Shuffle => jobs::shuffle(env, &options),
        Trial::Running => jobs::running(env, &options),
        Trial::Outside => jobs::outside(env, &options),
    }
    Ok(())
}

fn main() -> ExitCode {
    millstream_cli::main(build)
}

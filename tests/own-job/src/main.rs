//! A job of a user: how many lines there are of each length.

use millstream::Env;
use millstream::connector::{FileSink, FileSource};
use millstream_cli::{BuildError, JobArgs, clap};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
struct Options {
    /// File or directory to read.
    #[arg(long)]
    input: PathBuf,
    /// Directory of the output.
    #[arg(long)]
    output: PathBuf,
    /// Shorter lines are left out.
    #[arg(long, default_value_t = 0)]
    least: u64,
    /// Panics at a line of this length.
    #[arg(long)]
    panic_at: Option<u64>,
    /// Keep reading.
    #[arg(long)]
    follow: bool,
}

fn build(env: &Env, args: &mut JobArgs) -> Result<(), BuildError> {
    let Options { input, output, least, panic_at, follow } = args.options()?;
    env.source(FileSource::lines([input]).follow(follow))
        .uid("source")
        .map(move |line| {
            let length = line.len() as u64;
            assert_ne!(Some(length), panic_at, "a line of {length} bytes");
            length
        })
        .filter(move |length| length >= least)
        .key_by::<u64>(|length| length.get())
        .process::<u64, (u64, u64)>("lines", |cx, _, lines, out| {
            *lines += 1;
            out.emit((cx.key(), *lines));
        })
        .uid("lines")
        .sink(FileSink::<(u64, u64), _>::csv(output))
        .uid("sink");
    args.at_end(|summary| format!("{} lines were long enough", summary.records_out));
    Ok(())
}

fn main() -> ExitCode {
    millstream_cli::main(build)
}

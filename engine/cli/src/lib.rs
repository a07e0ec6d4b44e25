//! The `millstream` command line, its bundled jobs, and a `main` for job executables of one's own.
//!
//! This crate is the shell around the engine: it reads options and files, owns signals, sockets and the terminal, and
//! uses the engine's public interface alone.

#![expect(clippy::disallowed_methods, reason = "the command is the shell that talks to the operating system")]
#![deny(clippy::print_stdout, clippy::print_stderr, reason = "they panic where nobody reads")]

mod app;
mod args;
mod conclude;
mod config_file;
mod control;
mod failure;
mod hash;
mod home;
mod job_args;
mod jobs;
mod launch;
mod log;
mod progress;
#[cfg(feature = "prometheus")]
mod prometheus;
mod resolve;
mod run;
mod say;
mod shown;
mod signals;
mod split;
mod steer;
mod summary;
mod supervise;
mod table;
mod verbs;

pub use clap;
pub use failure::Failure;
pub use job_args::{BuildError, JobArgs};
pub use summary::Summary;

use app::Program;
use millstream::Env;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// The whole `main` of a job executable: reads the process's arguments, has `build` describe the job, runs it or does
/// what another verb asks, and gives the exit code.
///
/// Nothing should follow it. The end of a job that has finished is on record once its process has said so, and a process
/// that is killed between the record and its exit makes whoever starts it again start a new run; so the process leaves
/// right behind the record, with code 0, and `main` does not go on.
///
/// ```no_run
/// use millstream::Env;
/// use millstream::connector::Collection;
/// use millstream_cli::{BuildError, JobArgs};
/// use std::process::ExitCode;
///
/// fn build(env: &Env, args: &mut JobArgs) -> Result<(), BuildError> {
///     # let _ = (env, args);
///     // env.source(..) … .sink(..)
///     Ok(())
/// }
///
/// fn main() -> ExitCode {
///     millstream_cli::main(build)
/// }
/// ```
pub fn main(build: impl Fn(&Env, &mut JobArgs) -> Result<(), BuildError>) -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let program = args.first().map(Path::new).and_then(Path::file_name);
    let name = program.map_or_else(|| "job".to_owned(), |name| name.to_string_lossy().into_owned());
    Program::Own { name, build: &build }.run(&args)
}

/// The `main` of the `millstream` command itself, with the bundled jobs.
pub fn millstream() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    Program::Millstream.run(&args)
}

//! Other processes: a job executable in the place of this one, and a run that goes on in the background.

use crate::failure::{FAILED, Failure};
use crate::verbs;
use rustix::fs::{Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// Tells a process that it is the one in the background.
const DETACHED: &str = "MILLSTREAM_DETACHED";

/// Whether this is the process in the background.
pub fn is_detached() -> bool {
    std::env::var_os(DETACHED).is_some()
}

/// Puts a job executable in the place of this process, with the same options. Only returns when that fails.
pub fn become_job(program: &Path, run: &[OsString], rest: &[OsString]) -> Failure {
    // A bare name would be looked up in PATH.
    let path =
        if program.components().count() == 1 { Path::new(".").join(program) } else { program.to_owned() };
    let mut command = Command::new(path);
    command.arg("run").args(run);
    if !rest.is_empty() {
        command.arg("--").args(rest);
    }
    let error = command.exec();
    Failure::refused("start job executable", program.display().to_string(), error)
        .hint("a job is the name of a bundled one (millstream jobs), or the path of a job executable")
}

/// Runs this very command in the background and waits until its job runs, or does not: its first line on stdout is
/// the job id, its errors come to our stderr, its exit code becomes ours.
pub fn detach(args: &[OsString]) -> Result<ExitCode, Failure> {
    let failed = |error: std::io::Error| Failure::failed("start in the background", "process", error);
    let program = std::env::current_exe().map_err(failed)?;
    let mut child = Command::new(program)
        .args(args)
        .env(DETACHED, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut id = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut id).map_err(failed)?;
    }
    if id.ends_with('\n') {
        verbs::print(&id)?;
        return Ok(ExitCode::SUCCESS);
    }
    let status = child.wait().map_err(failed)?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED);
    Ok(ExitCode::from(code))
}

/// In the background process, before anything else: a session of its own, so that it outlives the terminal.
pub fn leave_terminal() {
    // Fails only for a leader of a process group, which then has left already.
    let _ = rustix::process::setsid();
}

/// In the background process, once the job runs: says so, then lets go of the caller's stdout and stderr. What is
/// written to stderr from now on goes to `log`.
///
/// # Errors
/// The log cannot be opened.
pub fn report_running(job_id: &str, log: &Path) -> Result<(), Failure> {
    let failed = |error: rustix::io::Errno| {
        Failure::failed("open log", log.display().to_string(), std::io::Error::from(error))
    };
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC;
    let log_file = rustix::fs::open(log, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?;
    let null =
        rustix::fs::open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
    verbs::print(&format!("{job_id}\n"))?;
    rustix::stdio::dup2_stdout(&null).map_err(failed)?;
    rustix::stdio::dup2_stderr(&log_file).map_err(failed)
}

/// Whether a word on the command line is meant as the path of a program.
pub fn is_path(job: &OsStr) -> bool {
    job.as_encoded_bytes().contains(&b'/') || Path::new(job).is_file()
}

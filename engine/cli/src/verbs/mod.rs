//! The verbs that look at running jobs and steer them. stdout carries what was asked for, and nothing else.

mod checkpoints;
mod metrics;

pub use checkpoints::checkpoints;
pub use metrics::metrics;

use crate::control::protocol::{Reply, Request};
use crate::control::{Running, ask, find, running};
use crate::failure::Failure;
use crate::home::Home;
use crate::table::{duration, table};
use serde::Serialize;
use std::io::{self, Write};

/// `list`: the running jobs.
///
/// # Errors
/// They cannot be found out.
pub fn list(home: &Home, json: bool, now_ms: u64) -> Result<(), Failure> {
    let jobs = running(home)?;
    if json {
        return print_json(&jobs.into_iter().map(|job| job.status).collect::<Vec<_>>());
    }
    let row = |job: &Running| {
        let status = &job.status;
        let last = status.last_checkpoint.as_ref();
        vec![
            status.job_id.clone(),
            status.name.clone(),
            status.state.clone(),
            duration(now_ms.saturating_sub(status.start_ms)),
            last.map_or_else(|| "-".to_owned(), |last| last.path.clone()),
        ]
    };
    let head = ["JOB ID", "NAME", "STATE", "UPTIME", "LAST CHECKPOINT"];
    print(&table(&head, &jobs.iter().map(row).collect::<Vec<_>>()))
}

/// `checkpoint`: takes one now and prints its path.
///
/// # Errors
/// The job cannot be found, or the checkpoint failed.
pub fn checkpoint(home: &Home, job: &str, full: bool) -> Result<(), Failure> {
    path_of(home, job, "take checkpoint", &Request::Checkpoint { full })
}

/// `stop`: ends a job for good and prints the path of its final checkpoint.
///
/// # Errors
/// The job cannot be found, or its final checkpoint failed.
pub fn stop(home: &Home, job: &str) -> Result<(), Failure> {
    path_of(home, job, "stop", &Request::Stop)
}

/// `cancel`: ends a job without a checkpoint.
///
/// # Errors
/// The job cannot be found or asked.
pub fn cancel(home: &Home, job: &str) -> Result<(), Failure> {
    let job = find(home, job)?;
    match ask(&job, "cancel", &Request::Cancel)? {
        Reply::Done => Ok(()),
        other => Err(unexpected(&job, &other)),
    }
}

fn path_of(home: &Home, job: &str, what: &str, request: &Request) -> Result<(), Failure> {
    let job = find(home, job)?;
    match ask(&job, what, request)? {
        Reply::Path(path) => print(&format!("{path}\n")),
        other => Err(unexpected(&job, &other)),
    }
}

fn unexpected(job: &Running, reply: &Reply) -> Failure {
    Failure::failed(
        "read reply",
        format!("job {}", job.status.name),
        format!("not an answer to this: {reply:?}"),
    )
}

fn print_json<T: Serialize>(value: &T) -> Result<(), Failure> {
    let text =
        serde_json::to_string(value).map_err(|error| Failure::failed("write JSON", "stdout", error))?;
    print(&format!("{text}\n"))
}

/// Writes to stdout; a reader that has gone (`| head`) is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::failed("write", "stdout", error))
        }
        _ => Ok(()),
    }
}

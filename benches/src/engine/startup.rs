//! `startup/*`: a process of its own that runs a trivial job.

use super::fold::Fold;
use crate::workload::Outcome;
use millstream::Env;
use millstream::connector::Generator;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The hidden subcommand that runs [`trivial_job`].
pub const SUBCOMMAND: &str = "first-record";

const RECORDS: u64 = 1000;

/// The trivial job, in the default configuration: says when the first record has arrived, and at its end the peak of
/// the process's memory in KiB.
///
/// # Errors
/// The job's.
pub fn trivial_job() -> Result<(), String> {
    let env = Env::new();
    let total = Fold::<(u64, u64), _>::new(|sums, _| {
        if sums[0] == 0 {
            say("first");
        }
        sums[0] += 1;
    });
    env.source(Generator::new(RECORDS, |i| i))
        .key_by::<u64>(|i| *i % 10)
        .process::<u64, (u64, u64)>("count", |cx, _, count, out| {
            *count += 1;
            out.emit((cx.key(), *count));
        })
        .sink(total.clone());
    env.execute("trivial").map_err(|error| error.to_string())?;
    say(&format!("{} records", total.sums()[0]));
    say(&format!("{} KiB", peak_kib()?));
    Ok(())
}

/// To standard output at once. A parent that has gone is no concern.
fn say(line: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn peak_kib() -> Result<u64, String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok())
        .ok_or_else(|| "the system does not tell the peak of memory".into())
}

/// Runs the process: milliseconds to its first record, and its peak of memory in MB.
fn run() -> Result<(f64, f64), String> {
    let program = std::env::current_exe().map_err(|error| format!("find this program: {error}"))?;
    let begin = Instant::now();
    let mut child = Command::new(&program)
        .arg(SUBCOMMAND)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("start {}: {error}", program.display()))?;
    let out = child.stdout.take().ok_or("the child has no output")?;
    let (mut first, mut peak, mut records) = (None, None, None);
    for line in BufReader::new(out).lines() {
        let line = line.map_err(|error| format!("read the child's output: {error}"))?;
        if line == "first" {
            first = first.or(Some(begin.elapsed().as_secs_f64() * 1e3));
        } else if let Some(kib) = line.strip_suffix(" KiB").and_then(|n| n.parse::<f64>().ok()) {
            peak = Some(kib * 1024.0 / 1e6);
        } else {
            records = line.strip_suffix(" records").and_then(|n| n.parse::<u64>().ok());
        }
    }
    let status = child.wait().map_err(|error| format!("wait for the child: {error}"))?;
    match (first, peak, records) {
        (Some(first), Some(peak), Some(RECORDS)) if status.success() => Ok((first, peak)),
        _ => Err(format!("the child's job went wrong ({status}, {records:?} of {RECORDS} records)")),
    }
}

/// From the start of the process to the first record at its sink, in milliseconds.
///
/// # Errors
/// When the process cannot be started or fails.
pub fn first_record() -> Result<Outcome, String> {
    Ok(Outcome { figure: run()?.0, result: Vec::new() })
}

/// The process's peak of memory, in MB.
///
/// # Errors
/// When the process cannot be started or fails.
pub fn rss() -> Result<Outcome, String> {
    Ok(Outcome { figure: run()?.1, result: Vec::new() })
}

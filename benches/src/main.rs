//! `millstream-benches ratio [NAME…] [--json] [--rounds N]`: see README.md beside this crate.

use clap::{Parser, Subcommand};
use millstream_benches::engine::{restore, startup};
use millstream_benches::harness::{self, Sides};
use millstream_benches::{report, workload};
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "The engine against hand-written loops")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run workloads on the engine and on the hand-written loop, in alternation, and print their ratio.
    Ratio {
        /// Workloads, or groups of them (`keyed-sum`); all where none is named.
        names: Vec<String>,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
        /// Rounds that count, besides one that warms up.
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
        rounds: u32,
        /// Run the hand-written side only.
        #[arg(long)]
        limits: bool,
    },
    /// What `startup/*` measure: a process that runs a trivial job.
    #[command(hide = true, name = startup::SUBCOMMAND)]
    FirstRecord,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Ratio { names, json, rounds, limits } => {
            let sides = if limits { Sides::Limit } else { Sides::Both };
            let outcome = ratio(&names, json, rounds as usize, sides);
            restore::forget();
            outcome
        }
        Command::FirstRecord => startup::trivial_job(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn ratio(names: &[String], json: bool, rounds: usize, sides: Sides) -> Result<(), String> {
    let workloads = workload::select(names)?;
    if !json {
        println!("{}", report::HEADER);
    }
    for workload in workloads {
        let row = harness::measure(workload, rounds, sides)?;
        println!("{}", if json { row.json() } else { row.line() });
    }
    Ok(())
}

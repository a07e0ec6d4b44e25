//! Simulates the zoo: `cargo sim [--job NAME] [--first SEED] [--seeds N]`. A violation is told with its seed;
//! `MILLSTREAM_TRACE=1 cargo sim --first SEED --seeds 1` tells that run's story.

use millstream_testkit::Coverage;
use millstream_testkit::campaign::Campaign;
use millstream_testkit::zoo::JOBS;
use std::process::ExitCode;

fn main() -> ExitCode {
    match simulate(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok((covered, violations)) => {
            println!("{covered}\n{violations} violations");
            if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// What was covered, and how many runs were wrong.
fn simulate(arguments: &[String]) -> Result<(Coverage, u64), String> {
    let (mut campaign, mut first, mut seeds) = (None, 0, 10_000);
    let mut arguments = arguments.iter();
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name}: a value is missing"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{name}: {value}: not a number"));
        match &**name {
            "--first" => first = number()?,
            "--seeds" => seeds = number()?,
            "--job" => campaign = Some(of_one_job(value)?),
            _ => return Err(format!("{name}: unknown\nhint: --job NAME, --first SEED, --seeds N")),
        }
    }
    let campaign = campaign.unwrap_or_default();
    let (mut covered, mut violations) = (Coverage::default(), 0);
    for seed in first..first.saturating_add(seeds) {
        match campaign.check(seed) {
            Ok(coverage) => covered.add(&coverage),
            Err(violation) => {
                eprintln!("violation: {violation}");
                violations += 1;
            }
        }
    }
    Ok((covered, violations))
}

fn of_one_job(name: &str) -> Result<Campaign, String> {
    let job = JOBS.iter().find(|job| job.name == name).ok_or_else(|| {
        let names: Vec<_> = JOBS.iter().map(|job| job.name).collect();
        format!("--job: {name}: no such job\nhint: one of {}", names.join(", "))
    })?;
    Ok(Campaign::over(&[*job]))
}

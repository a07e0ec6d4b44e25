//! Bugs that were planted: what the simulation is there to find. Each is in something that stands in for an engine's
//! neighbour (a storage that lies, a source, an operator, a sink written wrongly), runs without a fault when nothing
//! goes wrong, and must be found within so many seeds (ruling 34).

mod operators;
mod sinks;
mod sources;
mod storages;

use millstream::Env;
use millstream_testkit::campaign::Campaign;
use millstream_testkit::zoo::{JOBS, Job};

/// Asserts that one of the first `seeds` seeds tells the bug.
#[track_caller]
fn found_in(campaign: &Campaign, seeds: u64) {
    match campaign.first_violation(seeds) {
        Some((seed, violation)) => println!("found by seed {seed}: {violation}"),
        None => panic!("not found in {seeds} seeds"),
    }
}

/// Asserts the same of a job.
#[track_caller]
fn found_in_job(build: fn(&Env), seeds: u64) {
    found_in(&Campaign::over(&[Job { name: "planted", build, keyed: false, at_least_once: false }]), seeds);
}

/// The same campaigns find nothing where nothing was planted.
#[test]
fn nothing_is_found_where_nothing_is_planted() {
    assert_eq!(Campaign::over(JOBS).first_violation(300), None);
    assert_eq!(Campaign::over(JOBS).storage(storages::honest).first_violation(300), None);
    for build in [sources::honest, operators::honest, sinks::honest] {
        let job = Job { name: "honest", build, keyed: false, at_least_once: false };
        assert_eq!(Campaign::over(&[job]).first_violation(300), None);
    }
}

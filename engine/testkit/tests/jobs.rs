//! The zoo in simulation: whatever goes wrong, the output is what was promised.

use millstream_testkit::Coverage;
use millstream_testkit::campaign::Campaign;
use millstream_testkit::zoo::{JOBS, RECORDS};

/// Runs that every kind of thing that can happen has to happen in (ruling 34).
const OFTEN: u64 = 100;

/// Seeds over all jobs together; `MILLSTREAM_SEEDS` sets another number.
fn seeds() -> u64 {
    std::env::var("MILLSTREAM_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000)
}

/// Every job of the zoo, a hundred thousand seeds in all, on two cores.
#[test]
fn a_hundred_thousand_seeds_are_exact() {
    let campaign = Campaign::new();
    let seeds = seeds();
    let half = |first: u64| {
        let mut covered = Coverage::default();
        for seed in (first..seeds).step_by(2) {
            match campaign.check(seed) {
                Ok(coverage) => covered.add(&coverage),
                Err(violation) => panic!("{violation}"),
            }
        }
        covered
    };
    let covered = std::thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        let mut covered = half(0);
        covered.add(&other.join().expect("the other half is exact, too"));
        covered
    });
    println!("{covered}");
    assert_eq!(covered.runs, seeds);
    if seeds >= 100_000 {
        assert_ruling_34(&covered);
    }
}

/// Half of the runs disturbed, keyed state and a two-phase sink in four of five, and nothing that hardly ever happens.
fn assert_ruling_34(covered: &Coverage) {
    assert!(covered.disturbed * 2 >= covered.runs, "{covered}");
    for part in ["keyed state", "two-phase sink"] {
        assert!(covered.count("job", part) * 5 >= covered.runs * 4, "{part}: {covered}");
    }
    // Seldom done, and so seldom died in.
    assert!(covered.count("death in", "open for appending") > 0, "{covered}");
    let kinds: [(_, &[_]); 9] = [
        ("death", &["before", "torn", "after"]),
        ("death in", &["create", "open", "read", "write", "sync", "rename", "publish"]),
        ("death in", &["remove", "remove directory", "create directory", "list", "sync directory", "stat"]),
        ("death in", &["resolve", "lock", "no operation"]),
        ("died by", &["kill", "power cut"]),
        (
            "told",
            &["checkpoint", "full checkpoint", "suspend", "stop", "cancel", "abandon", "subtask failure"],
        ),
        ("told", &["start from a path"]),
        ("held", &["in files", "in flight", "too much", "full disk"]),
        ("ended", &["finished", "stopped", "canceled", "abandoned", "failed", "died"]),
    ];
    let faults = [
        "before ENOSPC",
        "before EIO",
        "after ENOSPC",
        "after EIO",
        "short ENOSPC",
        "short EIO",
        "scratch ENOSPC",
    ];
    for (group, names) in kinds.into_iter().chain([("fault", &faults[..])]) {
        for name in names {
            let n = covered.count(group, name);
            assert!(n >= OFTEN, "{group} {name} only {n} times: {covered}");
        }
    }
    assert!(covered.restarts >= OFTEN && covered.checkpoints >= covered.runs, "{covered}");
    assert!(covered.count("job", "at least once") >= OFTEN, "{covered}");
}

/// A crash at every storage operation of a run, in each phase, with and without a power cut, and a second one in the
/// recovery.
#[test]
fn cs_07_a_crash_at_every_storage_operation_and_a_second_one_in_the_recovery() {
    let covered = Campaign::new().sweep(2, 17).unwrap_or_else(|violation| panic!("{violation}"));
    println!("{covered}");
    assert!(covered.runs > 10_000, "{covered}");
    for phase in ["before", "torn", "after"] {
        assert!(covered.count("death", phase) >= OFTEN, "{phase}: {covered}");
    }
}

/// A crash at every storage operation of some jobs with keyed state, those of merges among them.
#[test]
fn cs_07_the_same_with_state_in_pages_whose_changes_are_merged() {
    let keyed: Vec<_> = JOBS.iter().copied().filter(|job| job.keyed).take(3).collect();
    let covered =
        Campaign::over(&keyed).pages().sweep(1, 97).unwrap_or_else(|violation| panic!("{violation}"));
    println!("{covered}");
    assert!(covered.runs > 3_000 && covered.count("death in", "rename") > 50, "{covered}");
}

/// A crash at every storage operation of checkpoints that are written while the state is still being copied, chunk by
/// chunk, and a second one in the recovery.
#[test]
fn cs_07_the_same_with_snapshots_that_are_written_while_they_are_drained() {
    let keyed: Vec<_> = JOBS.iter().copied().filter(|job| job.keyed).take(1).collect();
    // A line, with what says which, is a chunk.
    let campaign = Campaign::over(&keyed).pages().chunks_of(66);
    let covered = campaign.sweep(1, 97).unwrap_or_else(|violation| panic!("{violation}"));
    println!("{covered}");
    let (chunks, files) = (covered.count("death in", "write"), covered.count("death in", "sync"));
    assert!(covered.runs > 1_000 && chunks > 4 * files, "{chunks} chunks in {files} files: {covered}");
}

/// IT-02: what loops come to when nothing is in their way, worked out without them.
#[test]
fn it_02_loops_come_to_what_brute_force_does() {
    let of = |name: &str| JOBS.iter().find(|job| job.name == name).expect("it is in the zoo").expected();
    let sorted = |lines: &mut dyn Iterator<Item = String>| {
        let mut lines: Vec<String> = lines.collect();
        lines.sort_unstable();
        lines
    };
    let steps = |mut n: u64| {
        let mut steps = 0;
        while n != 1 {
            n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        steps
    };
    let collatz = (0..RECORDS).map(|n| format!("{n} took {}", steps(n % 26 + 1)));
    assert_eq!(of("collatz"), sorted(&mut collatz.into_iter()));
    let visits = |key: u64| (0..RECORDS).filter(|n| n % 12 >= key).count();
    assert_eq!(of("countdown"), sorted(&mut (0..12).map(|key| format!("{key} total {}", visits(key)))));
    let nested = (0..RECORDS).map(|n| format!("{n} took {}", (n % 3 + 1) * 3));
    assert_eq!(of("nested"), sorted(&mut nested.into_iter()));
}

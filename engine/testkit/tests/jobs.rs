//! Whole jobs in simulation: whatever goes wrong, the output is that of an undisturbed run.

use millstream::Env;
use millstream::connector::{FileSink, Generator};
use millstream_testkit::{Coverage, Simulation};

/// Seeds of a test; `MILLSTREAM_SEEDS` sets another number.
fn seeds(default: u64) -> u64 {
    std::env::var("MILLSTREAM_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Counts per key, emitted at the end of input, into a file sink.
fn count(env: &Env) {
    env.source(Generator::new(200, |i| i * 7 % 13))
        .uid("source")
        .key_by::<u64>(|n| n.get())
        .process::<u64, Vec<u8>>("count", |_, _, count, _| *count += 1)
        .on_end(|key, count, out| out.emit(format!("{key},{count}").as_bytes()))
        .uid("count")
        .sink(FileSink::lines("/out"))
        .uid("sink");
}

/// Every record passes through a keyed state and out: the state's effect shows in each line.
fn running(env: &Env) {
    env.source(Generator::new(200, |i| i))
        .uid("source")
        .key_by::<u64>(|n| n.get() % 7)
        .process::<u64, Vec<u8>>("running", |cx, n, sum, out| {
            *sum += n;
            out.emit(format!("{},{n}", cx.key()).as_bytes());
        })
        .on_end(|key, sum, out| out.emit(format!("{key} total {sum}").as_bytes()))
        .uid("running")
        .sink(FileSink::lines("/out"))
        .uid("sink");
}

fn check(job: fn(&Env), parallelism: u32, n: u64) -> Coverage {
    let expected = Simulation::new(0).undisturbed().parallelism(parallelism).run(job).unwrap().lines("/out");
    let mut covered = Coverage::default();
    let first = std::env::var("MILLSTREAM_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    for seed in first..first + n {
        let run = Simulation::new(seed).parallelism(parallelism).run(job);
        let run = run.unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
        assert_same(&run.lines("/out"), &expected, seed);
        if let Some(summary) = &run.summary {
            assert_eq!(summary.records_in, 200, "seed {seed}");
            assert_eq!(summary.records_out, expected.len() as u64, "seed {seed}");
        }
        assert_eq!(run.hidden("/out"), Vec::<String>::new(), "seed {seed}");
        covered.add(&run.coverage);
    }
    eprintln!("{covered}");
    covered
}

/// Equal as multisets; names a few of the lines that are not.
fn assert_same(found: &[String], expected: &[String], seed: u64) {
    if found != expected {
        let lost: Vec<_> = expected.iter().filter(|line| !found.contains(line)).take(3).collect();
        let extra: Vec<_> = found.iter().filter(|line| !expected.contains(line)).take(3).collect();
        panic!(
            "seed {seed}: {} lines instead of {}; lost {lost:?}, extra {extra:?}",
            found.len(),
            expected.len()
        );
    }
}

#[test]
fn count_is_exact_whatever_goes_wrong() {
    check(count, 2, seeds(2000));
}

#[test]
fn running_is_exact_whatever_goes_wrong() {
    check(running, 2, seeds(2000));
}

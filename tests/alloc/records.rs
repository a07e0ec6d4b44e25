//! No heap allocation per record in steady state.

use crate::counting::Counts;
use millstream::Env;
use millstream::connector::Generator;
use millstream_tests::CountSink;

/// Allocations of a whole run of `records` records, start and end included.
fn allocations(counts: &Counts, records: u64, job: impl Fn(&Env, u64)) -> u64 {
    let env = Env::new();
    job(&env, records);
    let before = counts.allocations();
    let summary = env.execute("allocations").unwrap();
    assert_eq!(summary.records_in, records);
    counts.allocations() - before
}

fn chain(env: &Env, records: u64) {
    env.source(Generator::new(records, |i| i))
        .map(|n| n.wrapping_mul(3))
        .filter(|n| n % 2 == 0)
        .sink(CountSink::new(|_| 1));
}

fn exchange(env: &Env, records: u64) {
    env.source(Generator::new(records, |i| (i, i, i)))
        .rebalance()
        .sink(CountSink::new(|r: &(u64, u64, u64)| r.0));
}

fn keyed_sum(env: &Env, records: u64) {
    env.source(Generator::new(records, |i| (i % 1000, i)))
        .parallelism(2)
        .key_by::<u64>(|r| r.0)
        .process::<u64, u64>("sum", |_, r, sum, _| *sum = sum.wrapping_add(r.1))
        .parallelism(2)
        .sink(CountSink::new(|_| 1));
}

const LINE: &str =
    "the quick brown fox jumps over the lazy dog and some words longer than sixteen characters";

fn wordcount(env: &Env, records: u64) {
    env.source(Generator::new(records, |i| i))
        .flat_map::<String>(|_, out| LINE.split(' ').for_each(|word| out.emit(word)))
        .key_by::<String>(|word| word.get())
        .process::<u64, u64>("count", |_, _, count, _| *count += 1)
        .parallelism(2)
        .sink(CountSink::new(|_| 1));
}

/// The figures differ a little from run to run: how many segments a ring holds depends on how the threads meet.
const SLACK: u64 = 400;

#[test]
fn allocations_do_not_grow_with_the_records() {
    let counts = Counts::take();
    for (name, job, records) in [
        ("chain", chain as fn(&Env, u64), 4_000_000),
        ("exchange", exchange, 2_000_000),
        ("keyed sum", keyed_sum, 2_000_000),
        ("word count", wordcount, 200_000),
    ] {
        let few = allocations(&counts, records / 20, job);
        let many = allocations(&counts, records, job);
        eprintln!("{name}: {few} allocations for {} records, {many} for {records}", records / 20);
        assert!(many <= few + SLACK, "{name}: {few} allocations became {many}");
    }
}

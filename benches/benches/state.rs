//! Micro benchmarks of keyed state: hashing a key, updating a table, and what a checkpoint does with it.

use criterion::{
    BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime,
};
use millstream_io::record::Key;
use millstream_state::keyed::Entry;
use millstream_state::keyed::batch::{Rows, for_batch};
use millstream_state::{HeapState, KeyedBackend, KeyedSnapshot, Parallelism, Snapshots};
use std::hint::black_box;

/// Rows that are worked on at a time, about a segment's.
const ROWS: usize = 2048;

/// Keys of the largest table, more than the second-level cache holds.
const MANY: u64 = 1_000_000;

fn hashing(c: &mut Criterion) {
    let mut group = c.benchmark_group("hash");
    group.throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("u64", |b| {
        b.iter(|| (0..ROWS as u64).fold(0, |sum, n| sum ^ u64::hash(black_box(n))));
    });
    let words: Vec<String> = (0..ROWS).map(|n| format!("word-{n}")).collect();
    group.bench_function("text of 8 to 9 bytes", |b| {
        b.iter(|| words.iter().fold(0, |sum, word| sum ^ String::hash(black_box(word))));
    });
    group.finish();
}

/// Keys in an order without a pattern: the same for every run.
fn keys(of: u64) -> Vec<u64> {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    (0..ROWS * 64).map(|_| next() % of).collect()
}

fn table(keys: u64) -> HeapState<u64, u64> {
    let whole = Parallelism::new(1, None).expect("one subtask is allowed");
    let mut table = HeapState::new(whole.range_of(0), whole.max());
    (0..keys).for_each(|key| table.with(u64::hash(key), key, |mut sum| *sum = key));
    table
}

/// The rows of one batch, each to be added to the sum of its key.
struct Sums<'a>(&'a [u64]);

impl<'a> Rows<'a, u64, u64> for Sums<'a> {
    fn known(&self) -> usize {
        self.0.len()
    }

    fn hash(&mut self, row: usize) -> u64 {
        u64::hash(self.0[row])
    }

    fn key(&mut self, row: usize) -> u64 {
        self.0[row]
    }

    fn apply(&mut self, row: usize, _: u64, mut sum: Entry<'_, u64>) {
        *sum = sum.wrapping_add(self.0[row]);
    }
}

fn updating(c: &mut Criterion) {
    let mut group = c.benchmark_group("table/update");
    group.throughput(Throughput::Elements(ROWS as u64));
    for (name, of) in [("1,000 keys", 1000), ("1,000,000 keys", MANY)] {
        let (mut table, rows) = (table(of), keys(of));
        let mut batches = rows.chunks_exact(ROWS).cycle();
        group.bench_function(format!("{name}, one by one"), |b| {
            b.iter(|| {
                for key in batches.next().into_iter().flatten() {
                    table.with(u64::hash(*key), *key, |mut sum| *sum = sum.wrapping_add(*key));
                }
            });
        });
        group.bench_function(format!("{name}, in batches"), |b| {
            b.iter(|| batches.next().map(|rows| for_batch(&mut table, 0..ROWS, &mut Sums(rows))));
        });
        frozen(&mut group, name, &mut table, &mut batches);
    }
    group.finish();
}

/// The first updates after a barrier also save what they change.
fn frozen<'a>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    table: &mut HeapState<u64, u64>,
    batches: &mut impl Iterator<Item = &'a [u64]>,
) {
    group.bench_function(format!("{name}, in the first batch after a barrier"), |b| {
        b.iter(|| {
            table.freeze();
            batches.next().map(|rows| for_batch(table, 0..ROWS, &mut Sums(rows)));
            table.abandon();
        });
    });
}

fn encoded(table: &mut HeapState<u64, u64>) -> KeyedSnapshot {
    table.freeze();
    while !table.drain(32 << 10) {}
    table.take_snapshot()
}

fn checkpoint(c: &mut Criterion) {
    let mut group = c.benchmark_group("table/checkpoint");
    let mut state = table(100_000);
    group.throughput(Throughput::Elements(100_000));
    group.bench_function("encode 100,000 keys", |b| b.iter(|| black_box(encoded(&mut state)).bytes()));
    let snapshot = encoded(&mut state);
    group.bench_function("restore 100,000 keys", |b| {
        b.iter_batched(
            || table(0),
            |mut empty| {
                for chunk in &snapshot.groups {
                    empty.restore(chunk.group, chunk.entries, &chunk.bytes).expect("it was encoded above");
                }
                empty
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, hashing, updating, checkpoint);
criterion_main!(benches);

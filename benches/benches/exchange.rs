//! Micro benchmarks of what every exchanged record passes: writing a row, reading it, a segment through the ring.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use millstream_io::Record;
use millstream_io::record::Key;
use millstream_io::ring::{Item, ring};
use millstream_io::segment::{DEFAULT_CAPACITY, Segment, Writer};
use millstream_io::waker::{Parker, Waker};
use millstream_state::Parallelism;
use millstream_state::key_group::Router;
use std::hint::black_box;

type Row24 = (u64, u64, u64);

/// Rows of 24 bytes in a segment.
const ROWS: u64 = (DEFAULT_CAPACITY / 24) as u64;

fn opened<T: Record>() -> Writer<T> {
    let mut writer = Writer::closed();
    writer.open(Segment::new(DEFAULT_CAPACITY));
    writer
}

fn segment_write(c: &mut Criterion) {
    let mut group = c.benchmark_group("segment/write");
    group.throughput(Throughput::Elements(ROWS));
    let mut writer = opened::<Row24>();
    group.bench_function("push, 24 bytes", |b| {
        b.iter(|| {
            (0..ROWS).for_each(|i| assert!(writer.push(0, (i, i, i))));
            let full = writer.close().expect("rows were written");
            writer.open(black_box(full));
        });
    });
    group.bench_function("fill, 24 bytes", |b| {
        b.iter(|| {
            assert!(writer.fill(&mut (0..ROWS).map(|i| (i, i, i)), |_| 0).is_none());
            let full = writer.close().expect("rows were written");
            writer.open(black_box(full));
        });
    });
    let mut lanes = [opened::<Row24>(), opened()];
    group.bench_function("push, 24 bytes, two lanes by hash", |b| {
        b.iter(|| {
            for i in 0..ROWS {
                let h = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                assert!(lanes[(h >> 63) as usize].push(h, (i, i, i)));
            }
            for lane in &mut lanes {
                let full = lane.close().expect("rows were written");
                lane.open(black_box(full));
            }
        });
    });
    let words: Vec<&str> = "the current that drives the mill is what a millstream means".split(' ').collect();
    let mut writer = opened::<String>();
    group.bench_function("push, words", |b| {
        b.iter(|| {
            for i in 0..ROWS as usize {
                assert!(writer.push(i as u64, words[i % words.len()]));
            }
            let full = writer.close().expect("rows were written");
            writer.open(black_box(full));
        });
    });
    group.finish();
}

/// Rows that are routed at a time, as the engine does.
const BLOCK: usize = 128;

/// The way of a row by its key into one of some lanes, in the engine's steps: a block is written, its hashes are mixed side
/// by side, and its rows go on into their lanes, to two of them without a branch.
fn route(c: &mut Criterion) {
    let mut group = c.benchmark_group("route");
    let rows = ROWS / BLOCK as u64 * BLOCK as u64;
    group.throughput(Throughput::Elements(rows));
    for width in [2, 3, 4] {
        let router = Router::new(Parallelism::new(width, None).expect("a few subtasks are allowed"));
        let mut block = Writer::<Row24>::closed();
        block.open(Segment::new(BLOCK * 24));
        let mut lanes: Vec<_> = (0..width).map(|_| opened::<Row24>()).collect();
        let (mut halves, mut marks) = ([0; BLOCK], [0; BLOCK]);
        group.bench_function(format!("24 bytes by key into {width} lanes"), |b| {
            b.iter(|| {
                for from in (0..rows).step_by(BLOCK) {
                    let mut numbered = (from..).zip(&mut halves).map(|(i, half)| {
                        *half = (u64::hash(i) >> 32) as u32;
                        (i, i, i)
                    });
                    block.fill_some(&mut numbered, BLOCK);
                    let full = block.close().expect("rows were written");
                    router.subtasks(&halves, &mut marks);
                    if let [first, second] = &mut lanes[..] {
                        assert_eq!(Writer::deal(first, second, &full, 0, &marks), BLOCK);
                    } else {
                        for (row, lane) in full.iter_from(0).zip(&marks) {
                            assert!(lanes[*lane as usize].push_row(0, row));
                        }
                    }
                    block.open(full);
                }
                for lane in &mut lanes {
                    let full = lane.close().expect("rows were written");
                    lane.open(black_box(full));
                }
            });
        });
    }
    group.finish();
}

fn segment_read(c: &mut Criterion) {
    let mut group = c.benchmark_group("segment/read");
    group.throughput(Throughput::Elements(ROWS));
    let mut writer = opened::<Row24>();
    (0..ROWS).for_each(|i| assert!(writer.push(0, (i, i, i))));
    let fixed = writer.close().expect("rows were written");
    group.bench_function("24 bytes", |b| {
        b.iter(|| {
            black_box(&fixed).iter_from(0).fold(0u64, |sum, row| {
                let (x, y, z) = row.view();
                sum.wrapping_add(x ^ y).wrapping_add(z)
            })
        });
    });
    let mut writer = opened::<String>();
    (0..ROWS).for_each(|i| assert!(writer.push(i << 16, "millstream")));
    let words = writer.close().expect("rows were written");
    group.bench_function("words", |b| {
        b.iter(|| black_box(&words).iter_from(0).fold(0, |sum, row| sum + row.view().len()));
    });
    group.finish();
}

fn ring_one_thread(c: &mut Criterion) {
    let mut group = c.benchmark_group("ring");
    group.throughput(Throughput::Elements(1));
    let parkers = [Parker::new(), Parker::new()];
    for (name, [producer, consumer]) in [
        ("push and pop, nobody to wake", [Waker::nobody(), Waker::nobody()]),
        ("push and pop, nobody asleep", parkers.each_ref().map(Parker::waker)),
    ] {
        let (mut tx, mut rx) = ring::<Row24, ()>(16, producer, consumer);
        let mut travelling = Some(Segment::new(DEFAULT_CAPACITY));
        let mut left = None;
        group.bench_function(name, |b| {
            b.iter(|| {
                let segment = travelling.take().unwrap_or_else(|| Segment::new(DEFAULT_CAPACITY));
                travelling = tx.push(Item::Segment(segment)).expect("the ring has room");
                let Some(Item::Segment(segment)) = rx.pop(&mut left) else { unreachable!("just pushed") };
                left = Some(segment);
            });
        });
    }
    group.bench_function("make and drop a ring of 16", |b| {
        b.iter_batched(
            || (),
            |()| ring::<Row24, ()>(16, Waker::nobody(), Waker::nobody()),
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group!(benches, segment_write, route, segment_read, ring_one_thread);
criterion_main!(benches);

//! Records by key to subtasks: each once, in order, however many subtasks, however large, however uneven.

use millstream::Env;
use millstream::config::ByteSize;
use millstream::connector::{CollectSink, Generator};
use std::collections::BTreeMap;

/// Counts records per key behind an exchange with segments of 4 kB, and holds each record against what its key had before.
fn counts<const N: usize>(records: u64, targets: i64, keys: u64) -> BTreeMap<u64, u64> {
    let env = Env::new();
    env.configure(|settings| settings.exchange.segment_size = ByteSize::kb(4));
    let sink = CollectSink::new();
    let collected = sink.collected();
    env.source(Generator::new(records, |i| (i, [!i; N])))
        .parallelism(1)
        .key_by::<u64>(move |record| record.0 % keys)
        .process::<(u64, u64), (u64, u64)>("count", |cx, (index, padding), state, out| {
            assert!(index >= state.1, "record {index} of key {} came behind {}", cx.key(), state.1);
            assert_eq!(padding, [!index; N]);
            *state = (state.0 + 1, index + 1);
            out.emit((cx.key(), state.0));
        })
        .parallelism(targets)
        .sink(sink);
    assert_eq!(env.execute("routing").unwrap().records_in, records);
    let mut most = BTreeMap::new();
    for (key, count) in collected.take() {
        let seen = most.entry(key).or_insert(0);
        *seen = count.max(*seen);
    }
    most
}

#[test]
fn each_record_reaches_the_subtask_of_its_key_in_order() {
    for targets in 1..=4 {
        // Records of 16, 328 and 5,608 bytes; the last ones exceed a segment.
        for (keys, all) in [
            (100, counts::<1>(20_000, targets, 100)),
            (100, counts::<40>(20_000, targets, 100)),
            (100, counts::<700>(2_000, targets, 100)),
            (1, counts::<1>(20_000, targets, 1)),
        ] {
            let total: u64 = all.values().sum();
            let each = total / keys;
            assert!(total == 20_000 || total == 2_000, "{total} at {targets}");
            assert!(
                all.len() as u64 == keys && all.values().all(|count| *count == each),
                "{all:?} at {targets}"
            );
        }
    }
}

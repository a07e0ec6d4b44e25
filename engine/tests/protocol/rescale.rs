//! KG-05 through a whole job: keyed state at another parallelism after every crash.

use crate::hand::{Hand, env};
use crate::parts::Fed;
use millstream::connector::CollectSink;
use millstream_io::storage::MemoryStorage;
use std::collections::BTreeMap;

/// 2, 3, 1, 4 and again 2 subtasks: every key is where its records come to, with its whole count, and keys that a
/// subtask had given away do not come back with old values.
#[test]
fn kg_05_every_key_goes_on_at_any_parallelism() {
    let mut disk = MemoryStorage::new();
    let source = Fed::new(6_000);
    let sink = CollectSink::<(u64, u64)>::new();
    let seen = sink.collected();
    for (round, parallelism) in [2, 3, 1, 4, 2].into_iter().enumerate() {
        let env = env();
        env.source(source.clone())
            .name("in")
            .uid("in")
            .key_by::<u64>(|n| n.get() % 1_000)
            .process::<u64, (u64, u64)>("count", |cx, _, count, out| {
                *count += 1;
                out.emit((cx.key(), *count));
            })
            .uid("count")
            .max_parallelism(128)
            .parallelism(parallelism)
            .sink(sink.clone())
            .uid("out");
        let mut hand = Hand::begin(&env, &disk);
        let from = 1_000 * round as u64;
        assert_eq!(source.opened(), format!("[{from}]"));
        source.allow(from + 1_000);
        hand.run_all();
        if round == 4 {
            source.end();
            assert_eq!(hand.finish().unwrap().records_in, 6_000);
            break;
        }
        hand.checkpoint();
        // Some more, which the crash undoes.
        source.allow(from + 1_500);
        hand.run_all();
        drop(hand);
        disk = disk.kill_image();
    }
    let mut outputs = BTreeMap::<u64, Vec<u64>>::new();
    for (key, count) in seen.take() {
        outputs.entry(key).or_default().push(count);
    }
    assert_eq!(outputs.len(), 1_000);
    for (key, mut counts) in outputs {
        counts.sort_unstable();
        assert_eq!(counts, [1, 2, 3, 4, 5, 6], "key {key}");
    }
}

//! KG-05 through a whole job: keyed state at another parallelism after every crash.

use crate::hand::{Hand, env};
use crate::jobs::counted;
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

/// KG-04: without a maximum of its own a job takes over that of the checkpoint, though it would have more key groups
/// for its new parallelism: 90 subtasks would have 256, and find little of what stands in 128.
#[test]
fn kg_04_the_maximum_of_the_checkpoint_is_taken_over() {
    let disk = MemoryStorage::new();
    let source = Fed::new(2_000);
    let sink = CollectSink::<(u64, u64)>::new();
    let seen = sink.collected();
    let job = |parallelism| {
        let env = env();
        counted(&env, &source, 1_000).parallelism(parallelism).sink(sink.clone()).uid("out");
        env
    };
    let mut hand = Hand::begin(&job(2), &disk);
    source.allow(1_000);
    hand.run_all();
    hand.checkpoint();
    drop(hand);
    let hand = Hand::begin(&job(90), &disk.kill_image());
    source.end();
    hand.finish().unwrap();
    let mut rows = seen.take();
    rows.sort_unstable();
    assert!(rows.into_iter().eq((0..1_000).map(|key| (key, 2))));
}

/// KG-05: keys of varying size, whose hash travels with the record, are found again in what was restored, where it was
/// computed anew.
#[test]
fn kg_05_text_keys_are_found_again_after_a_restore() {
    let mut disk = MemoryStorage::new();
    let source = Fed::new(3_000);
    let sink = CollectSink::<(String, u64)>::new();
    let seen = sink.collected();
    for (round, parallelism) in [1, 3, 2].into_iter().enumerate() {
        let env = env();
        env.source(source.clone())
            .name("in")
            .uid("in")
            .map(|n| format!("key {} of a thousand", n % 1_000))
            .key_by::<String>(|text| text.get())
            .process::<u64, (String, u64)>("count", |_, _, count, _| *count += 1)
            .on_end(|key, count, out| out.emit((key, *count)))
            .uid("count")
            .parallelism(parallelism)
            .sink(sink.clone())
            .uid("out");
        let mut hand = Hand::begin(&env, &disk);
        source.allow(1_000 * (round as u64 + 1));
        hand.run_all();
        if round == 2 {
            source.end();
            hand.finish().unwrap();
            break;
        }
        hand.checkpoint();
        drop(hand);
        disk = disk.kill_image();
    }
    let rows: BTreeMap<String, u64> = seen.take().into_iter().collect();
    assert_eq!(rows.len(), 1_000);
    assert!(rows.values().all(|count| *count == 3));
}

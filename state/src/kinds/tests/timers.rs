//! Timers against a sorted set (TM-01 to TM-05).

use super::*;
use crate::key_group::Parallelism;
use crate::keyed::RestoreError;
use crate::{KeyGroup, StateKind};
use TimerKind::{Event, Processing};
use millstream_io::record::Key;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Time, key, namespace.
type Called = (i64, String, Option<u32>);

fn declared() -> (Declarations<String>, Timers<u32>) {
    let mut all = Declarations::new();
    let timers = all.with_namespaces::<u32>().timers();
    (all, timers)
}

/// Calls what is due, on each subtask in the order of time.
fn due(states: &mut Subtasks<String>, timers: Timers<u32>, kind: TimerKind) -> Vec<Called> {
    let mut all = Vec::new();
    for states in &mut states.all {
        let (mut timer, before) = (Timer::new(), all.len());
        while states.next_timer(kind, &mut timer) {
            assert_eq!(timer.kind(), kind);
            let (hash, key) = timer.key().unwrap();
            assert_eq!(hash, String::hash(key));
            all.push((timer.timestamp(), key.to_owned(), timer.namespace(timers)));
        }
        assert!(all[before..].is_sorted_by_key(|(time, ..)| *time), "ascending: {all:?}");
    }
    all
}

fn advanced(states: &mut Subtasks<String>, timers: Timers<u32>, watermark: i64) -> Vec<Called> {
    states.all.iter_mut().for_each(|states| states.advance_watermark(watermark));
    due(states, timers, Event)
}

#[test]
fn tm_01_a_timer_is_one_however_often_it_is_registered_and_none_when_deleted() {
    let (declared, timers) = declared();
    for (_, make) in BACKENDS {
        let mut states = Subtasks::new(&declared, make, 1);
        for _ in 0..1000 {
            states.at("a").timers(timers).register_event(5);
        }
        states.at("a").timers(timers).register_event(6);
        states.at("a").timers(timers).delete_event(6);
        states.at("a").timers(timers).delete_event(7);
        // Another namespace, another key, the other time: all of them others.
        states.at("a").timers(timers).within(0).register_event(5);
        states.at("b").timers(timers).register_event(5);
        states.at("a").timers(timers).register_processing(5);
        states.at("a").timers(timers).within(0).delete_processing(5);
        let mut called = advanced(&mut states, timers, 100);
        called.sort();
        let a = || "a".to_owned();
        assert_eq!(called, [(5, a(), None), (5, a(), Some(0)), (5, "b".to_owned(), None)]);
        states.set_time(5);
        assert_eq!(due(&mut states, timers, Processing), [(5, a(), None)]);
        assert_eq!((states.entries(0), states.entries(1)), (0, 0));
    }
}

#[test]
fn tm_02_event_timers_are_called_in_order_and_late_ones_when_the_watermark_advances() {
    let (declared, timers) = declared();
    for (_, make) in BACKENDS {
        let mut states = Subtasks::new(&declared, make, 1);
        let times = [i64::MIN, -7, 0, 3, 9, 10, i64::MAX];
        for (n, time) in times.into_iter().rev().enumerate() {
            states.at(&n.to_string()).timers(timers).register_event(time);
        }
        let of = |called: Vec<Called>| called.into_iter().map(|(time, ..)| time).collect::<Vec<_>>();
        assert_eq!(of(due(&mut states, timers, Event)), [] as [i64; 0], "no watermark yet");
        assert_eq!(of(advanced(&mut states, timers, 9)), [i64::MIN, -7, 0, 3, 9]);
        states.at("late").timers(timers).register_event(9);
        states.at("late").timers(timers).register_event(2);
        assert_eq!(of(due(&mut states, timers, Event)), [] as [i64; 0], "not at once");
        assert_eq!(of(advanced(&mut states, timers, 9)), [] as [i64; 0], "that is no advance");
        assert_eq!(of(advanced(&mut states, timers, 3)), [] as [i64; 0], "nor is that");
        assert_eq!(of(advanced(&mut states, timers, 10)), [2, 9, 10]);
        // What is registered by a callback is called in the same advance.
        states.all[0].advance_watermark(20);
        states.at("x").timers(timers).register_event(15);
        let mut timer = Timer::new();
        assert!(states.all[0].next_timer(Event, &mut timer));
        states.at("x").timers(timers).register_event(12);
        assert!(states.all[0].next_timer(Event, &mut timer));
        assert_eq!(timer.timestamp(), 12);
        assert_eq!(of(advanced(&mut states, timers, i64::MAX)), [i64::MAX], "the end of all time");
    }
}

#[test]
fn tm_03_processing_timers_are_called_when_the_clock_says_so() {
    let (declared, timers) = declared();
    for (_, make) in BACKENDS {
        let mut states = Subtasks::new(&declared, make, 1);
        for time in [1500, 1000, 2000] {
            states.at("key").timers(timers).register_processing(time);
        }
        assert_eq!(states.all[0].no_timer_before(Processing), Some(1000));
        assert_eq!(states.all[0].no_timer_before(Event), None);
        let of = |called: Vec<Called>| called.into_iter().map(|(time, ..)| time).collect::<Vec<_>>();
        states.set_time(999);
        assert_eq!(of(due(&mut states, timers, Processing)), [] as [i64; 0]);
        states.set_time(1500);
        assert_eq!(of(due(&mut states, timers, Processing)), [1000, 1500]);
        states.at("key").timers(timers).register_processing(3);
        assert_eq!(of(due(&mut states, timers, Processing)), [3], "past ones at once");
        assert_eq!(states.all[0].no_timer_before(Processing), Some(2000));
        // Overdue after a restore.
        states.freeze();
        states.take();
        states.set_time(9000);
        states.restore(2);
        assert_eq!(of(due(&mut states, timers, Processing)), [2000]);
    }
}

#[test]
fn tm_04_timers_are_restored_on_the_subtask_that_owns_their_key() {
    let (declared, timers) = declared();
    for (_, make) in BACKENDS {
        let mut states = Subtasks::new(&declared, make, 2);
        let keys: Vec<String> = (0..50).map(|n| format!("key {n}")).collect();
        for (n, key) in keys.iter().enumerate() {
            states.at(key).timers(timers).within(7).register_event(n as i64);
            states.at(key).timers(timers).register_processing(n as i64);
        }
        states.freeze();
        // Deleted after the snapshot, it is there again after the restore.
        states.at(&keys[3]).timers(timers).within(7).delete_event(3);
        states.take();
        for width in [7, 3, 128, 2] {
            states.restore(width);
            for (subtask, one) in states.all.iter().enumerate() {
                let range = states.width.range_of(subtask);
                let own = |key: &&String| range.contains(states.width.grouping().group(String::hash(key)));
                assert_eq!(one.entries(0), keys.iter().filter(own).count());
            }
            states.freeze();
            states.take();
        }
        let called: BTreeSet<_> = advanced(&mut states, timers, 100).into_iter().collect();
        assert_eq!(called, (0..).zip(&keys).map(|(n, key)| (n, key.clone(), Some(7))).collect());
        assert_eq!(advanced(&mut states, timers, 200), []);
        states.set_time(1000);
        assert_eq!(due(&mut states, timers, Processing).len(), keys.len());
    }
}

/// Timers are states that a snapshot describes; entries that are none are refused.
#[test]
fn timers_are_described_and_verified() {
    let (declared, _) = declared();
    let described: Vec<_> =
        declared.all().iter().map(|one| (one.descriptor().name.as_str(), one.descriptor().kind)).collect();
    let expected = [(EVENT_TIMERS, StateKind::EventTimers), (PROCESSING_TIMERS, StateKind::ProcessingTimers)];
    assert_eq!(described, expected);
    let width = Parallelism::new(1, Some(1)).unwrap();
    for (key, value, refused) in [
        (&b"12345678\x01\0\0\0k\0"[..], &b""[..], None),
        (b"12345678\x01\0\0\0k\x01abcd", b"", None),
        (b"1234567", b"", Some("timestamp")),
        (b"12345678\x01\0\0\0", b"", Some("key")),
        (b"12345678\x01\0\0\0k", b"", Some("namespace")),
        (b"12345678\x01\0\0\0k\0k", b"", Some("key")),
        (b"12345678\x01\0\0\0k\0", b"v", Some("value")),
    ] {
        let states = States::new(&declared, width, 0, |_, range| {
            let mut backend = HeapOrdered::new(range);
            backend.put(KeyGroup(0), key, value).unwrap();
            Ok(Box::new(backend))
        });
        let found = states.unwrap().restored().map_err(|(state, error)| match error {
            RestoreError::Part { part, .. } if state == EVENT_TIMERS => part,
            other => panic!("{other:?}"),
        });
        assert_eq!(found.err(), refused, "{key:?}");
    }
}

#[derive(Clone, Debug)]
enum Op {
    Register(usize, Option<u32>, i64),
    Delete(usize, Option<u32>, i64),
    Advance(i64),
    Restore(i64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let timer = || (0..6usize, prop::option::of(0..2u32), 0..40i64);
    let op = prop_oneof![
        20 => timer().prop_map(|(k, n, t)| Op::Register(k, n, t)),
        8 => timer().prop_map(|(k, n, t)| Op::Delete(k, n, t)),
        4 => (0..45i64).prop_map(Op::Advance),
        1 => prop::sample::select(vec![1, 7, 3, 128, 2]).prop_map(Op::Restore),
    ];
    prop::collection::vec(op, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn tm_01_timers_are_a_sorted_set(ops in ops()) {
        let (declared, timers) = declared();
        for (_, make) in BACKENDS {
            let (mut states, mut model) = (Subtasks::new(&declared, make, 1), BTreeSet::<Called>::new());
            let mut now = 0;
            for op in ops.clone() {
                match op {
                    Op::Register(key, namespace, time) => {
                        let key = format!("key {key}");
                        let mut at = states.at(&key);
                        match namespace {
                            Some(namespace) => at.timers(timers).within(namespace).register_processing(time),
                            None => at.timers(timers).register_processing(time),
                        }
                        model.insert((time, key, namespace));
                    }
                    Op::Delete(key, namespace, time) => {
                        let key = format!("key {key}");
                        let mut at = states.at(&key);
                        match namespace {
                            Some(namespace) => at.timers(timers).within(namespace).delete_processing(time),
                            None => at.timers(timers).delete_processing(time),
                        }
                        model.remove(&(time, key, namespace));
                    }
                    Op::Advance(to) => {
                        now = now.max(to);
                        states.set_time(now as u64);
                        let called: BTreeSet<_> = due(&mut states, timers, Processing).into_iter().collect();
                        let later = model.split_off(&(now + 1, String::new(), None));
                        prop_assert_eq!(called, std::mem::replace(&mut model, later));
                    }
                    Op::Restore(width) => {
                        states.freeze();
                        states.take();
                        states.restore(width);
                    }
                }
                prop_assert_eq!(states.entries(1), model.len());
                let bound = states.all.iter().filter_map(|states| states.no_timer_before(Processing)).min();
                let first = model.first().map(|(time, ..)| *time);
                prop_assert!(first.is_none() || bound.is_some_and(|bound| Some(bound) <= first));
            }
        }
    }
}

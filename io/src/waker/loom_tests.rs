//! Models of waiting: a lost wake-up is a deadlock, which loom reports.

use super::Parker;
use crate::ring::{Item, ring};
use crate::waker::Waker;
use loom::thread;

/// The consumer waits by the two-round protocol: it always gets to the end.
#[test]
fn loom_a_consumer_that_parks_misses_no_item_and_no_close() {
    loom::model(|| {
        let mut parker = Parker::new();
        let (mut tx, mut rx) = ring::<u64, u32>(2, Waker::nobody(), parker.waker());
        let producer = thread::spawn(move || {
            assert!(tx.push(Item::Event(1)).is_ok());
        });
        let mut seen = 0;
        while !rx.is_closed() {
            if rx.pop(&mut None).is_some() {
                seen += 1;
                continue;
            }
            parker.prepare();
            if rx.is_empty() && !rx.is_closed() {
                parker.park(None);
            } else {
                parker.cancel();
            }
        }
        assert_eq!(seen, 1);
        producer.join().unwrap();
    });
}

/// The producer waits for room in the same way.
#[test]
fn loom_a_producer_that_parks_misses_no_room() {
    loom::model(|| {
        let mut parker = Parker::new();
        let (mut tx, mut rx) = ring::<u64, u32>(1, parker.waker(), Waker::nobody());
        assert!(tx.push(Item::Event(1)).is_ok());
        let consumer = thread::spawn(move || {
            assert!(rx.pop(&mut None).is_some());
            rx
        });
        while !tx.has_room() {
            parker.prepare();
            if tx.has_room() {
                parker.cancel();
            } else {
                parker.park(None);
            }
        }
        assert!(tx.push(Item::Event(2)).is_ok());
        drop(consumer.join().unwrap());
    });
}

/// An item wakes the consumer also when the producer stays.
#[test]
fn loom_a_consumer_that_parks_misses_no_item_of_a_producer_that_stays() {
    loom::model(|| {
        let mut parker = Parker::new();
        let (mut tx, mut rx) = ring::<u64, u32>(1, Waker::nobody(), parker.waker());
        let producer = thread::spawn(move || {
            assert!(tx.push(Item::Event(1)).is_ok());
            tx
        });
        while rx.pop(&mut None).is_none() {
            parker.prepare();
            if rx.is_empty() {
                parker.park(None);
            } else {
                parker.cancel();
            }
        }
        drop(producer.join().unwrap());
    });
}

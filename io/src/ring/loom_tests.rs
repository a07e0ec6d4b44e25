//! Models of the ring: loom tries every interleaving and every value that the memory model lets a load see.

use super::{Item, Rx, Tx, ring};
use crate::segment::Segment;
use crate::waker::Waker;
use loom::thread;

fn pair(slots: usize) -> (Tx<u64, u32>, Rx<u64, u32>) {
    ring(slots, Waker::nobody(), Waker::nobody())
}

/// Items arrive once and in order over more than one lap, and empty segments find their way back.
#[test]
fn loom_items_arrive_in_order_over_two_laps() {
    loom::model(|| {
        let (mut tx, mut rx) = pair(2);
        let producer = thread::spawn(move || {
            let mut back = 0;
            for n in 0..4 {
                let mut item = Item::Segment(Segment::single(0, n));
                loop {
                    match tx.push(item) {
                        Ok(spare) => break back += usize::from(spare.is_some()),
                        Err(full) => item = full,
                    }
                    thread::yield_now();
                }
            }
            back
        });
        let mut spare = None;
        for n in 0..4 {
            let segment = loop {
                match rx.pop(&mut spare) {
                    Some(Item::Segment(segment)) => break segment,
                    Some(Item::Event(_)) => unreachable!("none was sent"),
                    None => thread::yield_now(),
                }
            };
            assert_eq!(segment.row(0).view(), n);
            spare = Some(segment);
        }
        // The first item leaves nothing in its slot, the second leaves the first's segment in the other one.
        assert_eq!(producer.join().unwrap(), 1);
        assert!(rx.pop(&mut spare).is_none());
    });
}

/// A consumer that sees the ring closed has seen everything that was put in.
#[test]
fn loom_closing_hides_no_item() {
    loom::model(|| {
        let (mut tx, mut rx) = pair(2);
        let producer = thread::spawn(move || {
            assert!(tx.push(Item::Event(1)).is_ok());
            assert!(tx.push(Item::Event(2)).is_ok());
        });
        let mut seen = 0;
        while !rx.is_closed() {
            match rx.pop(&mut None) {
                Some(_) => seen += 1,
                None => thread::yield_now(),
            }
        }
        assert_eq!(seen, 2);
        producer.join().unwrap();
    });
}

/// Either side may go at any moment: what is left is dropped once, by the one that goes last.
#[test]
fn loom_either_side_may_go_first() {
    loom::model(|| {
        let drops = loom::sync::Arc::new(());
        let (mut tx, mut rx) = ring::<u64, loom::sync::Arc<()>>(2, Waker::nobody(), Waker::nobody());
        let event = loom::sync::Arc::clone(&drops);
        let producer = thread::spawn(move || {
            let _ = tx.push(Item::Event(loom::sync::Arc::clone(&event)));
            let _ = tx.push(Item::Event(event));
            tx.is_closed()
        });
        let taken = rx.pop(&mut Some(Segment::new(64)));
        drop(rx);
        producer.join().unwrap();
        drop(taken);
        assert!(loom::sync::Arc::try_unwrap(drops).is_ok(), "an item is still held");
    });
}

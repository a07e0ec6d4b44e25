use super::{Item, ring};
use crate::segment::{Segment, Writer};
use crate::waker::{Parker, Waker};

fn pair(slots: usize) -> (super::Tx<u64, u32>, super::Rx<u64, u32>) {
    ring(slots, Waker::nobody(), Waker::nobody())
}

fn event(item: Option<Item<u64, u32>>) -> Option<u32> {
    match item {
        Some(Item::Event(e)) => Some(e),
        _ => None,
    }
}

#[test]
fn a_full_ring_gives_the_item_back_and_order_is_kept() {
    let (mut tx, mut rx) = pair(2);
    assert!(tx.push(Item::Event(1)).is_ok() && tx.push(Item::Event(2)).is_ok());
    assert!(!tx.has_room());
    assert!(matches!(tx.push(Item::Event(3)), Err(Item::Event(3))));
    assert_eq!(event(rx.pop(&mut None)), Some(1));
    assert!(tx.has_room() && tx.push(Item::Event(3)).is_ok());
    assert_eq!((event(rx.pop(&mut None)), event(rx.pop(&mut None))), (Some(2), Some(3)));
    assert!(rx.pop(&mut None).is_none());
}

#[test]
fn slots_carry_empty_segments_back() {
    let (mut tx, mut rx) = pair(2);
    assert!(tx.push(Item::Segment(Segment::single(0, 7))).unwrap().is_none());
    let mut spare = Some(Segment::new(128));
    assert!(rx.pop(&mut spare).is_some() && spare.is_none());
    let mut kept = Some(Segment::new(128));
    assert!(rx.pop(&mut kept).is_none() && kept.is_some(), "an empty ring takes no spare");
    assert!(tx.push(Item::Event(1)).unwrap().is_none(), "the other slot was never used");
    assert_eq!(tx.push(Item::Event(2)).unwrap().unwrap().capacity(), 128);
}

#[test]
fn a_large_segment_is_not_kept() {
    let (mut tx, mut rx) = ring::<String, u32>(1, Waker::nobody(), Waker::nobody());
    tx.push(Item::Event(1)).unwrap();
    let mut spare = Some(Segment::single(0, "x".repeat(100_000).as_str()));
    assert!(rx.pop(&mut spare).is_some() && spare.is_none());
    assert!(tx.push(Item::Event(2)).unwrap().is_none());
}

#[test]
fn closing_is_seen_after_the_last_item() {
    let (mut tx, mut rx) = pair(4);
    tx.push(Item::Event(1)).unwrap();
    assert!(!tx.is_closed() && !rx.is_closed());
    drop(tx);
    assert!(!rx.is_closed());
    assert_eq!(event(rx.pop(&mut None)), Some(1));
    assert!(rx.is_closed());
    let (tx, rx) = pair(4);
    drop(rx);
    assert!(tx.is_closed());
}

/// An event that counts how often it is dropped.
struct Counted(std::sync::Arc<std::sync::atomic::AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn a_half_finished_ring_drops_each_item_once_whichever_side_goes_first() {
    for consumer_first in [false, true] {
        let drops = std::sync::Arc::default();
        let (mut tx, mut rx) = ring::<u64, Counted>(8, Waker::nobody(), Waker::nobody());
        for _ in 0..3 {
            assert!(tx.push(Item::Event(Counted(std::sync::Arc::clone(&drops)))).is_ok());
            assert!(tx.push(Item::Segment(Segment::single(0, 1))).is_ok());
        }
        assert!(matches!(rx.pop(&mut Some(Segment::new(64))), Some(Item::Event(_))));
        if consumer_first {
            drop(rx);
            drop(tx);
        } else {
            drop(tx);
            drop(rx);
        }
        assert_eq!(drops.load(std::sync::atomic::Ordering::Relaxed), 3);
    }
}

/// Two threads that park when idle: everything arrives, in order, and few segments are ever made.
#[test]
#[expect(clippy::disallowed_methods, reason = "the ring is tried with real threads")]
fn two_threads_exchange_every_record_in_order() {
    const RECORDS: u64 = 200_000;
    let (mut here, mut there) = (Parker::new(), Parker::new());
    let (mut tx, mut rx) = ring::<u64, ()>(4, here.waker(), there.waker());
    let consumer = std::thread::spawn(move || {
        let (mut spare, mut next) = (None, 0);
        loop {
            match rx.pop(&mut spare) {
                Some(Item::Segment(segment)) => {
                    for row in segment.iter_from(0) {
                        assert_eq!(row.view(), next);
                        next += 1;
                    }
                    spare = Some(segment);
                }
                Some(Item::Event(())) => {}
                None if rx.is_closed() => return next,
                None => {
                    there.prepare();
                    if rx.is_empty() && !rx.is_closed() { there.park(None) } else { there.cancel() }
                }
            }
        }
    });
    let (mut writer, mut made) = (Writer::closed(), 0);
    for n in 0..RECORDS {
        if writer.push(0, n) {
            continue;
        }
        let mut spare = None;
        if let Some(full) = writer.close() {
            while !tx.has_room() {
                here.prepare();
                if tx.has_room() { here.cancel() } else { here.park(None) }
            }
            spare = tx.push(Item::Segment(full)).unwrap();
        }
        writer.open(spare.unwrap_or_else(|| {
            made += 1;
            Segment::new(512)
        }));
        assert!(writer.push(0, n));
    }
    while !tx.has_room() {
        std::thread::yield_now();
    }
    tx.push(Item::Segment(writer.close().unwrap())).unwrap();
    drop(tx);
    assert_eq!(consumer.join().unwrap(), RECORDS);
    assert!(made <= 6, "{made} segments for a ring of 4: one open, one at the consumer besides");
}

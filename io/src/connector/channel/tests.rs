//! Order, end, room, and no wake-up that is lost.

use super::*;
use crate::connector::testing::{Collected, Scene};
use crate::waker::Parker;

fn opened(source: &ChannelSource<u64>, subtask: usize) -> ChannelSource<u64> {
    let mut source = source.clone();
    source.open(Scene::new(2).context(subtask), vec![]).unwrap();
    source
}

#[test]
fn records_come_in_order_and_the_input_ends_when_all_senders_are_gone() {
    let (sender, source) = channel(8);
    let second = sender.clone();
    let (mut reader, mut other) = (opened(&source, 0), opened(&source, 1));
    let mut out = Collected::default();
    assert_eq!(other.poll(&mut out).unwrap(), Poll::Done);
    assert_eq!(reader.poll(&mut out).unwrap(), Poll::Idle(None));
    sender.send(1).unwrap();
    second.send(2).unwrap();
    assert_eq!(reader.poll(&mut out).unwrap(), Poll::More);
    drop(sender);
    assert_eq!(reader.poll(&mut out).unwrap(), Poll::Idle(None));
    second.send(3).unwrap();
    drop(second);
    assert_eq!(reader.poll(&mut out).unwrap(), Poll::More);
    assert_eq!(reader.poll(&mut out).unwrap(), Poll::Done);
    assert_eq!(out.records, [1, 2, 3]);
}

#[test]
fn a_full_channel_gives_the_record_back_and_so_does_one_that_nobody_reads() {
    let (sender, source) = channel(1);
    sender.try_send(1).unwrap();
    assert!(sender.try_send(2) == Err(TrySendError::Full(2)));
    drop(source);
    assert!(sender.try_send(3) == Err(TrySendError::Closed(3)));
    assert!(sender.send(4) == Err(SendError(4)));
}

#[test]
fn an_idle_reader_is_rung_for_by_the_next_record_and_by_the_last_sender() {
    let (sender, source) = channel(8);
    let mut reader = opened(&source, 0);
    let mut out = Collected::default();
    assert_eq!(reader.poll(&mut out).unwrap(), Poll::Idle(None));
    assert!(reader.bell.waiting.load(Ordering::Relaxed));
    sender.send(1).unwrap();
    assert!(!reader.bell.waiting.load(Ordering::Relaxed));
    assert_eq!(reader.poll(&mut out).unwrap(), Poll::More);
    assert_eq!(reader.poll(&mut out).unwrap(), Poll::Idle(None));
    drop(sender);
    assert!(!reader.bell.waiting.load(Ordering::Relaxed));
    assert_eq!(reader.poll(&mut out).unwrap(), Poll::Done);
}

#[test]
fn what_waits_in_the_channel_survives_a_restart() {
    let (sender, source) = channel(8);
    let reader = opened(&source, 0);
    sender.send(1).unwrap();
    drop(reader);
    let mut out = Collected::default();
    assert_eq!(opened(&source, 0).poll(&mut out).unwrap(), Poll::More);
    assert_eq!(out.records, [1]);
}

#[test]
fn a_batch_ends_when_what_is_below_is_full() {
    #[derive(Default)]
    struct Full(Collected<u64>);
    impl Emit<u64> for Full {
        fn emit(&mut self, record: u64) {
            self.0.emit(record);
        }
        fn is_full(&self) -> bool {
            true
        }
    }
    let (sender, source) = channel(8);
    let mut reader = opened(&source, 0);
    (0..3).for_each(|i| sender.send(i).unwrap());
    let mut out = Full::default();
    for n in 1..=3 {
        assert_eq!(reader.poll(&mut out).unwrap(), Poll::More);
        assert_eq!(out.0.records.len(), n);
    }
    assert_eq!(reader.poll(&mut out).unwrap(), Poll::Idle(None));
}

/// As a driver runs a subtask: poll twice without a find before waiting.
fn run_to_the_end(mut reader: ChannelSource<u64>, mut parker: Parker) -> Vec<u64> {
    let mut out = Collected::default();
    loop {
        match reader.poll(&mut out).unwrap() {
            Poll::Done => return out.records,
            Poll::More => continue,
            Poll::Idle(_) => parker.prepare(),
        }
        match reader.poll(&mut out).unwrap() {
            Poll::Done => return out.records,
            Poll::More => parker.cancel(),
            Poll::Idle(_) => parker.park(None),
        }
    }
}

#[test]
fn no_record_and_no_end_is_slept_through() {
    for round in 0..200 {
        let (sender, source) = channel(1 + round % 3);
        let parker = Parker::default();
        let mut reader = source.clone();
        let cx = SourceContext { waker: parker.waker(), ..Scene::new(1).context(0) };
        reader.open(cx, vec![]).unwrap();
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| run_to_the_end(reader, parker));
            for i in 0..100 {
                sender.send(i).unwrap();
                if i % 7 == 0 {
                    std::thread::yield_now();
                }
            }
            drop(sender);
            assert_eq!(reading.join().unwrap(), (0..100).collect::<Vec<_>>());
        });
    }
}

use super::{Parker, Waker};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn a_wake_between_prepare_and_park_ends_the_wait_at_once() {
    let mut parker = Parker::new();
    let waker = parker.waker();
    parker.prepare();
    waker.wake();
    parker.park(None);
}

#[test]
fn without_prepare_there_is_no_wait() {
    Parker::new().park(None);
    let mut parker = Parker::new();
    parker.prepare();
    parker.cancel();
    parker.park(None);
}

#[test]
fn a_timed_wait_ends_without_a_waker() {
    let mut parker = Parker::new();
    parker.prepare();
    parker.park(Some(Duration::from_millis(1)));
    Waker::nobody().wake();
    Waker::default().wake();
}

/// Each of many hand-overs between two threads that always park is seen: a lost wake-up would hang here.
#[test]
#[expect(clippy::disallowed_methods, reason = "the parker is tried with real threads")]
fn two_threads_that_park_never_miss_each_other() {
    const ROUNDS: usize = 5_000;
    let count = Arc::new(AtomicUsize::new(0));
    let (mut even, mut odd) = (Parker::new(), Parker::new());
    let (wake_even, wake_odd) = (even.waker(), odd.waker());
    let turns = |count: Arc<AtomicUsize>, mine: usize, parker: &mut Parker, other: Waker| {
        loop {
            let now = count.load(Ordering::Relaxed);
            if now >= ROUNDS {
                return;
            }
            if now % 2 == mine {
                count.store(now + 1, Ordering::Relaxed);
                other.wake();
                continue;
            }
            parker.prepare();
            let now = count.load(Ordering::Relaxed);
            if now >= ROUNDS || now % 2 == mine { parker.cancel() } else { parker.park(None) }
        }
    };
    let shared = Arc::clone(&count);
    let thread = std::thread::spawn(move || turns(shared, 1, &mut odd, wake_even));
    turns(Arc::clone(&count), 0, &mut even, wake_odd);
    thread.join().unwrap();
    assert_eq!(count.load(Ordering::Relaxed), ROUNDS);
}

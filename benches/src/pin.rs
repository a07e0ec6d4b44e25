//! Pinned threads, and how far apart the machine puts them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The processors that this process may use, in ascending order.
pub fn cores() -> Vec<usize> {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return vec![0] };
    (0..rustix::thread::CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect()
}

/// Runs `body` on a thread of its own that is pinned to the `index`-th allowed processor.
pub fn on<R: Send + 'static>(
    cores: &[usize],
    index: usize,
    body: impl FnOnce() -> R + Send + 'static,
) -> std::thread::JoinHandle<R> {
    let core = cores[index % cores.len()];
    std::thread::spawn(move || {
        pin(core);
        body()
    })
}

/// Pins the calling thread. A machine that refuses leaves it where it is: the figures then spread more.
pub fn pin(core: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(core);
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

/// Nanoseconds of a round trip of one cache line between two spinning, pinned threads: the median of some bursts.
///
/// All figures of two threads depend on it, and it changes by a factor of four when the host moves the cores.
pub fn round_trip_ns() -> f64 {
    const BURSTS: usize = 15;
    const TRIPS: u64 = 400;
    static BALL: AtomicU64 = AtomicU64::new(0);
    let cores = cores();
    BALL.store(0, Ordering::Release);
    let total = BURSTS as u64 * TRIPS;
    let back = on(&cores, 1, move || {
        for trip in 0..total {
            wait(&BALL, 2 * trip + 1);
            BALL.store(2 * trip + 2, Ordering::Release);
        }
    });
    let there = on(&cores, 0, move || {
        let burst = |burst: u64| {
            let begin = Instant::now();
            for trip in burst * TRIPS..(burst + 1) * TRIPS {
                BALL.store(2 * trip + 1, Ordering::Release);
                wait(&BALL, 2 * trip + 2);
            }
            begin.elapsed().as_nanos() as f64 / TRIPS as f64
        };
        (0..BURSTS as u64).map(burst).collect::<Vec<_>>()
    });
    let mut bursts = there.join().expect("the probe does not panic");
    back.join().expect("the probe does not panic");
    bursts.sort_by(f64::total_cmp);
    bursts[BURSTS / 2]
}

/// Spins until `ball` has `value`, and yields now and then, should both threads share a processor.
fn wait(ball: &AtomicU64, value: u64) {
    let mut spins = 0u32;
    while ball.load(Ordering::Acquire) != value {
        std::hint::spin_loop();
        spins += 1;
        if spins.is_multiple_of(10_000) {
            std::thread::yield_now();
        }
    }
}

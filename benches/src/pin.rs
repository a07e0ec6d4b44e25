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

fn wait(ball: &AtomicU64, value: u64) {
    let mut spin = Spin::default();
    while ball.load(Ordering::Acquire) != value {
        spin.once();
    }
}

/// Spinning that gives the processor away now and then, should others want it.
#[derive(Debug, Default)]
pub struct Spin(u32);

impl Spin {
    /// One more fruitless look.
    #[inline]
    pub fn once(&mut self) {
        self.0 += 1;
        if self.0.is_multiple_of(1 << 12) { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
}

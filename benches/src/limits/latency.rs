//! `latency` by hand: a paced thread, a bare ring, a thread that takes each record as it comes.
//!
//! Both wait as the engine does by default: spin a little, yield for at most 100 us, then park.

use crate::latency::{Delays, RECORDS, due};
use crate::pin;
use crate::workload::Outcome;
use std::time::{Duration, Instant};

const SPINS: u32 = 200;
const YIELD: Duration = Duration::from_micros(100);

/// Waiting that gets more patient the longer it lasts.
#[derive(Default)]
struct Patience {
    spins: u32,
    since: Option<Instant>,
}

impl Patience {
    /// Waits a little; parks at most until `due`, and at most a millisecond.
    fn wait(&mut self, due: Option<Instant>) {
        if self.spins < SPINS {
            self.spins += 1;
            return std::hint::spin_loop();
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() < YIELD {
            return std::thread::yield_now();
        }
        let longest = Duration::from_millis(1);
        std::thread::park_timeout(due.map_or(longest, |due| due.saturating_duration_since(Instant::now())));
    }
}

/// Sends paced records over a ring.
///
/// # Errors
/// When a thread panicked.
pub fn run() -> Result<Outcome, String> {
    let cores = pin::cores();
    let (mut tx, mut rx) = rtrb::RingBuffer::<u64>::new(1024);
    let begin = Instant::now();
    let consumer = pin::on(&cores, 1, move || {
        let mut arrivals = Vec::with_capacity(RECORDS as usize);
        let mut patience = Patience::default();
        while arrivals.len() < RECORDS as usize {
            match rx.pop() {
                Ok(i) => {
                    arrivals.push((i, begin.elapsed()));
                    patience = Patience::default();
                }
                Err(_) => patience.wait(None),
            }
        }
        arrivals
    });
    let wake = consumer.thread().clone();
    let producer = pin::on(&cores, 0, move || {
        for i in 0..RECORDS {
            let mut patience = Patience::default();
            while begin.elapsed() < due(i) {
                patience.wait(Some(begin + due(i)));
            }
            let mut spin = pin::Spin::default();
            while tx.push(i).is_err() {
                spin.once();
            }
            // At this rate the other thread is not parked: it yields for longer than the gap between records.
            if i % 1024 == 0 {
                wake.unpark();
            }
        }
    });
    producer.join().map_err(|_| "the producer panicked")?;
    let arrivals = consumer.join().map_err(|_| "the consumer panicked")?;
    let mut delays = Delays::default();
    arrivals.into_iter().for_each(|(i, at)| delays.arrived(i, at));
    delays.outcome()
}

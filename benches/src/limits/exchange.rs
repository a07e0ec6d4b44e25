//! `exchange` by hand: typed buffers of 32 KiB, handed over a ring of 16 and back over another.

use crate::input::record24;
use crate::pin;
use crate::workload::Outcome;
use std::time::Instant;

type Record = (u64, u64, u64);

/// Buffers in the ring, and bytes of each: the engine's defaults.
const RING: usize = 16;
const BUFFER: usize = 32 * 1024;

/// Hands `records` records from one pinned thread to another.
///
/// # Errors
/// When a thread panicked.
pub fn run(records: u64) -> Result<Outcome, String> {
    let cores = pin::cores();
    let (mut full_in, mut full_out) = rtrb::RingBuffer::<Vec<Record>>::new(RING);
    let (mut empty_in, mut empty_out) = rtrb::RingBuffer::<Vec<Record>>::new(RING + 2);
    let capacity = BUFFER / size_of::<Record>();
    for _ in 0..RING + 2 {
        empty_in.push(Vec::with_capacity(capacity)).map_err(|_| "the pool fits its ring")?;
    }
    let begin = Instant::now();
    let producer = pin::on(&cores, 0, move || {
        let mut at = 0;
        while at < records {
            let mut buffer = wait(|| empty_out.pop().ok());
            let end = records.min(at + capacity as u64);
            buffer.clear();
            buffer.extend((at..end).map(record24));
            at = end;
            let mut full = Some(buffer);
            wait(|| full_in.push(full.take()?).map_err(|rtrb::PushError::Full(back)| full = Some(back)).ok());
        }
    });
    let consumer = pin::on(&cores, 1, move || {
        let (mut count, mut sum) = (0, 0u64);
        while count < records {
            let buffer = wait(|| full_out.pop().ok());
            count += buffer.len() as u64;
            for (a, b, c) in &buffer {
                sum = sum.wrapping_add(a ^ b).wrapping_add(*c);
            }
            // The ring back holds all buffers; a push to it fails only when the producer is gone.
            let _ = empty_in.push(buffer);
        }
        (count, sum)
    });
    let (count, sum) = consumer.join().map_err(|_| "the consumer panicked")?;
    producer.join().map_err(|_| "the producer panicked")?;
    let seconds = begin.elapsed().as_secs_f64();
    Ok(Outcome::rate(records, seconds, vec![("count", count), ("sum", sum)]))
}

/// Spins until there is one.
#[inline]
fn wait<R>(mut try_it: impl FnMut() -> Option<R>) -> R {
    let mut spin = pin::Spin::default();
    loop {
        if let Some(value) = try_it() {
            return value;
        }
        spin.once();
    }
}

//! What both sides are fed with: records as functions of their index.

use std::sync::OnceLock;
use std::time::Instant;

/// Spreads the bits of an index: a bijection without patterns.
#[inline(always)]
pub fn mix(i: u64) -> u64 {
    let x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 32)
}

/// The map of the `chain` workload: a hash of 128-bit multiplications. (Arithmetic that vectorises would compare what the
/// compiler makes of a toy, not what the chain adds to a record.)
#[inline(always)]
pub fn chain_map(x: u64) -> u64 {
    let fold = |a: u64, b: u64| {
        let wide = u128::from(a) * u128::from(b);
        wide as u64 ^ (wide >> 64) as u64
    };
    fold(fold(x ^ 0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03), 0x8cb9_2ba7_2f3d_8dd7)
}

/// The filter of the `chain` workload: as selective as that of Nexmark's second query.
#[inline(always)]
pub fn chain_filter(x: u64) -> bool {
    x.is_multiple_of(123)
}

/// Record `i` of the `exchange` workload: 24 bytes.
#[inline(always)]
pub fn record24(i: u64) -> (u64, u64, u64) {
    (i, i.wrapping_mul(3), i ^ 0x5555)
}

/// The input of a `keyed-sum` workload: first every key once, so that tables have grown to their size before the
/// timing begins, then uniform keys. Both threads have half of each.
#[derive(Clone, Copy, Debug)]
pub struct Keyed {
    /// Distinct keys.
    pub keys: u64,
    /// Records that are timed.
    pub timed: u64,
}

/// Subtasks of the workloads with two threads.
pub const THREADS: u64 = 2;

impl Keyed {
    /// Records in all.
    pub fn records(self) -> u64 {
        self.keys + self.timed
    }

    /// Record `i`: key and value. The halves of the index range are the shares of the two threads.
    #[inline(always)]
    pub fn record(self, i: u64) -> (u64, u64) {
        let share = self.records() / THREADS;
        let (thread, at) = if i < share { (0, i) } else { (1, i - share) };
        let fill = self.keys / THREADS;
        let key = if at < fill {
            thread * fill + at
        } else {
            ((u128::from(mix(i)) * u128::from(self.keys)) >> 64) as u64
        };
        (key, i & 0xff)
    }

    /// Whether record `i` is the first timed one of its share.
    #[inline(always)]
    pub fn begins(self, i: u64) -> bool {
        let share = self.records() / THREADS;
        let fill = self.keys / THREADS;
        i == fill || i == share + fill
    }
}

/// The input of a `state` workload: first every key once, which is not timed, then uniform keys, in batches.
#[derive(Clone, Copy, Debug)]
pub struct Updates {
    /// Distinct keys.
    pub keys: u64,
    /// Updates that are timed.
    pub timed: u64,
}

/// Updates of a batch: about what a segment holds.
pub const BATCH: usize = 2048;

/// Bytes of a key as a text.
pub const TEXT: usize = 20;

impl Updates {
    /// The batches: whether they are timed, and the keys.
    pub fn batches(self) -> impl Iterator<Item = (bool, Vec<u64>)> {
        let batch = move |at: u64, end: u64| at..end.min(at + BATCH as u64);
        let fill = (0..self.keys).step_by(BATCH).map(move |at| (false, batch(at, self.keys).collect()));
        let draw = move |i: u64| ((u128::from(mix(i)) * u128::from(self.keys)) >> 64) as u64;
        let timed = (0..self.timed).step_by(BATCH);
        fill.chain(timed.map(move |at| (true, batch(at, self.timed).map(draw).collect())))
    }
}

/// Keys as texts of twenty bytes, one behind the other.
pub fn texts(keys: &[u64]) -> String {
    let mut text = String::with_capacity(keys.len() * TEXT);
    for key in keys {
        text.push_str("key-");
        for nibble in (0..16).rev() {
            text.push(char::from(b"0123456789abcdef"[(key >> (4 * nibble)) as usize % 16]));
        }
    }
    text
}

/// When the threads of a run began with what is timed, and when they were through with it.
///
/// The time of a run is from the last beginning to the last end: filling tables, and reading results out of them, are
/// not part of it.
#[derive(Debug, Default)]
pub struct Timed {
    begun: Moments,
    ended: Moments,
}

#[derive(Debug, Default)]
struct Moments([OnceLock<Instant>; THREADS as usize]);

impl Moments {
    fn mark(&self) {
        let now = Instant::now();
        let _ = self.0[0].set(now).or_else(|now| self.0[1].set(now));
    }

    fn last(&self) -> Option<Instant> {
        let all: Option<Vec<_>> = self.0.iter().map(OnceLock::get).collect();
        all.and_then(|all| all.into_iter().max().copied())
    }
}

impl Timed {
    /// One more thread begins.
    #[cold]
    pub fn begin(&self) {
        self.begun.mark();
    }

    /// One more thread is through.
    #[cold]
    pub fn end(&self) {
        self.ended.mark();
    }

    /// Seconds from the last beginning to the last end.
    ///
    /// # Errors
    /// When a thread never began or ended.
    pub fn seconds(&self) -> Result<f64, String> {
        let (Some(begun), Some(ended)) = (self.begun.last(), self.ended.last()) else {
            return Err("the timed part was not reached by all threads".into());
        };
        Ok(ended.saturating_duration_since(begun).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyed_input_fills_every_key_once_and_then_draws_uniformly() {
        let input = Keyed { keys: 1000, timed: 100_000 };
        let share = input.records() / 2;
        let fill = (0..500).chain(share..share + 500);
        let mut keys: Vec<u64> = fill.map(|i| input.record(i).0).collect();
        keys.sort_unstable();
        assert_eq!(keys, (0..1000).collect::<Vec<_>>());
        let mut counts = vec![0u32; 1000];
        (500..share).for_each(|i| counts[input.record(i).0 as usize] += 1);
        assert!(counts.iter().all(|n| (20..100).contains(n)), "50 each on average");
        assert_eq!((0..input.records()).filter(|i| input.begins(*i)).collect::<Vec<_>>(), [500, share + 500]);
    }

    #[test]
    fn the_chain_keeps_one_of_123() {
        let kept = (0..1_230_000).filter(|i| chain_filter(chain_map(*i))).count();
        assert!((9_700..10_300).contains(&kept), "{kept}");
    }
}

//! Work that an operator does besides its state: a chain of multiplications that takes about as long as is asked for.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// What the work of a record takes.
const TAKES: Duration = Duration::from_nanos(200);

/// Work of so many links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work(u32);

impl Work {
    /// None.
    pub const NONE: Self = Self(0);

    /// About 200 ns of it: measured once in a process, so that both sides do the same.
    pub fn calibrated() -> Self {
        static LINKS: OnceLock<u32> = OnceLock::new();
        Self(*LINKS.get_or_init(links))
    }

    /// Does it.
    #[inline(always)]
    pub fn run(self, seed: u64) {
        if self.0 > 0 {
            black_box(chain(self.0, seed));
        }
    }
}

#[inline(always)]
fn chain(links: u32, seed: u64) -> u64 {
    (0..links).fold(seed, |x, _| (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9))
}

/// How many links take as long: by the fastest of some bursts, which nobody else interrupted.
fn links() -> u32 {
    const BURST: u32 = 100_000;
    let burst = |seed| {
        let begun = Instant::now();
        black_box(chain(BURST, black_box(seed)));
        begun.elapsed()
    };
    let fastest = (0..50).map(burst).min().unwrap_or(TAKES);
    (TAKES.as_secs_f64() / fastest.as_secs_f64() * f64::from(BURST)).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_measured_once() {
        assert_eq!(Work::calibrated(), Work::calibrated());
        assert!(Work::calibrated() != Work::NONE);
    }
}

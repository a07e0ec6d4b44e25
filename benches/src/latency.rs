//! What `latency` measures on both sides: how long after it was due a record arrives.

use crate::workload::Outcome;
use std::time::Duration;

/// Records per second.
pub const RATE: u64 = 50_000;
/// Records of one run.
pub const RECORDS: u64 = 50_000;
/// Records at the beginning that are not counted: threads start, caches fill.
pub const WARM_UP: u64 = 5_000;

/// When record `i` is due, after the beginning.
pub fn due(i: u64) -> Duration {
    Duration::from_nanos(i * (1_000_000_000 / RATE))
}

/// Delays of the records that arrived.
#[derive(Debug, Default)]
pub struct Delays {
    nanos: Vec<u64>,
    seen: u64,
    sum: u64,
}

impl Delays {
    /// Record `i` arrived so long after the beginning.
    pub fn arrived(&mut self, i: u64, at: Duration) {
        self.seen += 1;
        self.sum += i;
        if i >= WARM_UP {
            self.nanos.push(u64::try_from(at.saturating_sub(due(i)).as_nanos()).unwrap_or(u64::MAX));
        }
    }

    /// The 99th percentile, in microseconds.
    ///
    /// # Errors
    /// When nothing arrived.
    pub fn outcome(mut self) -> Result<Outcome, String> {
        self.nanos.sort_unstable();
        let p99 = self.nanos.get(self.nanos.len() * 99 / 100).ok_or("no record arrived")?;
        let result = vec![("records", self.seen), ("sum", self.sum)];
        Ok(Outcome { figure: *p99 as f64 / 1_000.0, result })
    }
}

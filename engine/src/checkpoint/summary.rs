//! What completed checkpoints have in common: least, most, mean and quantiles.

use super::record::CheckpointRecord;
use std::collections::VecDeque;

/// Quantiles are those of so many newest values.
const RECENT: usize = 1000;

/// The values of one quantity. Least, most and mean are of all values, quantiles of the newest thousand.
///
/// ```
/// use millstream::checkpoint::Distribution;
///
/// let mut sizes = Distribution::default();
/// (1..=200).for_each(|size| sizes.take(size));
/// assert_eq!((sizes.min(), sizes.max(), sizes.mean()), (Some(1), Some(200), Some(100)));
/// assert_eq!((sizes.quantile(0.5), sizes.quantile(0.99)), (Some(100), Some(198)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    recent: VecDeque<u64>,
}

impl Distribution {
    /// One more value.
    pub fn take(&mut self, value: u64) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += 1;
        self.sum += u128::from(value);
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(value);
    }

    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn some(&self, value: u64) -> Option<u64> {
        (self.count > 0).then_some(value)
    }

    /// The least; none without values.
    pub fn min(&self) -> Option<u64> {
        self.some(self.min)
    }

    /// The most; none without values.
    pub fn max(&self) -> Option<u64> {
        self.some(self.max)
    }

    /// The mean, rounded down; none without values.
    pub fn mean(&self) -> Option<u64> {
        let mean = self.sum.checked_div(u128::from(self.count))?;
        u64::try_from(mean).ok()
    }

    /// The least of the newest values that this share of them does not exceed (nearest rank), from 0 to 1; none without
    /// values.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let mut sorted: Vec<u64> = self.recent.iter().copied().collect();
        sorted.sort_unstable();
        let rank = (share.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).copied()
    }
}

/// The completed checkpoints of this process together (REST-01).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointSummary {
    /// Bytes written for one.
    pub checkpointed_bytes: Distribution,
    /// Bytes that one refers to.
    pub full_bytes: Distribution,
    /// From the trigger to the last acknowledgement, in microseconds.
    pub duration_us: Distribution,
    /// Bytes held back during alignment.
    pub held_bytes: Distribution,
    /// Bytes processed between first and last barrier.
    pub processed_bytes: Distribution,
    /// Bytes of records in flight that one holds.
    pub persisted_bytes: Distribution,
}

impl CheckpointSummary {
    pub(super) fn take(&mut self, record: &CheckpointRecord) {
        let metrics = &record.metrics;
        self.checkpointed_bytes.take(metrics.bytes);
        self.full_bytes.take(metrics.full_bytes);
        self.duration_us.take(u64::try_from(record.duration.as_micros()).unwrap_or(u64::MAX));
        self.held_bytes.take(metrics.held_bytes);
        self.processed_bytes.take(metrics.processed_bytes);
        self.persisted_bytes.take(metrics.persisted_bytes);
    }
}

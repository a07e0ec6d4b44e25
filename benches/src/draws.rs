//! Keys that are drawn: uniformly, or few of them often.

use crate::input::mix;

/// How keys are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Each as often as any other.
    Uniform,
    /// The `r`-th most frequent as often as `1 / r^0.99`; which one that is has no pattern.
    Zipf,
}

/// So many keys below `keys`, the same in every run.
///
/// # Panics
/// When there are no keys, or more than a `u32` counts.
pub fn draws(spread: Spread, keys: u64, many: usize) -> Vec<u32> {
    assert!(keys > 0 && keys <= 1 << 32, "keys are counted by a `u32`, and there are some");
    match spread {
        Spread::Uniform => uniform(0, keys, many).collect(),
        Spread::Zipf => {
            let zipf = Zipf::new(keys, 0.99);
            let mut at = 0;
            let mut random = || {
                at += 1;
                (mix(at) >> 11) as f64 / (1u64 << 53) as f64
            };
            (0..many).map(|_| scattered(zipf.rank(&mut random) - 1, keys) as u32).collect()
        }
    }
}

/// So many keys, uniformly, of an endless row of draws from the one with this number on.
pub fn uniform(from: u64, keys: u64, many: usize) -> impl Iterator<Item = u32> {
    (from..from + many as u64).map(move |i| ((u128::from(mix(i)) * u128::from(keys)) >> 64) as u32)
}

/// A larger prime than there are keys: what it is multiplied with, modulo their number, is a bijection.
const PRIME: u64 = 4_294_967_311;

fn scattered(rank: u64, keys: u64) -> u64 {
    (u128::from(rank) * u128::from(PRIME) % u128::from(keys)) as u64
}

/// Ranks from 1 to `n` in proportion to `1 / rank^s`: by inverting the integral of that function, and rejecting the few
/// draws that are over the steps below it (Hörmann and Derflinger, 1996). Constant time, no table.
struct Zipf {
    n: f64,
    s: f64,
    /// The integral at both ends.
    ends: [f64; 2],
    /// A draw so near to its rank is never rejected.
    near: f64,
}

impl Zipf {
    fn new(n: u64, s: f64) -> Self {
        let mut zipf = Self { n: n as f64, s, ends: [0.0; 2], near: 0.0 };
        zipf.ends = [zipf.integral(1.5) - 1.0, zipf.integral(n as f64 + 0.5)];
        zipf.near = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    fn weight(&self, x: f64) -> f64 {
        x.powf(-self.s)
    }

    fn integral(&self, x: f64) -> f64 {
        (x.powf(1.0 - self.s) - 1.0) / (1.0 - self.s)
    }

    fn inverse(&self, y: f64) -> f64 {
        (1.0 + y * (1.0 - self.s)).powf(1.0 / (1.0 - self.s))
    }

    fn rank(&self, random: &mut impl FnMut() -> f64) -> u64 {
        loop {
            let y = self.ends[1] + random() * (self.ends[0] - self.ends[1]);
            let x = self.inverse(y);
            let rank = x.round().clamp(1.0, self.n);
            if rank - x <= self.near || y >= self.integral(rank + 0.5) - self.weight(rank) {
                return rank as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(spread: Spread, keys: u64, many: usize) -> Vec<u32> {
        let mut counts = vec![0; keys as usize];
        draws(spread, keys, many).into_iter().for_each(|key| counts[key as usize] += 1);
        counts
    }

    /// Against the probabilities, summed up term by term: within four standard deviations.
    #[test]
    fn zipf_draws_each_rank_as_often_as_its_weight_says() {
        const KEYS: u64 = 1000;
        const MANY: usize = 2_000_000;
        let counts = counts(Spread::Zipf, KEYS, MANY);
        let weights: Vec<f64> = (1..=KEYS).map(|rank| (rank as f64).powf(-0.99)).collect();
        let sum: f64 = weights.iter().sum();
        for (rank, weight) in (0..).zip(weights) {
            let expected = MANY as f64 * weight / sum;
            let found = f64::from(counts[scattered(rank, KEYS) as usize]);
            assert!(
                (found - expected).abs() < 4.0 * expected.sqrt() + 1.0,
                "rank {rank}: {found}, {expected}"
            );
        }
    }

    #[test]
    fn ranks_are_spread_over_all_keys() {
        for keys in [1, 1000, 10_000] {
            let mut all: Vec<_> = (0..keys).map(|rank| scattered(rank, keys)).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..keys));
        }
    }

    #[test]
    fn uniform_draws_are_even() {
        let counts = counts(Spread::Uniform, 1000, 100_000);
        assert!(counts.iter().all(|n| (50..160).contains(n)), "100 each on average");
    }
}

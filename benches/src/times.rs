//! What single operations took.

use std::time::Duration;

/// So large a part of the times is no longer than this, in microseconds. The order of the times is lost.
///
/// # Panics
/// When there are none.
pub fn percentile(times: &mut [Duration], part: f64) -> f64 {
    let at = (times.len() as f64 * part) as usize;
    let at = at.min(times.len() - 1);
    let (_, time, _) = times.select_nth_unstable(at);
    time.as_nanos() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_above_that_part_of_the_times() {
        let mut times: Vec<_> = (0..1000).rev().map(Duration::from_micros).collect();
        assert_eq!(percentile(&mut times, 0.999), 999.0);
        assert_eq!(percentile(&mut times, 0.5), 500.0);
        assert_eq!(percentile(&mut times, 1.0), 999.0);
    }
}

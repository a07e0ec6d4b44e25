//! How many rows are processed before the clock is looked at.

use std::time::Duration;

/// A step ends after this long, so that control gets its turn (ruling 11).
pub(crate) const STEP: Duration = Duration::from_millis(1);

/// Rows between two looks at most, behind an exchange and at a source, which may emit more cheaply.
pub(crate) const MOST_ROWS: usize = 128;
pub(crate) const MOST_EMITTED: usize = 256;

/// Aim for the time between two looks.
const AIM_NANOS: u128 = 100_000;

/// Adapts the number of rows between two looks at the clock to the measured time a row takes: a look costs as much as
/// several rows of a fast chain, while a single row of a slow one may take as long as a whole step.
#[derive(Debug)]
pub(crate) struct Pace {
    rows: usize,
    most: usize,
}

impl Pace {
    /// At most so many rows between two looks, and fewer until something is known.
    pub(crate) fn new(most: usize) -> Self {
        Self { rows: 16, most }
    }

    /// Rows to process before the next look.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// That many rows took so long.
    pub(crate) fn took(&mut self, rows: usize, time: Duration) {
        let per_row = time.as_nanos() / rows.max(1) as u128;
        let fit =
            AIM_NANOS.checked_div(per_row).and_then(|rows| usize::try_from(rows).ok()).unwrap_or(self.most);
        // Doubling at most: one lucky reading must not let the next slow row hide behind a hundred others.
        self.rows = fit.clamp(1, (self.rows * 2).min(self.most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_row_is_looked_at_alone_and_fast_rows_in_blocks() {
        let mut pace = Pace::new(128);
        assert_eq!(pace.rows(), 16);
        pace.took(16, Duration::from_nanos(160));
        pace.took(32, Duration::from_nanos(320));
        pace.took(64, Duration::from_nanos(640));
        pace.took(128, Duration::from_nanos(1280));
        assert_eq!(pace.rows(), 128);
        pace.took(128, Duration::from_millis(128));
        assert_eq!(pace.rows(), 1);
    }
}

//! Shares of time, from looks at what was spent. Pure.

use millstream_io::clock::Moment;
use millstream_io::counters::Spent;
use std::time::Duration;

/// Shares are those of a span that is at least so long, once there was one.
const LEAST: Duration = Duration::from_secs(1);

/// How a subtask spends a second, in milliseconds that together are a thousand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeShares {
    /// It works, or waits for a processor.
    pub busy_ms: u64,
    /// There is nothing for it to do.
    pub idle_ms: u64,
    /// What it emits finds no room.
    pub back_pressured_ms: u64,
}

#[derive(Clone, Debug, Default)]
struct Look {
    at: Moment,
    spent: Vec<Spent>,
}

/// Remembers two looks, so that however often somebody looks there is one that is long enough ago.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rates {
    older: Look,
    newer: Look,
}

impl Rates {
    /// An attempt begins, whose subtasks have spent nothing yet.
    pub(crate) fn begin(&mut self, at: Moment) {
        let look = Look { at, spent: Vec::new() };
        *self = Self { older: look.clone(), newer: look };
    }

    /// The shares of each subtask since the look that is long enough ago.
    pub(crate) fn look(&mut self, at: Moment, spent: Vec<Spent>) -> Vec<TimeShares> {
        if at.saturating_sub(self.newer.at) >= LEAST {
            self.older = std::mem::take(&mut self.newer);
            self.newer = Look { at, spent: spent.clone() };
        }
        let before = |index: usize| self.older.spent.get(index).copied().unwrap_or_default();
        spent.iter().enumerate().map(|(index, now)| shares(&before(index), now)).collect()
    }
}

fn shares(before: &Spent, now: &Spent) -> TimeShares {
    let spent = [
        now.busy.saturating_sub(before.busy),
        now.idle.saturating_sub(before.idle),
        now.back_pressured.saturating_sub(before.back_pressured),
    ];
    let all: u128 = spent.iter().map(Duration::as_nanos).sum();
    let [busy_ms, idle_ms, back_pressured_ms] =
        spent.map(|part| (part.as_nanos() * 1000).checked_div(all).unwrap_or(0) as u64);
    TimeShares { busy_ms, idle_ms, back_pressured_ms }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(busy: u64, idle: u64, back_pressured: u64) -> Vec<Spent> {
        let [busy, idle, back_pressured] = [busy, idle, back_pressured].map(Duration::from_millis);
        vec![Spent { busy, idle, back_pressured, ..Spent::default() }]
    }

    fn look(rates: &mut Rates, at: u64, spent: Vec<Spent>) -> (u64, u64, u64) {
        let shares = rates.look(Duration::from_millis(at), spent)[0];
        (shares.busy_ms, shares.idle_ms, shares.back_pressured_ms)
    }

    /// By hand: the span always goes back to a look that was at least a second before the one before it.
    #[test]
    fn met_01_shares_are_of_the_last_seconds() {
        let mut rates = Rates::default();
        rates.begin(Duration::from_secs(10));
        assert_eq!(look(&mut rates, 10_000, spent(0, 0, 0)), (0, 0, 0), "no time has passed");
        assert_eq!(look(&mut rates, 10_400, spent(100, 300, 0)), (250, 750, 0));
        assert_eq!(look(&mut rates, 12_000, spent(1_000, 500, 500)), (500, 250, 250));
        // Half a second later, from the beginning still.
        assert_eq!(look(&mut rates, 12_500, spent(1_000, 500, 1_000)), (400, 200, 400));
        // From 12 s on, of which it was blocked all the time.
        assert_eq!(look(&mut rates, 13_000, spent(1_000, 500, 1_500)), (0, 0, 1_000));
        assert_eq!(look(&mut rates, 13_900, spent(1_900, 500, 1_500)), (473, 0, 526));
    }

    #[test]
    fn met_01_a_new_attempt_begins_with_nothing() {
        let mut rates = Rates::default();
        rates.begin(Duration::ZERO);
        look(&mut rates, 5_000, spent(2_500, 2_500, 0));
        look(&mut rates, 9_000, spent(4_500, 4_500, 0));
        rates.begin(Duration::from_secs(9));
        assert_eq!(look(&mut rates, 9_100, spent(75, 25, 0)), (750, 250, 0));
    }
}

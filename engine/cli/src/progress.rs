//! The progress line: on a terminal only.

use crate::table::duration;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// What the progress line shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Records read so far.
    pub records: u64,
    /// The newest completed checkpoint and how long ago it completed, in ms.
    pub checkpoint: Option<(u64, u64)>,
}

/// Shows how a run goes on; silent when stderr is no terminal.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    last: Option<(Duration, u64)>,
}

impl Progress {
    /// A progress line on stderr, if it is a terminal.
    pub fn on_terminal() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { bar: None, last: None };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(
            ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        Self { bar: Some(bar), last: None }
    }

    /// Shows what is seen at `now`.
    pub fn show(&mut self, now: Duration, seen: Seen) {
        let rate = rate(self.last, now, seen.records);
        self.last = Some((now, seen.records));
        if let Some(bar) = &self.bar {
            bar.set_message(line(seen, rate));
            bar.tick();
        }
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Records per second since the last look.
fn rate(last: Option<(Duration, u64)>, now: Duration, records: u64) -> u64 {
    let (then, before) = last.unwrap_or((Duration::ZERO, 0));
    let micros = now.saturating_sub(then).as_micros();
    let rate = u128::from(records.saturating_sub(before)) * 1_000_000 / micros.max(1);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

fn line(seen: Seen, rate: u64) -> String {
    let checkpoint = match seen.checkpoint {
        None => "no checkpoint".to_owned(),
        Some((id, age)) => format!("checkpoint {id}, {} ago", duration(age)),
    };
    format!("{} records, {rate}/s, {checkpoint}", seen.records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_since_the_last_look() {
        let s = Duration::from_secs;
        assert_eq!(rate(None, s(2), 1000), 500);
        assert_eq!(rate(Some((s(2), 1000)), s(3), 1100), 100);
        // A restart goes back.
        assert_eq!(rate(Some((s(2), 1000)), s(3), 900), 0);
        assert_eq!(rate(Some((s(2), 1000)), s(2), 1001), 1_000_000);
    }

    #[test]
    fn the_line_shows_records_rate_and_how_far_the_last_checkpoint_lags() {
        let seen = Seen { records: 12, checkpoint: Some((3, 1500)) };
        assert_eq!(line(seen, 5), "12 records, 5/s, checkpoint 3, 1.5s ago");
        assert!(line(Seen::default(), 0).contains("no checkpoint"));
    }
}

//! The progress line: on a terminal only.

use crate::table::duration;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use millstream::RestoreProgress;
use std::io::IsTerminal;
use std::time::Duration;

/// What the progress line shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Records read so far.
    pub records: u64,
    /// The newest completed checkpoint and how long ago it completed, in ms.
    pub checkpoint: Option<(u64, u64)>,
    /// How far keyed state is restored, before records are read (MS-083).
    pub restoring: Option<RestoreProgress>,
}

impl Seen {
    /// What the rate is of: keys while these are restored, records after that.
    fn counted(self) -> u64 {
        self.restoring.map_or(self.records, |restoring| restoring.records_done)
    }
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
        let rate = rate(self.last, now, seen.counted());
        self.last = Some((now, seen.counted()));
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

/// Records, or keys, per second since the last look.
fn rate(last: Option<(Duration, u64)>, now: Duration, records: u64) -> u64 {
    let (then, before) = last.unwrap_or((Duration::ZERO, 0));
    let micros = now.saturating_sub(then).as_micros();
    let rate = u128::from(records.saturating_sub(before)) * 1_000_000 / micros.max(1);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

fn line(seen: Seen, rate: u64) -> String {
    if let Some(restoring) = seen.restoring {
        let RestoreProgress { records, records_done, .. } = restoring;
        return format!("restoring: {} %, {records_done} of {records} keys, {rate}/s", restoring.percent());
    }
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
        let seen = Seen { records: 12, checkpoint: Some((3, 1500)), restoring: None };
        assert_eq!(line(seen, 5), "12 records, 5/s, checkpoint 3, 1.5s ago");
        assert!(line(Seen::default(), 0).contains("no checkpoint"));
    }

    /// MS-083: in keys and in whole percent, of which there are 100 only when nothing is left.
    #[test]
    fn ms_083_the_line_shows_how_far_a_restore_is() {
        let seen = |records_done, bytes_done| {
            let restoring = RestoreProgress { records: 100_000, records_done, bytes: 3000, bytes_done };
            Seen { restoring: Some(restoring), ..Seen::default() }
        };
        assert_eq!(line(seen(0, 0), 0), "restoring: 0 %, 0 of 100000 keys, 0/s");
        assert_eq!(line(seen(99_000, 2999), 700), "restoring: 99 %, 99000 of 100000 keys, 700/s");
        assert_eq!(line(seen(100_000, 3000), 700), "restoring: 100 %, 100000 of 100000 keys, 700/s");
        assert_eq!(
            rate(Some((Duration::from_secs(2), 0)), Duration::from_secs(4), seen(900, 9).counted()),
            450
        );
    }
}

//! Whether the output of a simulated job is right.

use crate::job_dir::checkpoints_left;
use crate::report::{Run, lines};
use crate::zoo::{OUT, RECORDS};
use millstream::config::CheckpointMode;
use millstream_io::storage::MemoryStorage;
use std::collections::BTreeMap;
use std::path::Path;

/// The output of an undisturbed run.
pub(crate) struct Expected {
    /// Sorted.
    lines: Vec<String>,
    /// Numbers behind ` total `, by what stands before.
    totals: BTreeMap<String, u64>,
}

const TOTAL: &str = " total ";

fn total(line: &str) -> Option<(&str, u64)> {
    let (name, number) = line.split_once(TOTAL)?;
    Some((name, number.parse().ok()?))
}

impl Expected {
    pub(crate) fn new(lines: Vec<String>) -> Self {
        let totals =
            lines.iter().filter_map(|line| total(line)).map(|(name, n)| (name.to_owned(), n)).collect();
        Self { lines, totals }
    }
}

/// What is visible between two processes: nothing that should not be, and everything that was visible before. Returns
/// what is visible.
pub(crate) fn compare_between(
    disk: &MemoryStorage,
    expected: &Expected,
    mode: CheckpointMode,
    before: &[String],
) -> Result<Vec<String>, String> {
    let found = lines(disk, Path::new(OUT));
    if let Some(lost) = first_beyond(before, &found) {
        return Err(format!("{lost:?} was visible and is not any more"));
    }
    let extra = first_beyond(&found, &expected.lines);
    match extra.filter(|_| mode == CheckpointMode::ExactlyOnce) {
        Some(extra) => Err(format!("{extra:?} is visible, or is once too often")),
        None => Ok(found),
    }
}

/// The first of `some` that is not in `all`, or not as often; both are sorted.
fn first_beyond<'a>(some: &'a [String], all: &[String]) -> Option<&'a String> {
    let mut all = all.iter();
    some.iter().find(|line| !all.by_ref().take_while(|other| other <= line).any(|other| other == *line))
}

/// The output of a job that has ended, and what else it leaves.
pub(crate) fn compare_at_end(run: &Run, expected: &Expected, mode: CheckpointMode) -> Result<(), String> {
    let found = run.lines(OUT);
    match mode {
        CheckpointMode::ExactlyOnce => exactly(&found, expected)?,
        CheckpointMode::AtLeastOnce => at_least(&found, expected)?,
    }
    let mut hidden = run.hidden(OUT);
    // A power cut may bring back the empty file that a start tries a directory with.
    hidden
        .retain(|name| run.coverage.count("died by", "power cut") == 0 || !name.starts_with(".part-probe."));
    if run.clean && !hidden.is_empty() {
        return Err(format!("left behind: {hidden:?}"));
    }
    let left = checkpoints_left(&run.storage);
    if !left.is_superset(&run.kept) || run.clean && left != run.kept {
        return Err(format!("left checkpoints {left:?}, of which {:?} are the user's", run.kept));
    }
    match &run.summary {
        Some(summary) if mode == CheckpointMode::ExactlyOnce => {
            let counted = (summary.records_in, summary.records_out);
            let right = (RECORDS, expected.lines.len() as u64);
            if counted == right { Ok(()) } else { Err(format!("counted {counted:?} instead of {right:?}")) }
        }
        _ => Ok(()),
    }
}

fn exactly(found: &[String], expected: &Expected) -> Result<(), String> {
    if found == expected.lines {
        return Ok(());
    }
    let few = |lines: &[String], others: &[String]| -> Vec<String> {
        lines.iter().filter(|line| !others.contains(line)).take(3).cloned().collect()
    };
    let (lost, extra) = (few(&expected.lines, found), few(found, &expected.lines));
    let (n, right) = (found.len(), expected.lines.len());
    Err(format!("{n} lines instead of {right}; lost {lost:?}, extra {extra:?}"))
}

fn at_least(found: &[String], expected: &Expected) -> Result<(), String> {
    let mut greatest = BTreeMap::new();
    for line in found {
        match total(line) {
            Some((name, n)) => {
                let so_far = greatest.entry(name).or_insert(n);
                *so_far = n.max(*so_far);
            }
            None if expected.lines.binary_search(line).is_err() => return Err(format!("{line:?} is new")),
            None => {}
        }
    }
    for (name, n) in &expected.totals {
        match greatest.get(&**name) {
            Some(found) if found >= n => {}
            found => return Err(format!("{name}: total {found:?}, at least {n} expected")),
        }
    }
    let plain = |lines: &[String]| -> Vec<String> {
        lines.iter().filter(|line| total(line).is_none()).cloned().collect()
    };
    match first_beyond(&plain(&expected.lines), &plain(found)) {
        Some(lost) => Err(format!("{lost:?} is lost, or is not there often enough")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let mut lines: Vec<_> = text.split(';').filter(|line| !line.is_empty()).map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    }

    #[test]
    fn a_part_is_told_from_what_is_not() {
        let beyond = |some, all| first_beyond(&lines(some), &lines(all)).cloned();
        assert_eq!(beyond("", "a"), None);
        assert_eq!(beyond("a;c;c", "a;b;c;c;d"), None);
        assert_eq!(beyond("a;c;c", "a;b;c;d"), Some("c".into()));
        assert_eq!(beyond("b", "a;c"), Some("b".into()));
        assert_eq!(beyond("d", "a;c"), Some("d".into()));
    }

    #[test]
    fn exactly_once_is_every_line_as_often_as_it_should_be() {
        let expected = Expected::new(lines("a;a;b"));
        assert_eq!(exactly(&lines("a;a;b"), &expected), Ok(()));
        for wrong in ["a;b", "a;a;a;b", "a;a", "a;a;c"] {
            assert!(exactly(&lines(wrong), &expected).is_err(), "{wrong}");
        }
    }

    #[test]
    fn cp_22_at_least_once_may_repeat_lines_and_exceed_totals() {
        let expected = Expected::new(lines("a;a;b;k total 5"));
        for right in ["a;a;b;k total 5", "a;a;a;b;b;k total 9"] {
            assert_eq!(at_least(&lines(right), &expected), Ok(()), "{right}");
        }
        for wrong in ["a;b;k total 5", "a;a;b;k total 4", "a;a;b", "a;a;b;c;k total 5"] {
            assert!(at_least(&lines(wrong), &expected).is_err(), "{wrong}");
        }
    }
}

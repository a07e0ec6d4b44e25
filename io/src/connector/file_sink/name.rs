//! Names of output files.
//!
//! A committed file is `part-<subtask>-<n><suffix>`. Until then it is `.part-<subtask>-<n><suffix>.<job id>.<line>.uncommitted`:
//! hidden from readers, and marked with its owner, so that a start clears away what its own line left and nothing else.

use crate::record::Record;
use crate::sink::SinkContext;

/// One output file, by the parts of its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Record)]
#[record(crate = "crate::record")]
pub struct Part {
    /// The subtask that began it.
    pub subtask: u32,
    /// Number of the file; a job never uses one twice for a subtask.
    pub number: u64,
    /// What follows the number: `.txt`, `.csv`, or nothing.
    pub suffix: String,
    /// Who writes it: `<job id>.<line>`, or `<job id>.once` without checkpoints.
    pub owner: String,
}

const HIDDEN_END: &str = ".uncommitted";

impl Part {
    /// The name that readers see, once it is committed.
    pub fn visible(&self) -> String {
        format!("part-{}-{}{}", self.subtask, self.number, self.suffix)
    }

    /// The name before that.
    pub fn hidden(&self) -> String {
        format!(".{}.{}{HIDDEN_END}", self.visible(), self.owner)
    }
}

/// The owner's mark in hidden names. A run without checkpoints has a mark of its own: it knows of no checkpoint whose
/// files it must keep, so it must not take any for its own.
pub(super) fn owner(cx: &SinkContext) -> String {
    if cx.checkpointing { format!("{}.{}", cx.job_id, cx.line) } else { format!("{}.once", cx.job_id) }
}

/// A hidden name of this owner that stands for no part; to see whether a directory can be written to.
pub(super) fn probe(owner: &str) -> String {
    format!(".part-probe.{owner}{HIDDEN_END}")
}

/// Whether a file is one that this owner has not committed.
pub(super) fn is_uncommitted_of(name: &str, owner: &str) -> bool {
    name.starts_with(".part-")
        && name
            .strip_suffix(HIDDEN_END)
            .and_then(|rest| rest.strip_suffix(owner))
            .is_some_and(|rest| rest.ends_with('.'))
}

/// Subtask and number of any output file, hidden or not, whoever wrote it.
pub(super) fn numbers(name: &str) -> Option<(u32, u64)> {
    let rest = name.strip_prefix('.').unwrap_or(name).strip_prefix("part-")?;
    let (subtask, rest) = rest.split_once('-')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((subtask.parse().ok()?, rest[..end].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connector::testing::sink_context;

    fn part() -> Part {
        Part { subtask: 3, number: 12, suffix: ".csv".into(), owner: "0af1.2".into() }
    }

    #[test]
    fn visible_and_hidden_names() {
        assert_eq!(part().visible(), "part-3-12.csv");
        assert_eq!(part().hidden(), ".part-3-12.csv.0af1.2.uncommitted");
    }

    #[test]
    fn an_owner_knows_its_own_files_and_no_others() {
        let hidden = part().hidden();
        assert!(is_uncommitted_of(&hidden, "0af1.2"));
        assert!(is_uncommitted_of(&probe("0af1.2"), "0af1.2"));
        for other in ["0af1.1", "0af1.22", "af1.2", "0af2.2", "0af1.once"] {
            assert!(!is_uncommitted_of(&hidden, other), "{other}");
        }
        for name in ["part-3-12.csv", ".other.0af1.2.uncommitted", "part-0-0.0af1.2.uncommitted"] {
            assert!(!is_uncommitted_of(name, "0af1.2"), "{name}");
        }
    }

    #[test]
    fn the_owner_is_the_line_of_checkpoints_or_a_run_without() {
        let cx = sink_context(0, 1).0;
        assert_eq!(owner(&cx), "0123456789abcdef0123456789abcdef.1");
        let cx = SinkContext { checkpointing: false, ..cx };
        assert_eq!(owner(&cx), "0123456789abcdef0123456789abcdef.once");
    }

    #[test]
    fn numbers_of_any_output_file() {
        assert_eq!(numbers("part-3-12.csv"), Some((3, 12)));
        assert_eq!(numbers("part-0-0"), Some((0, 0)));
        assert_eq!(numbers(&part().hidden()), Some((3, 12)));
        for name in ["part-x-1", "part-1", "part-1-", "spart-1-1", "part-1-99999999999999999999999", ""] {
            assert_eq!(numbers(name), None, "{name}");
        }
    }
}

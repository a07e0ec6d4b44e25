//! What has happened to followed files: pure decisions from what was known and what is seen now.
//!
//! Modification times play no part (MS-053, MS-054): a file is known by its inode, and its content is taken for the
//! same as long as it is not shorter than what was read and begins as it did. Not noticed is a replacement that keeps
//! the inode, begins with the same bytes (1 KiB, or the whole old file if that was shorter) and is at least as long; the
//! byte in front of the reading position must also be LF then, so no line is ever cut in the middle by it.

use super::discover::Found;
use super::split::FileSplit;
use crate::record::hash_word;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Whether a file still has the content that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The bytes that were read are still there, and perhaps more.
    Same,
    /// It was truncated, or its inode is that of another file now: it begins anew.
    Replaced,
}

/// Judges a file that was read up to `read`, has `len` bytes now and begins with `head`.
pub(super) fn judge(known: &FileSplit, read: u64, len: u64, head: &[u8]) -> Verdict {
    if len < read || len < known.position || !known.print.fits(head) {
        Verdict::Replaced
    } else {
        Verdict::Same
    }
}

/// Which subtask follows the file with this inode. An inode stays with a file that is renamed, so every file has one
/// reader, whatever happens to its name.
pub(super) fn owner(inode: u64, parallelism: usize) -> usize {
    (hash_word(inode) % parallelism as u64) as usize
}

/// What is known of a file between two looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sight {
    pub path: PathBuf,
    /// Its length at the last look; nothing when it has not been looked at.
    pub len: Option<u64>,
}

/// What is to be done after a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A file that was not known: read it from its beginning.
    Begin(Found),
    /// A known file that has another name now.
    Rename(u64, PathBuf),
    /// A known file that has another length: read on.
    Read(u64, u64),
    /// A known file that is not among those seen.
    Missing(u64),
}

/// Compares the files seen now with those known, by inode, as far as they are this subtask's.
///
/// A file with several names is the one with the name that was known, or else the first by name.
pub(super) fn compare(
    known: &BTreeMap<u64, Sight>,
    seen: &[Found],
    mine: impl Fn(u64) -> bool,
) -> Vec<Action> {
    let mut now: BTreeMap<u64, &Found> = BTreeMap::new();
    for found in seen.iter().filter(|found| mine(found.inode)) {
        let same_name = known.get(&found.inode).is_some_and(|sight| sight.path == found.path);
        if same_name || !now.contains_key(&found.inode) {
            now.insert(found.inode, found);
        }
    }
    let mut actions = Vec::new();
    for (&inode, sight) in known {
        let Some(found) = now.remove(&inode) else {
            actions.push(Action::Missing(inode));
            continue;
        };
        if found.path != sight.path {
            actions.push(Action::Rename(inode, found.path.clone()));
        }
        if sight.len != Some(found.len) {
            actions.push(Action::Read(inode, found.len));
        }
    }
    actions.extend(now.into_values().map(|found| Action::Begin(found.clone())));
    actions
}

#[cfg(test)]
mod tests {
    use super::super::identity::Fingerprint;
    use super::super::split::FOLLOWED;
    use super::*;
    use std::path::Path;

    #[test]
    fn content_is_the_same_while_nothing_that_was_read_is_missing_and_the_beginning_stays() {
        let old = b"first line\nsecond\n";
        let mut known = FileSplit::new(Path::new("/a"), 7, Fingerprint::of(old), FOLLOWED);
        known.position = 11;
        let shorter_print = FileSplit { print: Fingerprint::of(b"first"), ..known.clone() };
        let unread = FileSplit { position: 0, print: Fingerprint::default(), ..known.clone() };
        use Verdict::{Replaced, Same};
        for (what, known, read, now, want) in [
            ("unchanged", &known, 18, &b"first line\nsecond\n"[..], Same),
            ("grown", &known, 18, b"first line\nsecond\nthird\n", Same),
            ("copytruncate", &known, 18, b"", Replaced),
            (
                "truncated in front of what was read, behind the position",
                &known,
                18,
                b"first line\n",
                Replaced,
            ),
            (
                "truncated and grown with another beginning",
                &known,
                18,
                b"other line\nand more, longer\n",
                Replaced,
            ),
            (
                "shorter than what was read, not than the position",
                &shorter_print,
                18,
                b"first line\n",
                Replaced,
            ),
            ("shorter than the position", &shorter_print, 0, b"first lin", Replaced),
            (
                "another beginning that keeps what the fingerprint covers",
                &shorter_print,
                18,
                b"first time\nsecond\n",
                Same,
            ),
            ("nothing read yet", &unread, 0, b"", Same),
            ("nothing read yet", &unread, 0, b"anything", Same),
        ] {
            assert_eq!(judge(known, read, now.len() as u64, now), want, "{what}");
        }
    }

    fn known(files: &[(u64, &str, Option<u64>)]) -> BTreeMap<u64, Sight> {
        files.iter().map(|(inode, path, len)| (*inode, Sight { path: path.into(), len: *len })).collect()
    }

    fn found(inode: u64, path: &str, len: u64) -> Found {
        Found { path: path.into(), inode, len }
    }

    #[test]
    fn a_look_is_compared_by_inode() {
        let old = known(&[(1, "/log", Some(10)), (2, "/b", None)]);
        for (what, seen, want) in [
            ("nothing happened", vec![found(2, "/b", 0), found(1, "/log", 10)], vec![Action::Read(2, 0)]),
            (
                "MS-055: renamed, and another file has the name",
                vec![found(3, "/log", 20), found(1, "/log.1", 12), found(2, "/b", 0)],
                vec![
                    Action::Rename(1, "/log.1".into()),
                    Action::Read(1, 12),
                    Action::Read(2, 0),
                    Action::Begin(found(3, "/log", 20)),
                ],
            ),
            (
                "MS-056: shorter",
                vec![found(1, "/log", 0), found(2, "/b", 0)],
                vec![Action::Read(1, 0), Action::Read(2, 0)],
            ),
            ("gone", vec![found(2, "/b", 5)], vec![Action::Missing(1), Action::Read(2, 5)]),
            (
                "two names for one file: the known one counts",
                vec![found(1, "/link", 10), found(1, "/log", 10), found(2, "/b", 0)],
                vec![Action::Read(2, 0)],
            ),
        ] {
            assert_eq!(compare(&old, &seen, |_| true), want, "{what}");
        }
        let actions =
            compare(&BTreeMap::new(), &[found(5, "/x", 1), found(5, "/y", 1), found(6, "/z", 1)], |i| i == 5);
        assert_eq!(
            actions,
            [Action::Begin(found(5, "/x", 1))],
            "one begin for each file, and only its owner's"
        );
    }

    #[test]
    fn every_file_has_one_owner_and_all_subtasks_own_some() {
        for parallelism in 1..9 {
            let mut files = vec![0; parallelism];
            (0..1000).for_each(|inode| files[owner(inode, parallelism)] += 1);
            assert!(files.iter().all(|n| *n > 50), "{files:?}");
        }
    }
}

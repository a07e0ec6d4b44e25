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

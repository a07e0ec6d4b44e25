//! Files that several checkpoints use: which ones some checkpoint still names, and the removal of those that none does (BE-05).
//!
//! A shared file is named after the line and the first checkpoint that may name it. All snapshots of its writer from that
//! one on name it until one does not, and what a completed one no longer names no later one will. So once a checkpoint is
//! complete, the files of its line with its number or a smaller one that no retained checkpoint names are nobody's.
//!
//! The first of what a snapshot wrote is its checkpoint. What a merge writes has none yet: its file is called `next`, and goes
//! only when nobody is at work, until it has its number, which is larger than those of all snapshots that name the old files.

use crate::layout::{JobDir, shared_of};
use crate::metadata::{Metadata, SHARED_FILE};
use millstream_io::id::CheckpointId;
use millstream_io::storage::{Kind, Result, Storage};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::ErrorKind;

/// The shared files that a checkpoint names, as they are called in their directory.
pub(super) fn named(metadata: &Metadata) -> impl Iterator<Item = String> {
    metadata.files.iter().filter_map(|file| file.name.strip_prefix(SHARED_FILE)).map(str::to_owned)
}

/// A removal that was decided on.
#[derive(Clone, Debug)]
pub(super) struct Sweep {
    /// Files of this line; of all lines without one.
    pub line: Option<u64>,
    /// Files that this checkpoint or one before may have named; all without one.
    pub newest: Option<CheckpointId>,
    /// What is still named.
    pub keep: HashSet<String>,
}

impl Sweep {
    /// Removes what is nobody's. Files of other names are somebody else's, and stay.
    pub fn run(&self, storage: &dyn Storage, dir: &JobDir) -> Result<()> {
        let shared = dir.shared();
        let entries = match storage.list(&shared) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        for entry in entries {
            if entry.kind == Kind::File && !entry.link && self.is_nobodys(&entry.name) {
                match storage.remove(&shared.join(&entry.name)) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn is_nobodys(&self, name: &OsStr) -> bool {
        let Some((line, first)) = shared_of(name) else { return false };
        self.line.is_none_or(|of| of == line)
            && self.newest.is_none_or(|newest| first.is_some_and(|first| first <= newest))
            && name.to_str().is_some_and(|name| !self.keep.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JobId;
    use millstream_io::storage::MemoryStorage;
    use std::path::Path;

    #[test]
    fn be_05_what_no_checkpoint_names_goes_and_everything_else_stays() {
        let storage = MemoryStorage::new();
        let dir = JobDir::new(Path::new("/c"), JobId::of("job"));
        let sweep = |line, newest, keep: &[&str]| Sweep {
            line,
            newest,
            keep: keep.iter().map(ToString::to_string).collect(),
        };
        sweep(None, None, &[]).run(&storage, &dir).unwrap();
        storage.create_dir_all(&dir.shared()).unwrap();
        let all = [
            "2-3-1-0",
            "2-4-1-0",
            "2-5-1-0",
            "2-6-1-0",
            "1-1-1-0",
            "notes",
            "2-x-1-0",
            "2-4",
            "2-next-1-0m1",
        ];
        for name in all {
            storage.create(&dir.shared().join(name)).unwrap();
        }
        let left = || {
            let names = storage.list(&dir.shared()).unwrap();
            let mut names: Vec<_> = names.into_iter().map(|e| e.name.into_string().unwrap()).collect();
            names.sort();
            names
        };
        sweep(Some(2), Some(CheckpointId(5)), &["2-4-1-0"]).run(&storage, &dir).unwrap();
        assert_eq!(left(), ["1-1-1-0", "2-4", "2-4-1-0", "2-6-1-0", "2-next-1-0m1", "2-x-1-0", "notes"]);
        sweep(None, None, &["2-4-1-0"]).run(&storage, &dir).unwrap();
        assert_eq!(left(), ["2-4", "2-4-1-0", "2-x-1-0", "notes"]);
    }
}

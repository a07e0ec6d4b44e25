//! Where the files of a job's checkpoints are (CS-04). Pure.

use crate::job_id::JobId;
use crate::metadata::{METADATA_FILE, SHARED_FILE};
use millstream_io::id::CheckpointId;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The directory of a job below the checkpoint directory: `<dir>/<job-id>`.
///
/// ```
/// use millstream_io::id::CheckpointId;
/// use millstream_state::{JobId, layout::JobDir};
///
/// let dir = JobDir::new("/checkpoints".as_ref(), JobId::of("abc"));
/// let metadata = dir.checkpoint(CheckpointId(7)).join("_metadata");
/// assert_eq!(metadata.to_str(), Some("/checkpoints/06b05ab6733a618578af5f94892f3950/chk-7/_metadata"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobDir {
    root: PathBuf,
}

impl JobDir {
    /// That of `job` below `checkpoints`.
    pub fn new(checkpoints: &Path, job: JobId) -> Self {
        Self { root: checkpoints.join(job.to_string()) }
    }

    /// The directory of some job, if this is one.
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Files that belong to checkpoint `id` alone.
    pub fn checkpoint(&self, id: CheckpointId) -> PathBuf {
        self.root.join(format!("chk-{id}"))
    }

    /// Files that several checkpoints may use.
    pub fn shared(&self) -> PathBuf {
        self.root.join("shared")
    }

    /// Files that belong to subtasks and are never deleted by the coordinator.
    pub fn task_owned(&self) -> PathBuf {
        self.root.join("taskowned")
    }

    /// The record of the job's lines of checkpoints.
    pub fn lineage(&self) -> PathBuf {
        self.root.join("lineage")
    }

    /// The metadata of the final checkpoint `id` of a line that has finished, until that has been told.
    pub fn untold(&self, id: CheckpointId) -> PathBuf {
        self.root.join(format!("{UNTOLD}{id}"))
    }

    /// The lock that the process holds which runs the job.
    pub fn lock(&self) -> PathBuf {
        self.root.join(".lock")
    }
}

/// What the name of the file begins with whose number says which checkpoint a line finished with.
const UNTOLD: &str = ".finished-";

/// The checkpoint whose directory has this name, if any has.
pub fn checkpoint_of(name: &OsStr) -> Option<CheckpointId> {
    numbered(name, "chk-")
}

/// The final checkpoint that a file of this name tells of, if it does.
pub fn untold_of(name: &OsStr) -> Option<CheckpointId> {
    numbered(name, UNTOLD)
}

fn numbered(name: &OsStr, prefix: &str) -> Option<CheckpointId> {
    let digits = name.to_str()?.strip_prefix(prefix)?;
    let canonical = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    if canonical { digits.parse().ok().map(CheckpointId) } else { None }
}

/// The metadata of a snapshot that is being deleted and may be anywhere: it says what is left to delete.
pub(crate) fn going(dir: &Path) -> PathBuf {
    dir.join(format!("{METADATA_FILE}.going"))
}

/// A data file of the checkpoint in directory `dir`, by the name that the metadata has for it.
pub fn data_file(dir: &Path, name: &str) -> PathBuf {
    match (name.strip_prefix(SHARED_FILE), dir.parent()) {
        (Some(shared), Some(parent)) => parent.join("shared").join(shared),
        _ => dir.join(name),
    }
}

/// What the name of a shared file says in place of a checkpoint's number, while that is not known.
const UNDECIDED: &str = "next";

/// The name of a file in the directory of shared files: `first` is the number from which on checkpoints of the line may name
/// it, as far as that is known; `writer` tells it from all others of that number.
///
/// ```
/// use millstream_io::id::CheckpointId;
/// use millstream_state::layout::shared_name;
/// assert_eq!(shared_name(1, Some(CheckpointId(7)), "2-0"), "1-7-2-0");
/// assert_eq!(shared_name(1, None, "2-0m1"), "1-next-2-0m1");
/// ```
pub fn shared_name(line: u64, first: Option<CheckpointId>, writer: &str) -> String {
    match first {
        Some(first) => format!("{line}-{first}-{writer}"),
        None => format!("{line}-{UNDECIDED}-{writer}"),
    }
}

/// The line and the checkpoint that are in the name of a shared file, if it is one.
pub fn shared_of(name: &OsStr) -> Option<(u64, Option<CheckpointId>)> {
    let mut parts = name.to_str()?.splitn(3, '-');
    let line = parts.next()?.parse().ok()?;
    let first = match parts.next()? {
        UNDECIDED => None,
        number => Some(CheckpointId(number.parse().ok()?)),
    };
    parts.next().map(|_| (line, first))
}

/// The directory of the snapshot that a user means: `path` itself, or what is around its `_metadata`.
pub fn snapshot_dir(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if path.file_name() == Some(OsStr::new(METADATA_FILE)) => parent,
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_chk_and_a_number_without_leading_zero_names_a_checkpoint() {
        assert_eq!(checkpoint_of("chk-1".as_ref()), Some(CheckpointId(1)));
        assert_eq!(checkpoint_of("chk-18446744073709551615".as_ref()), Some(CheckpointId(u64::MAX)));
        for other in
            ["chk-", "chk-0", "chk-07", "chk-+7", "chk-7 ", "Chk-7", "chk-18446744073709551616", "shared"]
        {
            assert_eq!(checkpoint_of(other.as_ref()), None, "{other}");
        }
    }

    #[test]
    fn a_snapshot_is_named_by_its_directory_or_its_metadata() {
        assert_eq!(snapshot_dir("a/chk-1".as_ref()), Path::new("a/chk-1"));
        assert_eq!(snapshot_dir("a/chk-1/_metadata".as_ref()), Path::new("a/chk-1"));
    }
}

//! What a simulated job has on the disk.

use crate::process::JOB;
use millstream_io::storage::{MemoryStorage, Storage, read_all};
use millstream_state::JobId;
use millstream_state::layout::untold_of;
use millstream_state::lineage::{LineEnd, Lineage};
use millstream_state::metadata::METADATA_FILE;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Where simulated jobs keep their checkpoints.
pub(crate) const CHECKPOINTS: &str = "/checkpoints";

pub(crate) fn job_dir() -> PathBuf {
    PathBuf::from(CHECKPOINTS).join(JobId::of(JOB).to_string())
}

/// Directories of checkpoints, complete or not.
pub(crate) fn checkpoints_left(disk: &MemoryStorage) -> BTreeSet<String> {
    let names = disk.list(&job_dir()).unwrap_or_default().into_iter();
    names.map(|e| e.name.to_string_lossy().into_owned()).filter(|name| name.starts_with("chk-")).collect()
}

/// Directories of complete checkpoints.
pub(crate) fn complete(disk: &MemoryStorage) -> BTreeSet<String> {
    let is_complete = |name: &String| disk.stat(&job_dir().join(name).join(METADATA_FILE)).is_ok();
    checkpoints_left(disk).into_iter().filter(is_complete).collect()
}

/// The newest complete checkpoint.
pub(crate) fn newest(disk: &MemoryStorage) -> Option<u64> {
    complete(disk).iter().filter_map(|name| name.strip_prefix("chk-")?.parse().ok()).max()
}

fn lineage(disk: &MemoryStorage) -> Option<Lineage> {
    Lineage::parse(&read_all(disk, &job_dir().join("lineage")).ok()?).ok()
}

/// The number of the job's line, as far as that is on record.
pub(crate) fn line(disk: &MemoryStorage) -> u64 {
    lineage(disk).map_or(0, |lineage| lineage.line)
}

/// How the job's line has ended, as far as that is on record.
pub(crate) fn line_end(disk: &MemoryStorage) -> LineEnd {
    lineage(disk).map_or(LineEnd::Open, |lineage| lineage.end)
}

/// Whether the job is over: its end is on record, and told.
pub(crate) fn has_finished(disk: &MemoryStorage) -> bool {
    let names = disk.list(&job_dir()).unwrap_or_default();
    line_end(disk) == LineEnd::Finished && names.iter().all(|entry| untold_of(&entry.name).is_none())
}

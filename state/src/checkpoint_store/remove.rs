//! Removing a checkpoint so that no crash leaves half of one that looks complete.

use crate::layout::JobDir;
use crate::metadata::METADATA_FILE;
use millstream_io::id::CheckpointId;
use millstream_io::storage::{self, Result, Storage};
use std::io::ErrorKind;
use std::path::Path;

/// Removes `chk-<id>` with all that is in it; fine when it is gone. Of a link the link itself: what it leads to is
/// somebody's, and stays as it is.
///
/// `_metadata` goes first, and durably: from then on it is an unfinished attempt, which every start skips.
pub(super) fn remove(storage: &dyn Storage, dir: &JobDir, id: CheckpointId) -> Result<()> {
    let checkpoint = dir.checkpoint(id);
    if is_link(storage, dir, &checkpoint)? {
        storage.remove(&checkpoint)?;
        return storage.sync_dir(dir.root());
    }
    match unpublish(storage, &checkpoint)? {
        Stood::Complete => storage.sync_dir(&checkpoint)?,
        Stood::Incomplete => {}
        Stood::Foreign => return Ok(()),
    }
    storage::remove_tree(storage, &checkpoint)?;
    storage.sync_dir(dir.root())
}

fn is_link(storage: &dyn Storage, dir: &JobDir, checkpoint: &Path) -> Result<bool> {
    let entries = storage.list(dir.root())?;
    Ok(entries.iter().any(|entry| entry.link && checkpoint.file_name() == Some(&entry.name)))
}

/// What stood in the place of a checkpoint.
enum Stood {
    Complete,
    /// An unfinished attempt, or nothing.
    Incomplete,
    /// Somebody's file of that name: nothing of ours.
    Foreign,
}

/// Takes `_metadata` away; durably only once the directory is synced.
fn unpublish(storage: &dyn Storage, checkpoint: &Path) -> Result<Stood> {
    let metadata = checkpoint.join(METADATA_FILE);
    match storage.remove(&metadata) {
        Ok(()) => Ok(Stood::Complete),
        Err(error) => match error.kind() {
            ErrorKind::NotADirectory => Ok(Stood::Foreign),
            ErrorKind::NotFound => Ok(Stood::Incomplete),
            // Whether it is gone is what counts, not what was said.
            _ if storage.stat(&metadata).is_err_and(|e| e.kind() == ErrorKind::NotFound) => {
                Ok(Stood::Complete)
            }
            _ => Err(error),
        },
    }
}

/// Removes what interrupted publications in the job's directory itself left (MS-052).
pub(super) fn remove_temporary(storage: &dyn Storage, dir: &JobDir) -> Result<()> {
    for entry in storage.list(dir.root())? {
        let name = entry.name.to_string_lossy();
        let ours = name.starts_with(".lineage.") || name.starts_with("..finished-");
        if ours && name.ends_with(".tmp") {
            storage.remove(&dir.root().join(&entry.name))?;
        }
    }
    Ok(())
}

//! Removing a checkpoint so that no crash leaves half of one that looks complete.

use crate::layout::JobDir;
use crate::metadata::METADATA_FILE;
use millstream_io::id::CheckpointId;
use millstream_io::storage::{self, Result, Storage};
use std::io::ErrorKind;

/// Removes `chk-<id>` with all that is in it; fine when it is gone.
///
/// `_metadata` goes first, and durably: from then on it is an unfinished attempt, which every start skips.
pub(super) fn remove(storage: &dyn Storage, dir: &JobDir, id: CheckpointId) -> Result<()> {
    let checkpoint = dir.checkpoint(id);
    match storage.remove(&checkpoint.join(METADATA_FILE)) {
        Ok(()) => storage.sync_dir(&checkpoint)?,
        // Somebody's file of that name: nothing of ours.
        Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    storage::remove_tree(storage, &checkpoint)?;
    storage.sync_dir(dir.root())
}

/// Removes what interrupted replacements of the lineage left (MS-052).
pub(super) fn remove_temporary(storage: &dyn Storage, dir: &JobDir) -> Result<()> {
    for entry in storage.list(dir.root())? {
        let name = entry.name.to_string_lossy();
        if name.starts_with(".lineage.") && name.ends_with(".tmp") {
            storage.remove(&dir.root().join(&entry.name))?;
        }
    }
    Ok(())
}

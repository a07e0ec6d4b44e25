//! Removing a savepoint (SP-07): by its `_metadata` first, so that what is left after a crash is no snapshot any more.

use crate::checkpoint_store::load;
use crate::error::StateError;
use crate::layout::snapshot_dir;
use crate::metadata::{METADATA_FILE, SnapshotKind};
use crate::savepoint::SavepointFault;
use millstream_io::storage::{Storage, remove_tree};
use std::io::ErrorKind;
use std::path::Path;

/// Deletes the savepoint that a user means: by its directory, or the `_metadata` in it. Nothing else is touched.
///
/// # Errors
/// There is none (ER-05), it is damaged, or it is a checkpoint, which belongs to its job.
pub fn dispose(storage: &dyn Storage, path: &Path) -> Result<(), StateError> {
    let dir = snapshot_dir(path);
    match load(storage, dir)?.kind {
        SnapshotKind::Savepoint => remove(storage, dir),
        SnapshotKind::Checkpoint | SnapshotKind::Final => {
            Err(SavepointFault::Checkpoint { path: dir.to_owned() }.into())
        }
    }
}

/// Removes the directory of a savepoint, complete or not.
pub(super) fn remove(storage: &dyn Storage, dir: &Path) -> Result<(), StateError> {
    match storage.remove(&dir.join(METADATA_FILE)) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        Err(_) => {}
        Ok(()) => storage.sync_dir(dir)?,
    }
    remove_tree(storage, dir)?;
    Ok(())
}

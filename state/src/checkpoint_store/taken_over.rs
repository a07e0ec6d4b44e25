//! A snapshot whose ownership has passed to the job (CL-02, CLAIM): it goes when the job's own checkpoints have superseded it.
//!
//! What goes is what its metadata names and nothing else: its own files, and those of the shared ones beside it that no other
//! completed checkpoint there names. `_metadata` goes first, and durably, so that no crash leaves half of one that looks
//! complete; of one that is half gone already the rest is what every start takes for an unfinished attempt.

use super::observe;
use super::verify::load;
use crate::error::StateError;
use crate::layout::{JobDir, data_file};
use crate::metadata::{METADATA_FILE, Metadata, SHARED_FILE};
use crate::recovery::Found;
use millstream_io::storage::{self, Lock, Storage};
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Removes the snapshot in `dir`, which may be a checkpoint of the job itself (`own`), of another job, or a copy of one
/// anywhere. Fine when it is gone.
///
/// # Errors
/// Those of the storage; [`StateError::InUse`] when it belongs to another job that is running: nothing is removed then.
pub(super) fn remove(storage: &dyn Storage, own: &JobDir, dir: &Path) -> Result<(), StateError> {
    if !observe::exists(storage, &dir.join(METADATA_FILE))? {
        return Ok(());
    }
    let metadata = load(storage, dir)?;
    let beside = dir.parent().unwrap_or(dir);
    let _lock = if beside == own.root() { None } else { lock(storage, beside)? };
    let shared = unshared(storage, beside, dir, &metadata)?;
    storage.remove(&dir.join(METADATA_FILE))?;
    storage.sync_dir(dir)?;
    let of_its_own = metadata.files.iter().filter(|file| !file.name.starts_with(SHARED_FILE));
    let of_its_own = of_its_own.map(|file| data_file(dir, &file.name));
    for path in of_its_own.chain(shared) {
        match storage.remove(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    // Somebody's file in it stays, and the directory with it.
    if storage.list(dir)?.is_empty() {
        storage::remove_tree(storage, dir)?;
        storage.sync_dir(beside)?;
    }
    Ok(())
}

/// The lock of the other job whose directory this is, if it is one.
fn lock(storage: &dyn Storage, beside: &Path) -> Result<Option<Box<dyn Lock>>, StateError> {
    let path = beside.join(".lock");
    if !observe::exists(storage, &path)? {
        return Ok(None);
    }
    match storage.try_lock(&path, "a job that takes a checkpoint over")? {
        Some(lock) => Ok(Some(lock)),
        None => Err(StateError::InUse { path, holder: "the job that took the checkpoint".to_owned() }),
    }
}

/// The shared files that this snapshot alone names. None where another one cannot be read: who knows what that names.
fn unshared(
    storage: &dyn Storage,
    beside: &Path,
    dir: &Path,
    metadata: &Metadata,
) -> Result<Vec<PathBuf>, StateError> {
    let shared = |metadata: &Metadata| -> HashSet<PathBuf> {
        let files = metadata.files.iter().filter(|file| file.name.starts_with(SHARED_FILE));
        files.map(|file| data_file(dir, &file.name)).collect()
    };
    let mut alone = shared(metadata);
    if alone.is_empty() {
        return Ok(Vec::new());
    }
    for found in observe::in_dir(storage, beside)?.iter().filter(|found: &&Found| found.complete) {
        let other = beside.join(format!("chk-{}", found.id));
        if other == dir {
            continue;
        }
        match load(storage, &other) {
            Ok(metadata) => alone.retain(|file| !shared(&metadata).contains(file)),
            Err(_) => return Ok(Vec::new()),
        }
    }
    Ok(alone.into_iter().collect())
}

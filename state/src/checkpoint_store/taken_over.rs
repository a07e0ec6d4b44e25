//! A snapshot whose ownership has passed to the job (CL-02, CLAIM): it goes when the job's own checkpoints have superseded it.
//!
//! What goes is what its metadata names and nothing else: its own files, and those of the shared ones beside it that no other
//! completed checkpoint there names. `_metadata` loses its name first, and durably, so that no crash leaves half of one that
//! looks complete. Under the other name it stays until all else is gone: it may be anywhere, where no start looks for what an
//! attempt has left, and only it knows what is left to go.

use super::observe;
use super::verify::{load, load_file};
use crate::error::StateError;
use crate::layout::{JobDir, data_file, going};
use crate::lineage::{Began, Lineage};
use crate::metadata::{METADATA_FILE, Metadata, SHARED_FILE};
use crate::recovery::Found;
use millstream_io::storage::{Lock, Storage};
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Removes the snapshot in `dir`, which may be a checkpoint of the job itself (`own`), of another job, or a copy of one
/// anywhere, or what an earlier removal has left of it. Fine when it is gone.
///
/// # Errors
/// Those of the storage; [`StateError::InUse`] when it belongs to another job that is running: nothing is removed then.
pub(super) fn remove(storage: &dyn Storage, own: &JobDir, dir: &Path) -> Result<(), StateError> {
    let (named, going) = (dir.join(METADATA_FILE), going(dir));
    let whole = observe::exists(storage, &named)?;
    if !whole && !observe::exists(storage, &going)? {
        return remove_empty(storage, dir);
    }
    let metadata = load_file(storage, dir, if whole { &named } else { &going })?;
    let beside = dir.parent().unwrap_or(dir);
    let _lock = lock(storage, own, dir)?;
    if whole {
        // Of an earlier snapshot in this place.
        remove_file(storage, &going)?;
        storage.rename(&named, &going)?;
        storage.sync_dir(dir)?;
    }
    let shared = unshared(storage, beside, dir, &metadata)?;
    let of_its_own = metadata.files.iter().filter(|file| !file.name.starts_with(SHARED_FILE));
    for file in of_its_own {
        remove_file(storage, &data_file(dir, &file.name))?;
    }
    for file in &shared {
        remove_file(storage, file)?;
    }
    // Until then their names may come back.
    storage.sync_dir(dir)?;
    if !shared.is_empty() {
        storage.sync_dir(&JobDir::at(beside).shared())?;
    }
    remove_file(storage, &going)?;
    remove_empty(storage, dir)
}

/// Removes the directory of a snapshot that is gone. Somebody's file in it stays, and the directory with it.
fn remove_empty(storage: &dyn Storage, dir: &Path) -> Result<(), StateError> {
    match storage.list(dir) {
        Ok(entries) if entries.is_empty() => {
            storage.remove_dir(dir)?;
            Ok(storage.sync_dir(dir.parent().unwrap_or(dir))?)
        }
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Removes what is left of a snapshot that a line began with and a killed process was removing. One that is whole, or that
/// another job has in use, is none of it.
///
/// # Errors
/// Those of [`remove`].
pub(super) fn finish(storage: &dyn Storage, own: &JobDir, line: &Lineage) -> Result<(), StateError> {
    let Began::At(dir) = &line.began else { return Ok(()) };
    if observe::exists(storage, &dir.join(METADATA_FILE))? || !observe::exists(storage, &going(dir))? {
        return Ok(());
    }
    remove(storage, own, dir)
}

fn remove_file(storage: &dyn Storage, path: &Path) -> Result<(), StateError> {
    match storage.remove(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// The lock of the other job to whose directory the snapshot in `dir` belongs, if it does.
///
/// # Errors
/// [`StateError::InUse`]: that job is running.
pub(super) fn lock(
    storage: &dyn Storage,
    own: &JobDir,
    dir: &Path,
) -> Result<Option<Box<dyn Lock>>, StateError> {
    let beside = JobDir::at(dir.parent().unwrap_or(dir));
    let path = beside.lock();
    if beside == *own || !observe::exists(storage, &path)? {
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
        let other = JobDir::at(beside).checkpoint(found.id);
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

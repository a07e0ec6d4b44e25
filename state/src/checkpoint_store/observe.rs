//! Looking at a job's directory without changing it.

use crate::error::StateError;
use crate::layout::{self, JobDir};
use crate::lineage;
use crate::metadata::{METADATA_FILE, Metadata};
use crate::recovery::{Facts, Found};
use millstream_io::storage::{self, Entry, Kind, Storage};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What is in the job's directory.
pub(super) fn observe(storage: &dyn Storage, dir: &JobDir) -> Result<Facts, StateError> {
    let names = names(storage, dir.root())?;
    let checkpoints = among(&names, storage, dir.root())?;
    let mut untold: Vec<_> = names.iter().filter_map(|entry| layout::untold_of(&entry.name)).collect();
    untold.sort();
    let lineage = lineage::read(storage, &dir.lineage())?;
    let highest_line = match lineage {
        Some(_) => 0,
        None => highest_line(storage, dir, &checkpoints),
    };
    Ok(Facts { dir: dir.clone(), lineage, checkpoints, untold, highest_line })
}

fn names(storage: &dyn Storage, dir: &Path) -> Result<Vec<Entry>, StateError> {
    match storage.list(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(StateError::Unusable),
    }
}

/// The `chk-*` by ascending id.
pub(super) fn checkpoints(storage: &dyn Storage, dir: &JobDir) -> Result<Vec<Found>, StateError> {
    in_dir(storage, dir.root())
}

/// The same, of any directory.
pub(super) fn in_dir(storage: &dyn Storage, dir: &Path) -> Result<Vec<Found>, StateError> {
    among(&names(storage, dir)?, storage, dir)
}

fn among(names: &[Entry], storage: &dyn Storage, dir: &Path) -> Result<Vec<Found>, StateError> {
    let mut found = Vec::new();
    for entry in names {
        if let Some(id) = layout::checkpoint_of(&entry.name) {
            let complete =
                entry.kind == Kind::Dir && exists(storage, &dir.join(&entry.name).join(METADATA_FILE))?;
            found.push(Found { id, complete });
        }
    }
    found.sort_by_key(|f| f.id);
    Ok(found)
}

pub(super) fn exists(storage: &dyn Storage, path: &Path) -> Result<bool, StateError> {
    match storage.stat(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StateError::Unusable(error)),
    }
}

/// Damaged checkpoints say nothing about their line; they are complained about when they are chosen.
fn highest_line(storage: &dyn Storage, dir: &JobDir, checkpoints: &[Found]) -> u64 {
    let line = |found: &Found| {
        let bytes = storage::read_all(storage, &dir.checkpoint(found.id).join(METADATA_FILE)).ok()?;
        Metadata::parse(&bytes).ok().map(|metadata| metadata.line)
    };
    checkpoints.iter().filter(|c| c.complete).filter_map(line).max().unwrap_or(0)
}

/// The absolute directory of the snapshot that a user names, also when it is gone: then what of its path is left is
/// resolved.
pub(super) fn absolute(storage: &dyn Storage, path: &Path) -> Result<PathBuf, StateError> {
    let dir = layout::snapshot_dir(path);
    let mut missing = Vec::new();
    let mut there = dir;
    loop {
        let tried = if there.as_os_str().is_empty() { Path::new(".") } else { there };
        match (storage.canonical(tried), there.parent(), there.file_name()) {
            (Ok(mut known), ..) => {
                known.extend(missing.iter().rev());
                return Ok(known);
            }
            (Err(error), Some(parent), Some(name)) if error.kind() == ErrorKind::NotFound => {
                missing.push(name);
                there = parent;
            }
            (Err(source), ..) => return Err(StateError::NoSnapshot { path: path.to_owned(), source }),
        }
    }
}

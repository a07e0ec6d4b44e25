//! Whether a completed checkpoint is what was written: its metadata and every file that it names (MS-019).

use crate::error::{FormatError, StateError};
use crate::layout::data_file;
use crate::metadata::{FileEntry, METADATA_FILE, Metadata};
use millstream_io::storage::{self, Storage};
use std::io::ErrorKind;
use std::path::Path;

/// How much is read at a time.
const CHUNK: usize = 256 << 10;

/// Reads the metadata of the snapshot in directory `dir` and checks it (ER-05, ER-06).
///
/// # Errors
/// There is none, or it is damaged.
pub fn load(storage: &dyn Storage, dir: &Path) -> Result<Metadata, StateError> {
    load_file(storage, dir, &dir.join(METADATA_FILE))
}

/// The same, with the metadata of the snapshot in the file `path`.
pub(super) fn load_file(storage: &dyn Storage, dir: &Path, path: &Path) -> Result<Metadata, StateError> {
    let bytes = match storage::read_all(storage, path) {
        Err(source) if is_absent(&source) => {
            return Err(StateError::NoSnapshot { path: dir.to_owned(), source });
        }
        other => other.map_err(|e| StateError::data_file(dir, e))?,
    };
    Metadata::parse(&bytes).map_err(|source| StateError::Damaged { path: path.to_owned(), source })
}

fn is_absent(error: &millstream_io::error::StorageError) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Reads the metadata of the snapshot in directory `dir` and every file that it names, and checks all checksums.
///
/// # Errors
/// The first file that is missing, cut off, too long or changed is named (ER-22).
pub fn verify(storage: &dyn Storage, dir: &Path) -> Result<Metadata, StateError> {
    let metadata = load(storage, dir)?;
    for file in &metadata.files {
        verify_file(storage, dir, file)?;
    }
    Ok(metadata)
}

fn verify_file(storage: &dyn Storage, dir: &Path, entry: &FileEntry) -> Result<(), StateError> {
    let failed = |e| StateError::data_file(dir, e);
    let path = data_file(dir, &entry.name);
    let file = storage.open(&path).map_err(failed)?;
    let mut crc = crc32fast::Hasher::new();
    let mut buffer = vec![0; CHUNK];
    let mut found = 0;
    loop {
        let n = file.read_at(&mut buffer, found).map_err(failed)?;
        if n == 0 {
            break;
        }
        crc.update(&buffer[..n]);
        found += n as u64;
    }
    let (expected, stored, computed) = (entry.len, entry.crc, crc.finalize());
    let problem = if found < expected {
        FormatError::Truncated { expected, found }
    } else if found > expected {
        FormatError::Trailing { expected, found }
    } else if stored != computed {
        FormatError::Checksum { part: "content", stored, computed }
    } else {
        return Ok(());
    };
    Err(StateError::Damaged { path, source: problem })
}

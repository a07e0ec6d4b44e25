//! The state processor: looks into checkpoints and savepoints without the program that wrote them (PA-01, PA-05).
//!
//! What the keys and values of a state are stands in the snapshot as schemas, by which they are read and shown. A key group at a
//! time is in memory; of a savepoint of the canonical form one key is found with a few blocks of its file. Nothing is ever
//! written.
//!
//! ```
//! use millstream_io::storage::DiskStorage;
//! use millstream_state::processor::Snapshot;
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! let missing = Snapshot::open(Arc::new(DiskStorage::new()), Path::new("/no/such/savepoint"));
//! assert!(missing.is_err_and(|error| error.to_string().contains("no valid snapshot")));
//! ```

mod diff;
mod entry;
mod find;
mod listing;
mod read;
#[cfg(test)]
mod tests;
mod verify;

pub use diff::{Difference, diff};
pub use entry::{EntryShape, Part, Parts};
pub use find::NotFound;
pub use listing::{ListedOperator, ListedState, Listing};
pub use read::{Elements, Entries};
pub use verify::{Verified, verify};

use crate::checkpoint_store::load;
use crate::error::StateError;
use crate::layout::snapshot_dir;
use crate::metadata::Metadata;
use crate::snapshot::SnapshotReader;
use millstream_io::storage::Storage;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A completed checkpoint or a savepoint that is looked into.
pub struct Snapshot {
    dir: PathBuf,
    metadata: Metadata,
    reader: SnapshotReader,
}

impl Snapshot {
    /// Opens the one that a user means: by its directory, or the `_metadata` in it.
    ///
    /// # Errors
    /// There is none (ER-05), or its metadata is damaged, of a newer release, or something else (ER-06).
    pub fn open(storage: Arc<dyn Storage>, path: &Path) -> Result<Self, StateError> {
        let dir = snapshot_dir(path).to_owned();
        let metadata = load(&*storage, &dir)?;
        let reader = SnapshotReader::new(storage, dir.clone());
        Ok(Self { dir, metadata, reader })
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What it consists of.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

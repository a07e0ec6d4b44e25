//! Making pending files visible, in a way that may be repeated.

use super::lifecycle::Closed;
use super::name::Part;
use super::restore::{Found, Loss};
use super::writer::Writer;
use crate::error::{Class, ConnectorError, StorageError};
use crate::id::CheckpointId;
use crate::storage::Storage;
use std::io::ErrorKind;
use std::path::Path;

/// What became of a file whose time had come.
enum Committed {
    Visible,
    Lost(ConnectorError),
}

impl Writer {
    /// Renames everything that checkpoint `id` covers. `ignore` is told of each file that is gone; without it that
    /// is an error.
    pub fn commit(
        &mut self,
        id: CheckpointId,
        mut ignore: Option<impl FnMut()>,
    ) -> Result<(), ConnectorError> {
        while let Some(file) = self.ledger.due(id) {
            match commit_one(&*self.directory.storage, &self.directory.path, file)? {
                Committed::Visible => {
                    self.cx.counters.records_out.add(file.records);
                    self.directory.names.change();
                }
                Committed::Lost(error) => match &mut ignore {
                    None => return Err(error),
                    Some(ignore) => ignore(),
                },
            }
            self.ledger.finished(id);
        }
        Ok(())
    }

    /// Nothing follows that would make the names durable that the last commits have changed.
    pub fn settle(&self) -> Result<(), ConnectorError> {
        Ok(self.directory.sync()?)
    }
}

fn commit_one(storage: &dyn Storage, dir: &Path, file: &Closed) -> Result<Committed, ConnectorError> {
    let (hidden, visible) = (dir.join(file.part.hidden()), dir.join(file.part.visible()));
    match storage.rename(&hidden, &visible) {
        Ok(()) => Ok(Committed::Visible),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let left = len(storage, &visible)?;
            if left.is_some_and(|left| left >= file.len) {
                return Ok(Committed::Visible);
            }
            let loss =
                Loss { len: file.len, checkpoint: file.sealed.map(|id| id.0), left, visible: left.is_some() };
            Ok(Committed::Lost(lost(dir, &file.part, &loss)))
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(taken(&visible)),
        Err(error) => Err(error.into()),
    }
}

/// MS-034: an existing file is never changed.
fn taken(visible: &Path) -> ConnectorError {
    let cause =
        "there is a file of this name already, of another job or of somebody else; it is not replaced";
    ConnectorError::new(Class::Fatal, "commit", visible.display().to_string(), cause).with_hint(
        "give every job an output directory of its own: if another one writes to this one, end it and let it begin in \
         another (`--output`); then move that file to the rest of its output, and start this job again: it goes on from \
         its last checkpoint",
    )
}

/// MS-030: data that a checkpoint counts as written is gone.
pub(super) fn lost(dir: &Path, part: &Part, loss: &Loss) -> ConnectorError {
    let name = if loss.visible { part.visible() } else { part.hidden() };
    ConnectorError::new(Class::Fatal, "commit", dir.join(name).display().to_string(), loss.to_string())
        .with_hint("bring the file back; name the directory that the job wrote to before, if this is another one; or let the sink go on without it (`ignore_missing`; in the command: `--ignore-missing`)")
}

/// The lengths of a file under both its names.
pub(super) fn find(storage: &dyn Storage, dir: &Path, part: &Part) -> Result<Found, StorageError> {
    Ok(Found {
        hidden: len(storage, &dir.join(part.hidden()))?,
        visible: len(storage, &dir.join(part.visible()))?,
    })
}

fn len(storage: &dyn Storage, path: &Path) -> Result<Option<u64>, StorageError> {
    match storage.stat(path) {
        Ok(stat) => Ok(Some(stat.len)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

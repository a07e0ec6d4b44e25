//! Starting: what earlier attempts left is checked, cleared away, or gone on with.

use super::commit::{find, lost};
use super::lifecycle::FileState;
use super::name::{Part, is_uncommitted_of, numbers, owner, probe};
use super::restore::{Step, decide};
use super::writer::{BUFFER, Writer};
use crate::error::{ConnectorError, StorageError};
use crate::sink::SinkContext;
use crate::storage::{Storage, WriteFile};
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::Path;

/// Once for all subtasks: everything that makes a start impossible is found before anything is changed.
pub(super) fn prepare(
    cx: &SinkContext,
    dir: &Path,
    ignore_missing: bool,
    restored: &[FileState],
    retained: &[FileState],
) -> Result<(), ConnectorError> {
    let storage = &*cx.storage;
    let owner = owner(cx);
    for state in restored {
        let Some(part) = state.part() else { continue };
        let found = find(storage, dir, part).map_err(unusable)?;
        if let (Step::Lost(loss), false) = (decide(state, found, &owner), ignore_missing) {
            return Err(lost(dir, part, &loss));
        }
    }
    storage.create_dir_all(dir).map_err(unusable)?;
    match storage.create(&dir.join(probe(&owner))) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(unusable(error)),
        _ => {}
    }
    let kept: HashSet<String> =
        restored.iter().chain(retained).filter_map(|state| Some(state.part()?.hidden())).collect();
    remove_uncommitted(storage, dir, &owner, &kept).map_err(unusable)
}

/// The owner's line is over: what it has left goes, unless another one begins with it.
pub(super) fn discard(cx: &SinkContext, dir: &Path, kept: &[FileState]) -> Result<(), ConnectorError> {
    let kept = kept.iter().filter_map(|state| Some(state.part()?.hidden())).collect();
    match remove_uncommitted(&*cx.storage, dir, &owner(cx), &kept) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn remove_uncommitted(
    storage: &dyn Storage,
    dir: &Path,
    owner: &str,
    kept: &HashSet<String>,
) -> Result<(), StorageError> {
    for entry in storage.list(dir)? {
        if let Some(name) = entry.name.to_str()
            && is_uncommitted_of(name, owner)
            && !kept.contains(name)
        {
            storage.remove(&dir.join(name))?;
        }
    }
    Ok(())
}

/// A directory that cannot be used (MS-009). It refuses the first start of a job; that of a later attempt may be tried
/// again.
fn unusable(error: StorageError) -> ConnectorError {
    ConnectorError::from(error)
        .with_hint("the output directory must be one in which files can be created, renamed and removed")
}

impl Writer {
    /// Goes on from the restored checkpoint. The state of all subtasks is given; a file belongs to the subtask with
    /// its number, modulo the parallelism. Returns how many files are lost, which is an error unless to be ignored.
    pub fn restore(&mut self, restored: Vec<FileState>, ignore_missing: bool) -> Result<u64, ConnectorError> {
        self.next = self.first_free(&restored)?;
        let mut lost_files = 0;
        for state in restored {
            let Some(part) = state.part().filter(|part| self.owns(part)) else { continue };
            let found = find(&*self.cx.storage, &self.directory.path, part)?;
            match decide(&state, found, &self.owner) {
                Step::Nothing => {}
                Step::Commit { len, checkpoint } => self.ledger.restored(part.clone(), len, checkpoint),
                Step::GoOn { len, records } => {
                    let file = self.cx.storage.append(&self.directory.path.join(part.hidden()), len)?;
                    self.take_over(part.clone(), file, len, records);
                }
                Step::Copy { len, records } => {
                    let (copy, file) = self.copy(part, len)?;
                    self.take_over(copy, file, len, records);
                }
                Step::Lost(_) if ignore_missing => lost_files += 1,
                Step::Lost(loss) => return Err(lost(&self.directory.path, part, &loss)),
            }
        }
        Ok(lost_files)
    }

    fn owns(&self, part: &Part) -> bool {
        part.subtask as usize % self.cx.parallelism.max(1) == self.cx.subtask
    }

    /// Above every number that any subtask has used according to the checkpoint, and above those of the files that
    /// are there under this subtask's name, whoever made them (MS-034).
    fn first_free(&self, restored: &[FileState]) -> Result<u64, ConnectorError> {
        let used = restored.iter().map(|state| match state {
            FileState::Counter { next } => *next,
            FileState::Open { part, .. } | FileState::Pending { part, .. } => part.number.saturating_add(1),
        });
        let mut next = used.max().unwrap_or(0);
        for entry in self.cx.storage.list(&self.directory.path)? {
            match entry.name.to_str().and_then(numbers) {
                Some((subtask, number)) if subtask as usize == self.cx.subtask => {
                    next = next.max(number.saturating_add(1));
                }
                _ => {}
            }
        }
        Ok(next)
    }

    /// Copies the beginning of somebody else's file into one of this subtask's own.
    fn copy(&mut self, from: &Part, len: u64) -> Result<(Part, Box<dyn WriteFile>), ConnectorError> {
        let storage = &self.cx.storage;
        let source = storage.open(&self.directory.path.join(from.hidden()))?;
        let copy = Part { suffix: from.suffix.clone(), ..self.next_part() };
        let path = self.directory.path.join(copy.hidden());
        let mut file = storage.create(&path)?;
        self.next += 1;
        self.directory.names.change();
        let mut chunk = vec![0; BUFFER];
        let mut done = 0;
        while done < len {
            let want = chunk.len().min(usize::try_from(len - done).unwrap_or(usize::MAX));
            let n = source.read_at(&mut chunk[..want], done)?;
            if n == 0 {
                let cause = std::io::Error::from(ErrorKind::UnexpectedEof);
                return Err(StorageError::not_done("copy", &path, cause).into());
            }
            file.append(&chunk[..n])?;
            done += n as u64;
        }
        Ok((copy, file))
    }
}

//! A job's completed checkpoints on durable storage (CS-04): begun, published, retained, discarded.
//!
//! A checkpoint exists once its `_metadata` has been published, atomically and after everything that it names is
//! durable, directories included. What is deleted loses its `_metadata` first. So at every moment,
//! crash or not, exactly those directories that have `_metadata` hold complete checkpoints (CS-07), and since an
//! older one goes only after a newer one is durable, there never is none once there was one (MS-004).

mod deletion;
mod observe;
mod opening;
mod permit;
mod remove;
mod retention;
mod shared;
mod taken_over;
#[cfg(test)]
mod tests;
mod traces;
mod verify;

pub use deletion::{Deletion, Left};
pub use opening::{Opening, Restored, StartFrom};
pub use permit::CommitPermit;
pub use retention::{JobEnd, Retention, line_end};
pub use verify::{load, verify};

use crate::error::StateError;
use crate::layout::{JobDir, data_file};
use crate::lineage::{self, Began, LineEnd, Lineage};
use crate::metadata::{METADATA_FILE, Metadata};
use millstream_io::error::Outcome;
use millstream_io::id::CheckpointId;
use millstream_io::storage::{self, Lock, ReadFile, Storage};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The checkpoints of a running job. Holds the job's lock (MS-074).
pub struct CheckpointStore {
    storage: Arc<dyn Storage>,
    dir: JobDir,
    lineage: Lineage,
    /// Completed checkpoints of the line, ascending.
    retained: Vec<CheckpointId>,
    next_id: CheckpointId,
    num_retained: usize,
    /// Checkpoints that were given up and are not all gone yet: of one that could not be deleted `_metadata` may be there,
    /// or the directory alone. No attempt goes on from them.
    doomed: Vec<CheckpointId>,
    /// The shared files that each checkpoint names which is not all gone: retained, doomed or being deleted.
    shared: HashMap<CheckpointId, Vec<String>>,
    /// Whether there may be shared files of the line.
    sharing: bool,
    /// The snapshot that the line began with, where the job owns it and it is still there.
    taken_over: Option<PathBuf>,
    /// Whether it has been said that it cannot go, because another job that runs has it.
    taken_over_in_use: bool,
    /// Discarded attempts that could not be removed yet.
    undiscarded: Vec<CheckpointId>,
    /// The final checkpoint of a line that has finished, until that has been told.
    untold: Option<CheckpointId>,
    /// Where it was kept, see [`CheckpointStore::told`].
    told: Option<Box<dyn ReadFile>>,
    /// Held until the job has ended; afterwards the directory belongs to whoever starts next.
    lock: Option<Arc<dyn Lock>>,
    /// Held by whoever deletes.
    deleting: Arc<Mutex<()>>,
}

impl CheckpointStore {
    /// The number of the current line.
    pub fn line(&self) -> u64 {
        self.lineage.line
    }

    /// The id for the first checkpoint of this process: above all that something is left of (CP-13; see
    /// [`recovery`](crate::recovery)).
    pub fn next_id(&self) -> CheckpointId {
        self.next_id
    }

    /// Completed checkpoints of the line, by ascending id. What the line began with is not among them.
    pub fn retained(&self) -> &[CheckpointId] {
        &self.retained
    }

    /// The directory of a checkpoint.
    pub fn checkpoint_dir(&self, id: CheckpointId) -> PathBuf {
        self.dir.checkpoint(id)
    }

    /// Where the job's files are.
    pub fn job_dir(&self) -> &JobDir {
        &self.dir
    }

    /// Prepares the directory of an attempt, which subtasks then write their files into. What a dead attempt of the
    /// same number left goes first (MS-010).
    ///
    /// # Errors
    /// [`StateError::Completed`] when a completed checkpoint has this number, [`StateError::Released`] when the job has
    /// ended; those of the storage.
    pub fn begin(&self, id: CheckpointId) -> Result<PathBuf, StateError> {
        self.held()?;
        let dir = self.dir.checkpoint(id);
        match self.storage.stat(&dir.join(METADATA_FILE)) {
            Ok(_) => return Err(StateError::Completed { path: dir }),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        storage::remove_tree(&*self.storage, &dir)?;
        self.storage.create_dir_all(&dir)?;
        Ok(dir)
    }

    /// Makes a checkpoint complete. The subtasks' files must have been synced; this makes their names durable, then
    /// publishes the metadata. Older checkpoints stay until [`CheckpointStore::subsume`].
    ///
    /// # Errors
    /// The checkpoint is not complete; a trace of it is left for [`CheckpointStore::discard`]. In the one case that
    /// this cannot be made certain the error is [fatal](millstream_io::error::Class::Fatal).
    pub fn publish(&mut self, metadata: &Metadata) -> Result<CommitPermit, StateError> {
        self.held()?;
        let id = metadata.checkpoint;
        let dir = self.dir.checkpoint(id);
        assert_eq!(metadata.line, self.lineage.line, "checkpoint {id} belongs to the current line");
        assert!(self.retained.last().is_none_or(|&newest| newest < id), "ids ascend");
        let bytes = metadata.encode().map_err(|source| StateError::Schema { checkpoint: id, source })?;
        self.check_files(&dir, metadata)?;
        self.storage.sync_dir(&dir)?;
        let shared: Vec<_> = shared::named(metadata).collect();
        if !shared.is_empty() {
            self.storage.sync_dir(&self.dir.shared())?;
            self.sharing = true;
        }
        if let Err(error) = self.storage.publish(&dir.join(METADATA_FILE), &bytes) {
            if error.outcome == Outcome::Indeterminate {
                let unsettled = |source| StateError::Unsettled { path: dir.clone(), source };
                remove::remove(&*self.storage, &self.dir, id).map_err(unsettled)?;
            }
            return Err(error.into());
        }
        self.retained.push(id);
        self.shared.insert(id, shared);
        // Where older ones stay beside it they would be taken for the newest if others deleted this one; else its being gone
        // shows by there being none at all.
        if self.num_retained > 1 || self.lineage.reached.is_none() {
            // Ahead of the permit, so that a start misses whatever a commit has followed. No more than a guard: without it
            // the checkpoint is as complete, and the next one tries again.
            let _ = self.note_reached();
        }
        Ok(CommitPermit::mint(id))
    }

    /// Puts on record that the newest checkpoint has been completed.
    fn note_reached(&mut self) -> storage::Result<()> {
        let lineage = self.lineage.reached(self.retained.last().copied());
        if lineage != self.lineage {
            lineage::write(&*self.storage, &self.dir.lineage(), &lineage)?;
            self.lineage = lineage;
        }
        Ok(())
    }

    fn check_files(&self, dir: &Path, metadata: &Metadata) -> Result<(), StateError> {
        for file in &metadata.files {
            let path = data_file(dir, &file.name);
            let (found, expected) = (self.storage.stat(&path)?.len, file.len);
            if found != expected {
                return Err(StateError::Incomplete { path, expected, found });
            }
        }
        Ok(())
    }

    /// What the next attempt of the running job goes on from: the newest completed checkpoint, while there is none
    /// what the line began with, else nothing.
    ///
    /// Its files are checked as they are read, not before.
    ///
    /// # Errors
    /// It is damaged or gone.
    pub fn latest(&self) -> Result<Option<Restored>, StateError> {
        let dir = match (self.retained.last(), &self.lineage.began) {
            (Some(&newest), _) => self.dir.checkpoint(newest),
            (None, Began::At(dir)) => dir.clone(),
            (None, Began::Empty) => return Ok(None),
        };
        let metadata = load(&*self.storage, &dir)?;
        Ok(Some(Restored::new(dir, metadata)))
    }

    /// Whether a snapshot is a checkpoint of the current line, so that later ones may name its shared files. What somebody else
    /// owns, be it an earlier line, may go at any time (CL-02).
    pub fn owns(&self, restored: &Restored) -> bool {
        restored.is_of(&self.dir, self.lineage.line)
    }

    /// The metadata of a retained checkpoint.
    ///
    /// # Errors
    /// It is damaged or gone.
    pub fn load(&self, id: CheckpointId) -> Result<Metadata, StateError> {
        load(&*self.storage, &self.dir.checkpoint(id))
    }

    /// Records how the job ended and deletes what has no purpose any more (ruling 10). Durable first is
    /// the record, so that a crash leaves nothing that a start would take for an unfinished run.
    ///
    /// A finished line is over only [once that has been told](CheckpointStore::told): a process that is killed in between
    /// can be started again, and [has nothing left to do](crate::recovery::Start::Conclude) but to tell.
    ///
    /// Once the end is on record, what cannot be deleted, for instance because a subtask's file is still being written,
    /// fails nothing: why is returned, and the next start deletes it.
    ///
    /// # Errors
    /// Those of the storage: the end is not on record.
    pub fn end(&mut self, end: &JobEnd, retention: Retention) -> Result<Vec<StateError>, StateError> {
        let Some(line_end) = line_end(end, retention) else {
            self.note_reached()?;
            return Ok(Vec::new());
        };
        if line_end == LineEnd::Finished {
            self.keep_to_tell()?;
        }
        let ended = self.lineage.ended(line_end);
        lineage::write(&*self.storage, &self.dir.lineage(), &ended)?;
        let deleting = Arc::clone(&self.deleting);
        let left = {
            // What is being deleted already would be in each other's way.
            let _turn = deleting.lock();
            self.delete_done(&ended)
        };
        self.lineage = ended;
        Ok(left)
    }

    /// What a start needs that has nothing left to do but to tell. Durable before the record of the end, without which
    /// it means nothing.
    fn keep_to_tell(&mut self) -> Result<(), StateError> {
        if let (None, Some(&last)) = (self.untold, self.retained.last()) {
            let metadata = self.dir.checkpoint(last).join(METADATA_FILE);
            let bytes = storage::read_all(&*self.storage, &metadata)?;
            self.storage.publish(&self.dir.untold(last), &bytes)?;
            self.untold = Some(last);
        }
        Ok(())
    }

    /// The end of a finished line has been told to whom it concerns: from now on a start is a new run. To be the very
    /// last step before the process exits, because one that is killed between it and its exit has finished without
    /// having said so.
    ///
    /// So it is as short as a step can be: one name goes. The file stays open, since giving back its space takes longer
    /// than that. The step is not durable: a power cut that undoes it costs no more than telling once more.
    ///
    /// # Errors
    /// Those of the storage: the next start tells once more.
    pub fn told(&mut self) -> Result<(), StateError> {
        let Some(id) = self.untold else { return Ok(()) };
        let path = self.dir.untold(id);
        self.told = self.storage.open(&path).ok();
        let removed = self.storage.remove(&path);
        // Whether it is gone is what counts, not what was said.
        if let Err(error) = removed
            && observe::exists(&*self.storage, &path).unwrap_or(true)
        {
            return Err(error.into());
        }
        self.untold = None;
        Ok(())
    }

    /// Deletes what an ended line has done with; gives what does not go, as reasons.
    fn delete_done(&mut self, ended: &Lineage) -> Vec<StateError> {
        // As found on disk, not as remembered: an earlier deletion may have failed.
        let mut done = match observe::checkpoints(&*self.storage, &self.dir) {
            Ok(found) => found,
            Err(error) => return vec![error],
        };
        done.retain(|f| {
            (ended.holds(f.id) || !f.complete) && ended.has_done_with(&self.dir.checkpoint(f.id))
        });
        let taken_over = self.taken_over.take().filter(|dir| ended.has_done_with(dir));
        let going: Vec<_> = done.iter().map(|found| found.id).collect();
        self.retained.retain(|kept| !going.contains(kept));
        let removed = done.iter().map(|found| remove::remove(&*self.storage, &self.dir, found.id));
        let mut left: Vec<_> = removed.filter_map(|removed| removed.err().map(StateError::from)).collect();
        if let Some(dir) = taken_over {
            left.extend(taken_over::remove(&*self.storage, &self.dir, &dir).err());
        }
        // As long as some are there, they name their files.
        if left.is_empty()
            && let Some(sweep) = self.sweep(None, &going)
        {
            left.extend(sweep.run(&*self.storage, &self.dir).err().map(StateError::from));
        }
        left
    }

    /// What removes the shared files of the line that were written for `newest` or before, and that no checkpoint names which
    /// may be there but for those that are `going` before it; `None` where there are none, or where it is not known what is named.
    fn sweep(&self, newest: Option<CheckpointId>, going: &[CheckpointId]) -> Option<shared::Sweep> {
        if !self.sharing || !self.retained.iter().all(|id| self.shared.contains_key(id)) {
            return None;
        }
        let staying = self.shared.iter().filter(|(id, _)| !going.contains(id));
        let keep = staying.flat_map(|(_, names)| names).cloned().collect();
        Some(shared::Sweep { line: Some(self.lineage.line), newest, keep })
    }

    /// Removes the shared files that an attempt of the running job left which has ended, all of it: those that no retained
    /// checkpoint names. Without it they would be there until the next checkpoint is complete, and more with each attempt,
    /// which on a disk that is full may be what keeps it from being complete (MS-069).
    ///
    /// # Errors
    /// Those of the storage; what is left is removed later.
    pub fn sweep_ended_attempt(&mut self) -> Result<(), StateError> {
        self.held()?;
        self.sharing = true;
        match self.sweep(None, &[]) {
            Some(sweep) => Ok(sweep.run(&*self.storage, &self.dir)?),
            None => Ok(()),
        }
    }

    fn held(&self) -> Result<(), StateError> {
        match self.lock {
            Some(_) => Ok(()),
            None => Err(StateError::Released { dir: self.dir.root().to_owned() }),
        }
    }

    /// Gives the directory up, as the death of the process does.
    pub fn release(&mut self) {
        self.lock = None;
    }
}

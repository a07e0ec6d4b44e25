//! Deleting checkpoints while the store answers others: what goes is decided by the store, and gone without it.

use super::remove::remove;
use super::shared::Sweep;
use super::taken_over;
use super::{CheckpointStore, StateError};
use crate::layout::JobDir;
use millstream_io::id::CheckpointId;
use millstream_io::storage::{Lock, Storage};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;

/// Checkpoints that the store has given up; [`Deletion::run`] deletes them, which may take its time.
#[must_use = "nothing is deleted before it runs"]
pub struct Deletion {
    storage: Arc<dyn Storage>,
    dir: JobDir,
    superfluous: Vec<CheckpointId>,
    discarded: Vec<CheckpointId>,
    /// What the line began with, and has superseded.
    taken_over: Option<PathBuf>,
    /// What goes behind them.
    shared: Option<Sweep>,
    one_at_a_time: Arc<Mutex<()>>,
    /// While this is at work the directory is nobody else's, also when the job has ended.
    _lock: Option<Arc<dyn Lock>>,
}

/// What a deletion could not delete, for the store to try again: see [`CheckpointStore::settle`].
#[must_use = "the store has to know what is still there"]
pub struct Left {
    superfluous: Vec<CheckpointId>,
    /// What is no longer there.
    gone: Vec<CheckpointId>,
    discarded: Vec<CheckpointId>,
    taken_over: Option<PathBuf>,
    cause: Option<StateError>,
}

impl Deletion {
    /// Deletes, oldest first. Waits for whoever is deleting already, unless there is nothing to delete.
    pub fn run(mut self) -> Left {
        let nothing = self.superfluous.is_empty() && self.discarded.is_empty();
        let nothing = nothing && self.taken_over.is_none() && self.shared.is_none();
        let turn = Arc::clone(&self.one_at_a_time);
        let _turn = (!nothing).then(|| turn.lock());
        let mut gone = self.superfluous.clone();
        let cause = self.all().err();
        let Self { superfluous, discarded, taken_over, .. } = self;
        gone.retain(|id| !superfluous.contains(id));
        Left { superfluous, gone, discarded, taken_over, cause }
    }

    fn all(&mut self) -> Result<(), StateError> {
        for ids in [&mut self.superfluous, &mut self.discarded] {
            while let Some(&id) = ids.first() {
                remove(&*self.storage, &self.dir, id)?;
                ids.remove(0);
            }
        }
        if let Some(sweep) = &self.shared {
            sweep.run(&*self.storage, &self.dir)?;
        }
        // Last, so that what cannot be had of others holds up nothing else.
        if let Some(dir) = &self.taken_over {
            taken_over::remove(&*self.storage, &self.dir, dir)?;
            self.taken_over = None;
        }
        Ok(())
    }
}

impl CheckpointStore {
    /// Gives up the completed checkpoints beyond the number to retain (RT-01), never the newest, and what could not be
    /// deleted before.
    pub fn superfluous(&mut self) -> Deletion {
        let many = self.retained.len().saturating_sub(self.num_retained);
        if self.lock.is_none() {
            return self.give_up(Vec::new());
        }
        let superfluous: Vec<_> = self.doomed.drain(..).chain(self.retained.drain(..many)).collect();
        let shared = self.retained.last().and_then(|id| self.sweep(Some(*id), &superfluous));
        // It counts as the oldest.
        let full = self.retained.len() >= self.num_retained;
        let taken_over = self.taken_over.take_if(|_| full);
        Deletion { shared, taken_over, ..self.give_up(superfluous) }
    }

    fn give_up(&mut self, superfluous: Vec<CheckpointId>) -> Deletion {
        Deletion {
            storage: Arc::clone(&self.storage),
            dir: self.dir.clone(),
            superfluous,
            taken_over: None,
            shared: None,
            // A directory that was given up is somebody else's.
            discarded: self.lock.as_ref().map_or_else(Vec::new, |_| std::mem::take(&mut self.undiscarded)),
            one_at_a_time: Arc::clone(&self.deleting),
            _lock: self.lock.clone(),
        }
    }

    /// Gives up an attempt that will never complete. While somebody is deleting it is left to the next deletion, so that
    /// no thread for background work waits behind a slow one for it.
    ///
    /// # Errors
    /// [`StateError::Completed`] when it is complete.
    pub fn discarded(&mut self, id: CheckpointId) -> Result<Deletion, StateError> {
        if self.retained.contains(&id) {
            return Err(StateError::Completed { path: self.dir.checkpoint(id) });
        }
        self.undiscarded.push(id);
        let mut deletion = self.give_up(Vec::new());
        if self.deleting.is_locked() {
            self.undiscarded.append(&mut deletion.discarded);
        }
        Ok(deletion)
    }

    /// A deletion has run. What is left is tried again the next time, and by the next start.
    ///
    /// # Errors
    /// Why something is left: those of the storage, for instance because a subtask was still writing into an attempt's
    /// directory. That another job has what was taken over is said once.
    pub fn settle(&mut self, left: Left) -> Result<(), StateError> {
        self.doomed.extend(left.superfluous);
        self.shared.retain(|id, _| !left.gone.contains(id));
        self.undiscarded.extend(left.discarded);
        self.taken_over = self.taken_over.take().or(left.taken_over);
        match left.cause {
            Some(StateError::InUse { .. }) if std::mem::replace(&mut self.taken_over_in_use, true) => Ok(()),
            Some(cause) => Err(cause),
            None => Ok(()),
        }
    }

    /// [`CheckpointStore::superfluous`], and waits for it.
    ///
    /// # Errors
    /// Those of [`CheckpointStore::settle`].
    pub fn subsume(&mut self) -> Result<(), StateError> {
        let left = self.superfluous().run();
        self.settle(left)
    }

    /// [`CheckpointStore::discarded`], and waits for it.
    ///
    /// # Errors
    /// Those of [`CheckpointStore::discarded`] and [`CheckpointStore::settle`].
    pub fn discard(&mut self, id: CheckpointId) -> Result<(), StateError> {
        let left = self.discarded(id)?.run();
        self.settle(left)
    }
}

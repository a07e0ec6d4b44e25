//! Merging a subtask's older snapshots in the background: see [`Merging`](millstream_state::snapshot::Merging).
//!
//! A merge goes on in small pieces of work, so that the snapshots of others, and of its own subtask, need not wait for it. When
//! it is done it takes a turn like a snapshot. All those before it name the old files and have smaller numbers than its own
//! file is then given; all those behind it name that.

use super::turns::{Busy, Shared};
use millstream_io::executor::Executor;
use millstream_io::id::CheckpointId;
use millstream_io::storage::Storage;
use millstream_state::StateError;
use millstream_state::layout::{data_file, shared_name};
use millstream_state::metadata::SHARED_FILE;
use millstream_state::snapshot::{MergePlan, Merged, Merging, WriteOptions};
use std::path::PathBuf;
use std::sync::{Arc, Weak};

/// Bytes that are read before somebody else gets a turn.
const PIECE: u64 = 4 << 20;

/// What merges are done with.
pub(crate) struct Workshop {
    pub(crate) storage: Arc<dyn Storage>,
    /// Not its own: work that waits there has the workshop, and nothing would ever go.
    pub(crate) executor: Weak<dyn Executor>,
    /// Where the directories of the job's checkpoints are.
    pub(crate) dir: PathBuf,
    pub(crate) options: WriteOptions,
    /// The line of checkpoints.
    pub(crate) line: u64,
    /// The subtask's name.
    pub(crate) name: String,
}

impl Workshop {
    /// The directory of some checkpoint.
    fn dir(&self) -> PathBuf {
        self.dir.join("chk-0")
    }

    fn path(&self, name: &str) -> PathBuf {
        data_file(&self.dir(), &format!("{SHARED_FILE}{name}"))
    }

    /// Removes shared files in the background. What does not go is removed by a sweep or by the next start.
    pub(super) fn remove_all(&self, names: Vec<Arc<str>>) {
        let Some(executor) = self.executor.upgrade() else { return };
        let storage = self.storage.clone();
        let paths: Vec<_> = names.iter().map(|name| self.path(name)).collect();
        executor.spawn(Box::new(move || {
            for path in paths {
                let _ = storage.remove(&path);
            }
        }));
    }
}

/// One merge.
pub(super) struct Merge {
    shared: Arc<Shared>,
    workshop: Arc<Workshop>,
    /// What the file is called until it has a number.
    name: String,
    writer: String,
    /// While it is there no other merge begins.
    busy: Busy,
}

impl Merge {
    /// Begins. The `nth` one of the subtask in this attempt, whose newest snapshot is `newest`: together these make
    /// its file's name the only one of its kind.
    pub fn begin(
        shared: Arc<Shared>,
        workshop: Arc<Workshop>,
        plan: MergePlan,
        newest: CheckpointId,
        nth: u64,
    ) {
        let busy = Busy::new(shared.clone());
        let name = shared_name(workshop.line, None, &format!("{}m{nth}-{newest}", workshop.name));
        let writer = format!("{}m{nth}", workshop.name);
        let merging = Merging::new(workshop.storage.clone(), &workshop.dir(), &name, plan, workshop.options);
        Self { shared, workshop, name, writer, busy }.go_on(merging);
    }

    fn go_on(self, merging: Merging) {
        self.spawn(|merge| merge.piece(merging));
    }

    /// Lets others go before what is to be done next.
    fn spawn(self, next: impl FnOnce(Self) + Send + 'static) {
        match self.workshop.executor.upgrade() {
            Some(executor) => executor.spawn(Box::new(move || next(self))),
            None => self.give_up(None),
        }
    }

    fn piece(self, mut merging: Merging) {
        if self.shared.is_over() {
            return self.give_up(None);
        }
        match merging.step(PIECE) {
            Ok(false) => self.go_on(merging),
            Ok(true) => self.finish(merging),
            Err(error) => self.give_up(Some(error)),
        }
    }

    fn finish(self, merging: Merging) {
        match merging.finish() {
            Ok(merged) => self.spawn(|merge| merge.take_turn(merged)),
            Err(error) => self.give_up(Some(error)),
        }
    }

    fn take_turn(self, mut merged: Merged) {
        if self.shared.is_over() {
            return self.give_up(None);
        }
        let (turn, newest) = Shared::turn(&self.shared);
        let workshop = &self.workshop;
        let name = shared_name(workshop.line, Some(CheckpointId(newest.0 + 1)), &self.writer);
        match merged.rename(&*workshop.storage, &workshop.dir(), &name) {
            Ok(()) => turn.replace(merged, self.busy),
            Err(error) => {
                turn.skip();
                // It may have been renamed all the same.
                self.remove(&name);
                self.give_up(Some(error));
            }
        }
    }

    /// The old files stay, and the next snapshot has another try.
    fn give_up(self, error: Option<StateError>) {
        self.remove(&self.name);
        match error {
            Some(error) => {
                tracing::warn!(subtask = self.workshop.name, "older snapshots could not be merged: {error}");
                self.busy.failed();
            }
            None => drop(self.busy),
        }
    }

    /// What does not go is removed by a sweep or by the next start.
    fn remove(&self, name: &str) {
        let _ = self.workshop.storage.remove(&self.workshop.path(name));
    }
}

#[cfg(test)]
mod tests;

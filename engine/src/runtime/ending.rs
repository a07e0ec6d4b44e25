//! The last step of a job that has finished.

use super::summary::Summary;
use crate::error::Error;
use millstream_state::checkpoint_store::{JobEnd, Retention};
use millstream_state::{CheckpointStore, StateError};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// What the user does at the end of a finished job.
pub(crate) type BeforeEnd = Box<dyn FnOnce(Ending) -> Result<Over, Error> + Send>;

/// A job that has processed and committed everything, which is not on record yet; see
/// [`Env::before_end`](crate::Env::before_end).
pub struct Ending {
    pub(super) summary: Summary,
    pub(super) store: Option<Arc<Mutex<CheckpointStore>>>,
    pub(super) retention: Retention,
}

impl Ending {
    /// What the run has come to.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Whether the job's final checkpoint is durable: while the end is not on record, a start of it has nothing to
    /// process. Without one, everything would be done once more.
    pub fn has_final_checkpoint(&self) -> bool {
        self.store.is_some()
    }

    /// Puts the end on record: from now on a start of this job is a new run. The last thing that it does is to say so;
    /// whoever is killed before that finds at the next start that all is done.
    ///
    /// # Errors
    /// The record cannot be written; the job is then not over.
    pub fn complete(self) -> Result<Over, Error> {
        if let Some(store) = &self.store {
            let mut store = store.lock();
            let left = store.end(&JobEnd::Finished, self.retention)?;
            warn_left(&self.summary.job, &left);
            store.told()?;
        }
        Ok(Over(()))
    }
}

/// What cannot be deleted now fails nobody.
pub(super) fn warn_left(job: &str, left: &[StateError]) {
    for error in left {
        tracing::warn!(job, %error, "a checkpoint of the ended job stays until the next start deletes it");
    }
}

impl fmt::Debug for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ending").field("summary", &self.summary).finish_non_exhaustive()
    }
}

/// The cause of the error with which an abandoned job ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("was abandoned by its handle")]
pub struct Abandoned;

/// Proof that the end of a job is on record.
#[derive(Debug)]
pub struct Over(());

//! Permission to commit.

use millstream_io::id::CheckpointId;

/// Proof that a checkpoint is complete and durable: whoever lets a sink commit must hold one.
///
/// Only the [`CheckpointStore`](super::CheckpointStore) makes it, after a checkpoint was published or when one was
/// verified for a restore, so that committing ahead of the checkpoint does not compile:
///
/// ```compile_fail
/// use millstream_io::id::CheckpointId;
/// let permit = millstream_state::checkpoint_store::CommitPermit { checkpoint: CheckpointId(1) };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitPermit {
    checkpoint: CheckpointId,
}

impl CommitPermit {
    pub(super) fn mint(checkpoint: CheckpointId) -> Self {
        Self { checkpoint }
    }

    /// Everything pre-committed up to and including this checkpoint may be committed.
    pub fn checkpoint(self) -> CheckpointId {
        self.checkpoint
    }
}

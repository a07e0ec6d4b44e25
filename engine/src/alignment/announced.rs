//! Aborted checkpoints of which nothing has been seen yet.

use millstream_io::id::CheckpointId;
use std::collections::BTreeSet;

/// A bounded set of ids. The coordinator has few checkpoints pending, and an id below one that has been seen is never
/// asked for again: the oldest one too many is not missed.
#[derive(Clone, Debug, Default)]
pub(super) struct Announced(BTreeSet<CheckpointId>);

impl Announced {
    const LIMIT: usize = 64;

    pub(super) fn add(&mut self, id: CheckpointId) {
        self.0.insert(id);
        if self.0.len() > Self::LIMIT {
            self.0.pop_first();
        }
    }

    /// Whether the id was announced; it is forgotten with that.
    pub(super) fn take(&mut self, id: CheckpointId) -> bool {
        self.0.remove(&id)
    }
}

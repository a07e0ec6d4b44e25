//! The life of output files: written, closed, pending, finished. Decides only; touches no file and reads no clock.
//!
//! ```text
//! open ──close──▶ closed ──seal(n)──▶ pending for n ──commit(m ≥ n)──▶ finished: forgotten
//! ```
//!
//! A file is in every snapshot from its seal to its commit. A snapshot that does not name it any more is complete only
//! after its work has synced the directory, so no power cut can take a name back that nobody remembers. Aborted
//! checkpoints change nothing: what was sealed for `n` is in the snapshot of the next one too, and committed with it.

use super::name::Part;
use crate::id::CheckpointId;
use crate::record::Record;

/// An element of the file sink's list state.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
#[record(crate = "crate::record")]
pub enum FileState {
    /// File numbers below this one are used up, by any subtask.
    Counter {
        /// The first number that is free.
        next: u64,
    },
    /// Being written: this many bytes of it belong to the checkpoint.
    Open {
        /// The file.
        part: Part,
        /// Its durable length.
        len: u64,
        /// The records in it. The checkpoint's counters are without them (ruling 29).
        records: u64,
    },
    /// Closed: is made visible when the checkpoint completes.
    Pending {
        /// The file.
        part: Part,
        /// Its length.
        len: u64,
        /// The checkpoint for which it was pre-committed first.
        checkpoint: u64,
    },
}

impl FileState {
    /// The file it is about.
    pub fn part(&self) -> Option<&Part> {
        match self {
            Self::Counter { .. } => None,
            Self::Open { part, .. } | Self::Pending { part, .. } => Some(part),
        }
    }
}

/// A file that is not written to any more, and not visible yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Closed {
    pub part: Part,
    pub len: u64,
    /// Records of this attempt's counters in it: none in a file that the restored checkpoint has counted already.
    pub records: u64,
    /// The checkpoint that it was sealed for; none until the next barrier.
    pub sealed: Option<CheckpointId>,
}

/// The files that one subtask has to bring to their end.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    files: Vec<Closed>,
}

impl Ledger {
    /// A file was closed, all of it belongs to the epoch that is being written.
    pub fn closed(&mut self, part: Part, len: u64, records: u64) {
        self.files.push(Closed { part, len, records, sealed: None });
    }

    /// A file that the restored checkpoint holds as pending.
    pub fn restored(&mut self, part: Part, len: u64, checkpoint: CheckpointId) {
        self.files.push(Closed { part, len, records: 0, sealed: Some(checkpoint) });
    }

    /// The barrier of checkpoint `id`: what is closed now belongs to it.
    pub fn seal(&mut self, id: CheckpointId) {
        for file in &mut self.files {
            file.sealed.get_or_insert(id);
        }
    }

    /// What a snapshot must hold of these files.
    pub fn snapshot(&self) -> impl Iterator<Item = FileState> + '_ {
        self.files.iter().filter_map(|file| {
            let CheckpointId(checkpoint) = file.sealed?;
            Some(FileState::Pending { part: file.part.clone(), len: file.len, checkpoint })
        })
    }

    /// The next file that the completion of checkpoint `id` makes visible.
    pub fn due(&self, id: CheckpointId) -> Option<&Closed> {
        self.files.iter().find(|file| file.is_due(id))
    }

    /// The file that was [`Ledger::due`] is visible, or given up.
    pub fn finished(&mut self, id: CheckpointId) {
        if let Some(at) = self.files.iter().position(|file| file.is_due(id)) {
            self.files.remove(at);
        }
    }
}

impl Closed {
    fn is_due(&self, id: CheckpointId) -> bool {
        self.sealed.is_some_and(|sealed| sealed <= id)
    }
}

#[cfg(test)]
mod tests;

//! The life of output files: written, closed, pending, renamed. Decides only; touches no file and reads no clock.
//!
//! ```text
//! open ──close──▶ Closed ──seal(n)──▶ Pending(n) ──commit(m ≥ n)──▶ Renamed ──names synced──▶ forgotten
//! ```
//!
//! A file stays in every snapshot until its new name is known to be durable: else a power cut could take the name back
//! when no snapshot knows of the file any more. Aborted checkpoints change nothing: what was sealed for `n` is in the
//! snapshot of the next one too, and committed with it.

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
    /// Was made visible; only a power cut may have taken that back.
    Renamed {
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
            Self::Open { part, .. } | Self::Pending { part, .. } | Self::Renamed { part, .. } => Some(part),
        }
    }
}

/// A file that is not written to any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finished {
    pub part: Part,
    pub len: u64,
    pub stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// No snapshot knows of it yet.
    Closed,
    /// Part of the snapshot of this checkpoint and of all later ones.
    Pending(CheckpointId),
    /// Visible; durable as soon as the change of names with this number is.
    Renamed(CheckpointId, u64),
}

/// The files that one subtask has to bring to their end.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    files: Vec<Finished>,
}

impl Ledger {
    /// A file was closed, all of it belongs to the epoch that is being written.
    pub fn closed(&mut self, part: Part, len: u64) {
        self.files.push(Finished { part, len, stage: Stage::Closed });
    }

    /// A file that the restored checkpoint holds as pending.
    pub fn restored(&mut self, part: Part, len: u64, checkpoint: CheckpointId) {
        self.files.push(Finished { part, len, stage: Stage::Pending(checkpoint) });
    }

    /// The barrier of checkpoint `id`: what is closed now belongs to it.
    pub fn seal(&mut self, id: CheckpointId) {
        for file in &mut self.files {
            if file.stage == Stage::Closed {
                file.stage = Stage::Pending(id);
            }
        }
    }

    /// What a snapshot must hold of finished files. Names changed up to change number `durable` cannot be taken back.
    pub fn snapshot(&mut self, durable: u64) -> impl Iterator<Item = FileState> + '_ {
        self.files.retain(|file| !matches!(file.stage, Stage::Renamed(_, change) if change <= durable));
        self.files.iter().filter_map(|file| {
            let (part, len) = (file.part.clone(), file.len);
            match file.stage {
                Stage::Closed => None,
                Stage::Pending(CheckpointId(checkpoint)) => {
                    Some(FileState::Pending { part, len, checkpoint })
                }
                Stage::Renamed(CheckpointId(checkpoint), _) => {
                    Some(FileState::Renamed { part, len, checkpoint })
                }
            }
        })
    }

    /// The next file that the completion of checkpoint `id` makes visible.
    pub fn due(&self, id: CheckpointId) -> Option<&Finished> {
        self.files.iter().find(|file| matches!(file.stage, Stage::Pending(n) if n <= id))
    }

    /// The file that was [`Ledger::due`] is visible, by change of names number `change`.
    pub fn renamed(&mut self, id: CheckpointId, change: u64) {
        if let Some(file) =
            self.files.iter_mut().find(|file| matches!(file.stage, Stage::Pending(n) if n <= id))
            && let Stage::Pending(sealed) = file.stage
        {
            file.stage = Stage::Renamed(sealed, change);
        }
    }

    /// The file that was [`Ledger::due`] is given up.
    pub fn give_up(&mut self, id: CheckpointId) {
        if let Some(at) =
            self.files.iter().position(|file| matches!(file.stage, Stage::Pending(n) if n <= id))
        {
            self.files.remove(at);
        }
    }
}

#[cfg(test)]
mod tests;

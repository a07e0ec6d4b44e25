//! What a completed checkpoint consists of: the content of its `_metadata` file.
//!
//! The file is written last and its presence makes the checkpoint complete (CS-04, CS-05), so everything that is
//! needed to restore is reachable from here: each operator's state descriptors, and for each of its subtasks handles
//! to the bytes, which stand in this file when they are few, else in a file beside it.

use crate::descriptor::{Backend, ListDescriptor, StateDescriptor};
use crate::job_id::JobId;
use crate::key_group::KeyGroup;
use crate::operator_id::OperatorId;
use millstream_io::id::CheckpointId;
use std::fmt;
use std::sync::Arc;

mod encode;
mod narrow;
mod parse;
#[cfg(test)]
mod tests;

/// Name of the file that makes a checkpoint complete.
pub const METADATA_FILE: &str = "_metadata";

/// How the name of a file begins that several checkpoints may use: the way to it from a checkpoint's directory.
pub const SHARED_FILE: &str = "../shared/";

/// What a snapshot was taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SnapshotKind {
    /// An ordinary checkpoint, periodic or asked for.
    Checkpoint,
    /// The last checkpoint of a run: at the end of bounded input, at a suspend or a stop. Sinks have closed their
    /// files, so that nothing in it is still being written (ruling 5).
    Final,
    /// A savepoint: its user's, who alone deletes it (SP-01). All of its files are beside its metadata (SP-02), and sinks have
    /// closed theirs.
    Savepoint,
}

/// How the state of a snapshot is written (SP-03).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SnapshotFormat {
    /// As its backend has it, for which alone it is.
    #[default]
    Native,
    /// The same for all backends. Savepoints alone have it.
    Canonical,
}

impl fmt::Display for SnapshotFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "native",
            Self::Canonical => "canonical",
        })
    }
}

/// Counters that count over a line of checkpoints, each record once however often it was replayed (ruling 29).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounters {
    /// Records read by sources, rejected ones included.
    pub records_in: u64,
    /// Records written by sinks up to this checkpoint: committed when it is.
    pub records_out: u64,
    /// Records that came after their window was gone.
    pub records_late: u64,
    /// Records that could not be used.
    pub records_rejected: u64,
}

/// A completed checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Metadata {
    /// Its number.
    pub checkpoint: CheckpointId,
    /// What it was taken for.
    pub kind: SnapshotKind,
    /// How its state is written.
    pub format: SnapshotFormat,
    /// The job that took it.
    pub job: JobId,
    /// That job's name.
    pub job_name: String,
    /// The line of checkpoints that it belongs to (ruling 2).
    pub line: u64,
    /// When it was triggered, in milliseconds since the epoch.
    pub trigger_ms: u64,
    /// When its last acknowledgement was in, in milliseconds since the epoch.
    pub completed_ms: u64,
    /// What the line has counted up to it.
    pub counters: LineCounters,
    /// The files that belong to it, beside `_metadata` or [shared](SHARED_FILE) with other checkpoints.
    pub files: Vec<FileEntry>,
    /// State and finished subtasks, by operator; ids are unique.
    pub operators: Vec<OperatorState>,
}

/// A data file of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Its name in the checkpoint's directory, or [`SHARED_FILE`] and that in the directory of shared files.
    pub name: Arc<str>,
    /// Its length in bytes.
    pub len: u64,
    /// CRC-32 of its content.
    pub crc: u32,
}

/// One operator's part of a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorState {
    /// Its id.
    pub id: OperatorId,
    /// The uid that the id comes from; `None` for a generated id.
    pub uid: Option<String>,
    /// Its name, for messages.
    pub name: String,
    /// Key groups that its keyed state is divided into (KG-04).
    pub max_parallelism: u32,
    /// Its keyed states; [`KeyedHandle::state`] counts in this list.
    pub states: Vec<StateDescriptor>,
    /// Its list states; [`ListHandle::list`] counts in this list.
    pub lists: Vec<ListDescriptor>,
    /// Its subtasks, as many as its parallelism.
    pub subtasks: Vec<SubtaskState>,
}

impl OperatorState {
    /// Number of its subtasks.
    pub fn parallelism(&self) -> usize {
        self.subtasks.len()
    }

    /// Whether all of its subtasks had finished, so that a restore must not run them again (CP-28).
    pub fn fully_finished(&self) -> bool {
        self.subtasks.iter().all(|s| s.finished)
    }

    /// Whether there is anything to restore.
    pub fn is_empty(&self) -> bool {
        self.subtasks.iter().all(|s| s.keyed.is_empty() && s.lists.is_empty())
    }

    /// How a person calls the operator: by uid where it has one, by name and id otherwise.
    pub fn label(&self) -> String {
        crate::assign::label(self.uid.as_deref(), &self.name, self.id)
    }
}

/// One subtask's part of an operator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubtaskState {
    /// Whether its input had ended and it had done everything that follows from that.
    pub finished: bool,
    /// Its keyed state, by state; states without entries are left out. A state whose snapshots are changes has a chain of
    /// them, the oldest first.
    pub keyed: Vec<KeyedHandle>,
    /// Its lists; empty ones are left out.
    pub lists: Vec<ListHandle>,
}

/// One keyed state of one subtask.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyedHandle {
    /// Which of the operator's states.
    pub state: u16,
    /// Its key groups in ascending order; empty ones are left out. Their parts follow one another in `data`.
    pub groups: Vec<GroupRange>,
    /// All groups' bytes.
    pub data: Handle,
    /// What these are.
    pub form: GroupForm,
}

/// What the bytes of a key group are. It follows from the [`Backend`] of the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GroupForm {
    /// What the backend wrote.
    #[default]
    Backend,
    /// Blocks of entries in the order of their keys, as savepoints of the canonical form have them.
    Canonical,
}

impl GroupForm {
    /// That of the groups of a state.
    pub fn of(backend: Backend) -> Self {
        if backend == Backend::Canonical { Self::Canonical } else { Self::Backend }
    }
}

/// Where a key group stands in a [`KeyedHandle`]'s data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRange {
    /// The key group.
    pub group: KeyGroup,
    /// Keys in it.
    pub entries: u64,
    /// First byte, counted in the handle's data.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
    /// CRC-32 of these bytes.
    pub crc: u32,
}

/// One list state of one subtask.
#[derive(Clone, Debug, PartialEq)]
pub struct ListHandle {
    /// Which of the operator's lists.
    pub list: u16,
    /// Number of elements.
    pub elements: u64,
    /// CRC-32 of the data.
    pub crc: u32,
    /// The elements one after the other, each behind its length as a `u32`.
    pub data: Handle,
}

/// Where bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handle {
    /// In the metadata itself.
    Inline(Arc<[u8]>),
    /// A part of one of the checkpoint's files.
    File {
        /// The file, one of [`Metadata::files`].
        name: Arc<str>,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        len: u64,
    },
}

impl Handle {
    /// Number of bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Inline(bytes) => bytes.len() as u64,
            Self::File { len, .. } => *len,
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

//! Keyed state, and what a checkpoint is on disk.
//!
//! This crate knows keys, key groups and snapshots; it sees parallelism as a number and knows nothing of barriers,
//! graphs or threads. What decides does no I/O; what does I/O goes through
//! [`millstream_io::storage::Storage`]. The formats stand in `docs/format.md`, byte by byte.
//!
//! Keyed state is kept by a [`keyed::KeyedBackend`], one table for one state of one subtask. [`key_group`] says which
//! subtask owns which key, [`redistribute`] how list state is given out after a restore.

pub mod assign;
mod canonical;
pub mod checkpoint_store;
mod codec;
pub mod descriptor;
pub mod error;
mod frame;
pub mod heap;
pub mod job_id;
pub mod key_group;
pub mod keyed;
pub mod kinds;
pub mod layout;
pub mod lineage;
pub mod local;
pub mod metadata;
pub mod operator_id;
pub mod ordered;
pub mod paged;
pub mod processor;
pub mod recovery;
pub mod redistribute;
mod rows;
pub mod savepoint;
pub mod snapshot;
#[cfg(test)]
mod testing;

pub use checkpoint_store::{CheckpointStore, CommitPermit};
pub use descriptor::{Backend, ListDescriptor, StateDescriptor, StateKind};
pub use error::{FormatError, StateError};
pub use heap::HeapState;
pub use job_id::JobId;
pub use key_group::{Grouping, KeyGroup, KeyGroupRange, Parallelism, ParallelismError, Router};
pub use keyed::{Entry, GroupChunk, KeyedBackend, KeyedSnapshot, RestoreError, Snapshots};
pub use layout::JobDir;
pub use metadata::{LineCounters, Metadata};
pub use operator_id::OperatorId;
pub use ordered::{BackendFactory, HeapOrdered, OrderedBackend, PagedOrdered};
pub use paged::PagedState;

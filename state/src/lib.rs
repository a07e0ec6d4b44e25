//! Keyed state, and what a checkpoint is on disk.
//!
//! This crate knows keys, key groups and snapshots; it sees parallelism as a number and knows nothing of barriers,
//! graphs or threads. What decides does no I/O; what does I/O goes through
//! [`millstream_io::storage::Storage`]. The formats stand in `docs/format.md`, byte by byte.

pub mod descriptor;
pub mod job_id;
pub mod metadata;
pub mod operator_id;

pub use descriptor::{ListDescriptor, StateDescriptor, StateKind};
pub use job_id::JobId;
pub use metadata::Metadata;
pub use operator_id::OperatorId;

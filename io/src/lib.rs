//! Bytes, files, time and connectors: everything of Millstream that knows neither keys nor operators.
//!
//! A record is bytes at every boundary ([`Record`]); bytes travel in segments over rings; whatever must
//! outlive the process goes through [`storage::Storage`]; time comes from a [`clock::Clock`], background work goes
//! to an [`executor::Executor`]. Sources and sinks are one trait each.

pub mod clock;
pub mod connector;
pub mod counters;
pub mod emit;
pub mod error;
pub mod executor;
pub mod format;
pub mod id;
pub mod prefetch;
pub mod record;
pub mod ring;
pub mod scratch;
pub mod segment;
pub mod sink;
pub mod source;
pub mod spill;
pub mod storage;
mod sync;
pub mod waker;

pub use record::{DecodeError, Key, Record, Row, Schema, View};

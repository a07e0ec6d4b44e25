//! An embeddable, exactly-once stream processing engine for one machine.

pub mod alignment;
mod api;
pub mod checkpoint;
pub mod config;
mod error;
mod exchange;
mod graph;
mod keyed;
mod operator;
pub mod restart;
pub mod runtime;
mod seed;
pub mod state;
mod task;

pub use api::{Env, KeyedStream, ProcessStream, SinkHandle, Stream};
pub use error::Error;
pub use keyed::{KeyContext, KeyedFunction};
pub use millstream_io::clock::Clock;
pub use millstream_io::emit::Emit;
pub use millstream_io::error::{Class, ConnectorError};
pub use millstream_io::id::CheckpointId;
pub use millstream_io::record::{self, Key, Record, Row, View};
pub use millstream_io::sink::{self, Sink};
pub use millstream_io::source::{self, Source};
pub use millstream_io::{connector, storage};
pub use millstream_state::JobId;
pub use operator::{Chain, Collector, Operator, OperatorContext};
pub use runtime::{
    CheckpointInfo, CheckpointRequest, Ending, JobControl, JobHandle, JobState, Metrics, Over,
    RestoreProgress, Summary,
};

/// The first program of the README, held to compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

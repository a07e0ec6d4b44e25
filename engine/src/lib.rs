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
mod task;

pub use error::Error;

//! An embeddable, exactly-once stream processing engine for one machine.

pub mod config;

pub mod alignment;
pub mod checkpoint;
pub mod restart;
mod seed;

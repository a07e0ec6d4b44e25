//! An embeddable, exactly-once stream processing engine for one machine.

pub mod config;

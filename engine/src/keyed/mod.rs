//! Keyed operators: behind a `key_by`, with state for each key.

mod context;
mod noted;
mod process;

pub use context::KeyContext;
pub use process::{NoEnd, OnEnd, Process};

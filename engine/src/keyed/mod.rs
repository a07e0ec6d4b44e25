//! Keyed operators: behind a `key_by`, with state for each key.

mod backends;
mod context;
mod failed;
mod function;
mod function_head;
mod noted;
mod process;
mod wake;

pub use context::KeyContext;
pub use function::KeyedFunction;
pub use function_head::Function;
pub use process::{NoEnd, OnEnd, Process};

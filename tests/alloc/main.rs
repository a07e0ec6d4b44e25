//! What the engine takes of memory, counted by the allocator itself.

mod counting;
mod fields;
mod records;
mod snapshots;

/// Jobs whose steps a test takes by hand.
#[path = "../../engine/tests/protocol/hand.rs"]
#[allow(dead_code, reason = "a part of it is used")]
mod hand;

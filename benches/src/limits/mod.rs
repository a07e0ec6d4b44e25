//! What a good engineer would write without a framework, as fast as it goes: one file a workload.
//!
//! Threads are pinned, buffers pooled, destinations looked up instead of branched on, tables flat and prefetched where
//! they outgrow the cache.

pub mod chain;
pub mod changes;
pub mod exchange;
pub mod keyed_sum;
pub mod latency;
pub mod spill;
pub mod state;
pub mod wordcount;

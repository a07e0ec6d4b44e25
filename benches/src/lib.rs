//! The engine against what a good engineer would write by hand: see README.md beside this crate.
//!
//! A *workload* is run by both sides in one process, in alternation. Both report a figure and a result; results that
//! differ are an error, since a rate without a checked result does not count.
#![expect(
    clippy::disallowed_methods,
    reason = "benchmarks measure the real clock, real threads and real files"
)]

pub mod catalogue;
pub mod draws;
pub mod engine;
pub mod harness;
pub mod input;
pub mod latency;
pub mod limits;
pub mod pin;
pub mod report;
pub mod text;
pub mod times;
pub mod work;
pub mod workload;

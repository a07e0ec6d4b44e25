//! The rules of barriers and checkpoints, held against real subtasks: each test decides which subtask takes its next
//! step, so that it can stop at the very moment that a rule is about.

mod barriers;
mod carried;
mod chain;
mod claim;
#[path = "../common/mod.rs"]
mod common;
mod deletions;
mod flow;
mod functions;
mod generated;
mod hand;
mod held;
mod jobs;
mod lifecycle;
mod local;
mod loops;
mod metrics;
mod modes;
mod on_end;
mod parts;
mod phases;
mod real_files;
mod rescale;
mod restarts;
mod snapshots;
mod statistics;
mod stopping;
mod streaming;
mod unaligned;

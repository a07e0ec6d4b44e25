//! Deterministic simulation and fault injection for Millstream jobs.
//!
//! A [`Simulation`] runs a whole job in one thread: subtasks, background work and supervisor are stepped in an order
//! drawn from a seed, time is virtual, files are in memory. It kills the process or cuts the power at storage
//! operations and between steps, injects single failures, starts the job again from what is left, and so on until it
//! ends. A run is a function of job and seed: a failure is repeated by running its seed again.
//!
//! ```
//! use millstream::Env;
//! use millstream::connector::{FileSink, Generator};
//! use millstream_testkit::Simulation;
//!
//! let job = |env: &Env| {
//!     env.source(Generator::new(200, |i| i))
//!         .map(|n| format!("{n}").into_bytes())
//!         .uid("format")
//!         .sink(FileSink::lines("/out"));
//! };
//! let undisturbed = Simulation::new(1).undisturbed().run(job).unwrap();
//! for seed in 1..20 {
//!     let run = Simulation::new(seed).run(job).unwrap();
//!     assert_eq!(run.lines("/out"), undisturbed.lines("/out"), "seed {seed}");
//! }
//! ```
//!
//! What is simulated and what is not: the engine's own code is the real one, in both the subtasks and the supervisor.
//! Threads and their interleavings within a step are not simulated (the rings are model-checked instead), nor are
//! the operating system's calls (the disk storage has tests of its own).

pub mod campaign;
mod clock;
mod compare;
mod coverage;
mod driver;
mod faults;
mod job_dir;
mod orders;
mod process;
mod quiet;
mod report;
mod rng;
mod shared;
mod simulation;
mod trace;
mod variety;
pub mod zoo;

pub use coverage::Coverage;
pub use faults::Faults;
pub use report::{Run, Violation};
pub use simulation::{Simulation, put};

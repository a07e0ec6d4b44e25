//! Running a job: from a plan to subtasks on threads, and from their reports to its end.
//!
//! A [`Supervisor`] decides nothing about checkpoints or restarts itself: it carries facts to the pure
//! [coordinator](crate::checkpoint) and [restart strategy](crate::restart), and carries their decisions out. It never
//! blocks; whoever runs it calls [`Supervisor::turn`] when something has arrived or the returned moment has come.

mod actions;
mod attempt;
mod availability;
mod board;
mod commands;
mod deploy;
mod described;
mod doctor;
mod driver;
mod end;
mod ending;
mod figures;
mod handle;
mod in_memory;
mod launch;
mod metrics;
mod rates;
mod reports;
mod restore;
mod settings;
mod summary;
mod supervisor;
mod tally;
mod threads;
mod wait;

pub use board::JobState;
pub use described::{TaskDescription, subtask_name};
pub use doctor::{Advice, examine};
pub use driver::{Cell, Driver, Seat, Stepped};
pub(crate) use ending::BeforeEnd;
pub use ending::{Abandoned, Ending, Over};
pub use figures::{Figure, FigureKind, FigureValue};
pub use handle::{CheckpointRequest, Command, JobControl, JobHandle};
pub(crate) use in_memory::refuse_passing_over;
pub(crate) use launch::launch;
pub use launch::{Environment, Launched};
pub use metrics::{Metrics, SubtaskMetrics};
pub use rates::TimeShares;
pub use summary::{CheckpointInfo, Summary};
pub use supervisor::{Supervisor, Turn};
pub use tally::RestoreProgress;
pub use threads::ThreadDriver;

//! Subtasks: state machines that never block.
//!
//! A subtask has one method, [`Subtask::step`], that does a bounded piece of work. A driver calls it again and again.
//! [`source_task`] runs a source and the chain below it, [`input_task`] a gate and the chain below it; what both have
//! in common (messages, snapshots, timing) is the [`core`].

mod batch;
mod build;
mod carried;
mod core;
mod drain_pace;
mod dropped;
mod fault;
mod flow;
mod head;
mod held;
mod in_flight;
mod input_task;
mod intake;
mod largest;
mod merging;
mod message;
mod pace;
mod restored;
mod snapshot;
mod source_task;
mod stream;
mod turns;

pub use build::{BuildContext, OperatorIndex};
pub(crate) use build::{EdgeEnds, EdgeIndex, Target, TaskSettings};
pub(crate) use core::Core;
pub use fault::Fault;
pub(crate) use flow::Flow;
pub use head::{InputChain, SourceChain};
pub(crate) use in_flight::IN_FLIGHT;
pub(crate) use input_task::InputTask;
pub(crate) use intake::{Intake, Rows};
pub(crate) use merging::Workshop;
pub(crate) use message::{Acknowledged, Message, Report, Reporter, ToSupervisor};
pub(crate) use pace::STEP;
pub use restored::Restored;
pub(crate) use restored::decode_list;
pub(crate) use snapshot::SnapshotWriter;
pub(crate) use source_task::{SOURCE_STATE, SourceTask};
pub(crate) use turns::Turns;

use crate::error::Error;
use millstream_io::clock::Moment;

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Something: call again at once.
    Worked,
    /// Nothing: call again when woken, or at this moment at the latest.
    Idle(Option<Moment>),
    /// Nothing, for want of room below: call again when woken, or at this moment at the latest.
    Blocked(Option<Moment>),
    /// The subtask is over.
    Finished,
}

/// One parallel instance of a chain of operators.
pub trait Subtask: Send {
    /// Does a bounded piece of work: at most one segment, about a millisecond, or until overdraft exists (ruling 11).
    ///
    /// # Errors
    /// The attempt fails; the subtask is not called again.
    fn step(&mut self) -> Result<Progress, Error>;
}

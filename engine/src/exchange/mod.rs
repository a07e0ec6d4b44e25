//! Exchange: how records and events get from one subtask to the next.
//!
//! Upstream an [`Exchange`] stage routes each record into the [`lane`] of its target; downstream a [`gate`] takes the
//! segments of all channels in turn and aligns barriers. Between them stands one ring for every pair of subtasks.

mod aside;
mod block;
mod broadcast;
mod event;
mod feedback;
mod fork;
mod gate;
mod lane;
mod route;
mod stage;

pub(crate) use aside::{Aside, Batch, Next, NoRoom};
pub(crate) use broadcast::Broadcast;
pub use event::Event;
pub(crate) use feedback::Feedback;
pub(crate) use fork::Fork;
pub(crate) use gate::{Gate, Input, PER_VISIT, RESTORED, Way};
pub(crate) use lane::Lane;
pub(crate) use route::{Forward, KeyRoute, Rebalance, Route};
pub(crate) use stage::Exchange;

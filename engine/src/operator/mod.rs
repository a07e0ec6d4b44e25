//! Operators, one per file, on one primitive: the [`Stage`].
//!
//! A chain is built from its end: [`Chain::build`] wraps the stage below and hands it to the operator above, until
//! the head boxes the whole as one subtask. So everything inside a chain is a static call, and the only dynamic one is
//! the driver's, once a segment.

mod chain;
mod collector;
mod custom;
mod draining;
mod filter;
mod flat_map;
mod map;
mod signal;
mod sink;

pub use chain::{Chain, Control, Stage};
pub use collector::Collector;
pub(crate) use custom::OPERATOR_STATE;
pub use custom::{Apply, Operator, OperatorContext};
pub(crate) use draining::Drained;
pub use draining::Draining;
pub use filter::Filter;
pub use flat_map::FlatMap;
pub use map::Map;
pub use signal::{Signal, SnapshotParts};
pub(crate) use sink::{SINK_STATE, SinkStage};

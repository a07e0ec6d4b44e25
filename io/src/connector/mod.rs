//! The embedded connectors: sources and sinks that need nothing beyond this crate.

mod channel;
mod collection;
mod generator;
mod ranges;
#[cfg(test)]
mod testing;

pub use channel::{ChannelSource, SendError, Sender, TrySendError, channel};
pub use collection::Collection;
pub use generator::Generator;

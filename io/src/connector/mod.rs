//! The embedded connectors: sources and sinks that need nothing beyond this crate.

mod channel;
mod collect;
mod collection;
mod file_sink;
mod generator;
mod ranges;
mod stdout;
#[cfg(test)]
mod testing;

pub use channel::{ChannelSource, SendError, Sender, TrySendError, channel};
pub use collect::{CollectSink, Collected};
pub use collection::Collection;
pub use file_sink::{CsvField, Encode, FileSink, FileState, Part, Rolling};
pub use generator::Generator;
pub use stdout::StdoutSink;

//! The embedded connectors: sources and sinks that need nothing beyond this crate.

mod bad_records;
mod channel;
mod collect;
mod collection;
mod dead_letters;
mod file_sink;
mod file_source;
mod generator;
mod place;
mod ranges;
mod stdout;
#[cfg(test)]
mod testing;

pub use bad_records::{BadRecord, BadRecordPolicy, BadRecords, RawRecord};
pub use channel::{ChannelSource, SendError, Sender, TrySendError, channel};
pub use collect::{CollectSink, Collected};
pub use collection::Collection;
pub use file_sink::{CsvField, Encode, FileSink, FileState, Part, Rolling};
pub use file_source::{FileSource, FileSplit, FileSplitRef};
pub use generator::Generator;
pub use place::Places;
pub use stdout::StdoutSink;

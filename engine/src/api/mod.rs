//! What users write.

mod env;
mod iterate;
mod keyed_stream;
mod sinking;
mod stream;

pub use env::Env;
pub use keyed_stream::{KeyedStream, ProcessStream};
pub use sinking::SinkHandle;
pub(crate) use stream::Draft;
pub use stream::Stream;

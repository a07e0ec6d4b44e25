//! What sources and sinks do once for all their subtasks, with the types forgotten.

use crate::error::Error;
use crate::task::decode_list;
use millstream_io::Record;
use millstream_io::sink::{Sink, SinkContext};
use millstream_io::source::{Source, SourceContext};

/// An element of list state, encoded.
pub(crate) type Element = Vec<u8>;

/// Of a source.
pub(crate) trait SourceHooks: Send {
    /// The splits of a fresh start.
    fn discover(&mut self, cx: &SourceContext) -> Result<Vec<Element>, Error>;

    /// The splits of a restore, checked against what the source reads now.
    fn check(
        &mut self,
        cx: &SourceContext,
        splits: &[Element],
        allow_dropped: bool,
    ) -> Result<Vec<Element>, Error>;

    /// What is there and is not read by a start that goes on with these splits.
    fn unread(&mut self, cx: &SourceContext, splits: &[Element]) -> Result<Vec<String>, Error>;
}

/// Of a sink.
pub(crate) trait SinkHooks: Send {
    /// Cleans up after earlier attempts.
    fn prepare(&mut self, cx: &SinkContext, restored: &[Element], retained: &[Element]) -> Result<(), Error>;

    /// Removes what a line that is over has left.
    fn discard(&mut self, cx: &SinkContext, kept: &[Element]) -> Result<(), Error>;
}

/// A source with its type forgotten.
pub(crate) struct OfSource<S>(pub S);

impl<S: Source> SourceHooks for OfSource<S> {
    fn discover(&mut self, cx: &SourceContext) -> Result<Vec<Element>, Error> {
        let splits = self.0.clone().discover(cx)?;
        Ok(encode::<S::Split>(&splits))
    }

    fn check(
        &mut self,
        cx: &SourceContext,
        splits: &[Element],
        allow_dropped: bool,
    ) -> Result<Vec<Element>, Error> {
        let splits = decode_list::<S::Split>(splits)?;
        let splits = self.0.clone().check(cx, splits, allow_dropped)?;
        Ok(encode::<S::Split>(&splits))
    }

    fn unread(&mut self, cx: &SourceContext, splits: &[Element]) -> Result<Vec<String>, Error> {
        let splits = decode_list::<S::Split>(splits)?;
        Ok(self.0.clone().unread(cx, &splits)?)
    }
}

/// A sink with its type forgotten.
pub(crate) struct OfSink<K>(pub K);

impl<K: Sink> SinkHooks for OfSink<K> {
    fn prepare(&mut self, cx: &SinkContext, restored: &[Element], retained: &[Element]) -> Result<(), Error> {
        let restored = decode_list::<K::State>(restored)?;
        let retained = decode_list::<K::State>(retained)?;
        Ok(self.0.clone().prepare(cx, &restored, &retained)?)
    }

    fn discard(&mut self, cx: &SinkContext, kept: &[Element]) -> Result<(), Error> {
        let kept = decode_list::<K::State>(kept)?;
        Ok(self.0.clone().discard(cx, &kept)?)
    }
}

fn encode<T: Record>(values: &[T]) -> Vec<Element> {
    values.iter().map(|value| T::encode(value.view())).collect()
}

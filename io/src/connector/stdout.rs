//! Standard output, or any other stream of bytes, as a sink.

use super::Encode;
use crate::clock::Moment;
use crate::counters::Counters;
use crate::error::{Class, ConnectorError};
use crate::format::{Csv, Lines};
use crate::id::CheckpointId;
use crate::record::Record;
use crate::sink::{Epoch, PreCommit, Sink, SinkContext};
use parking_lot::Mutex;
use std::io::{self, ErrorKind, Write};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// Bytes that a subtask collects before it writes.
const BUFFER: usize = 64 << 10;

/// How long a record may wait for others to be written with.
const PATIENCE: Duration = Duration::from_millis(100);

type Stream = Arc<Mutex<Box<dyn Write + Send>>>;

/// Writes records to standard output, or to any [`Write`].
///
/// At least once (SK-09): what was written cannot be taken back, so after a restart the records behind the last
/// checkpoint come again. Before a checkpoint everything in front of its barrier has been written. The lines of several
/// subtasks alternate, but none is torn.
pub struct StdoutSink<T, E> {
    stream: Stream,
    name: &'static str,
    encode: E,
    buffer: Vec<u8>,
    written: u64,
    counters: Arc<Counters>,
    of: PhantomData<fn(T)>,
}

impl<T, E: Clone> Clone for StdoutSink<T, E> {
    fn clone(&self) -> Self {
        Self {
            stream: Arc::clone(&self.stream),
            name: self.name,
            encode: self.encode.clone(),
            buffer: Vec::new(),
            written: 0,
            counters: Arc::default(),
            of: PhantomData,
        }
    }
}

impl<T: Record> StdoutSink<T, Lines>
where
    Lines: Encode<T>,
{
    /// Lines on standard output.
    pub fn lines() -> Self {
        Self::new("standard output", io::stdout(), Lines)
    }
}

impl<T: Record> StdoutSink<T, Csv>
where
    Csv: Encode<T>,
{
    /// CSV records on standard output.
    pub fn csv() -> Self {
        Self::new("standard output", io::stdout(), Csv)
    }
}

impl<T: Record, E: Encode<T>> StdoutSink<T, E> {
    /// Records as `encode` writes them, on any stream; `name` stands for it in errors.
    pub fn new(name: &'static str, stream: impl Write + Send + 'static, encode: E) -> Self {
        Self {
            stream: Arc::new(Mutex::new(Box::new(stream))),
            name,
            encode,
            buffer: Vec::new(),
            written: 0,
            counters: Arc::default(),
            of: PhantomData,
        }
    }

    /// Writes what has been collected: whole records, in one piece.
    fn flush(&mut self) -> Result<(), ConnectorError> {
        self.counters.written(std::mem::take(&mut self.written));
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut stream = self.stream.lock();
        let written = stream.write_all(&self.buffer).and_then(|()| stream.flush());
        self.buffer.clear();
        written.map_err(|error| failed(self.name, error))
    }
}

fn failed(name: &str, error: io::Error) -> ConnectorError {
    // A reader that has gone does not come back for a restart.
    let class = if error.kind() == ErrorKind::BrokenPipe { Class::Fatal } else { Class::Restart };
    ConnectorError::new(class, "write", name, error)
}

impl<T: Record, E: Encode<T>> Sink for StdoutSink<T, E> {
    type In = T;
    type State = ();

    fn open(&mut self, cx: SinkContext, _restored: Vec<()>) -> Result<(), ConnectorError> {
        self.counters = cx.counters;
        Ok(())
    }

    #[inline]
    fn write(&mut self, record: T::Ref<'_>) -> Result<(), ConnectorError> {
        self.encode.encode(&mut self.buffer, record);
        self.written += 1;
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    fn tick(&mut self, now: Moment) -> Result<Option<Moment>, ConnectorError> {
        self.flush()?;
        Ok(Some(now.saturating_add(PATIENCE)))
    }

    fn pre_commit(&mut self, _epoch: Epoch) -> Result<PreCommit<()>, ConnectorError> {
        self.flush()?;
        Ok(PreCommit { state: Vec::new(), work: None })
    }

    fn commit(&mut self, _id: CheckpointId) -> Result<(), ConnectorError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connector::testing::sink_context;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // As pipes do, it takes less than it is given.
            let n = bytes.len().min(1000);
            self.0.lock().extend_from_slice(&bytes[..n]);
            Ok(n)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn epoch(id: u64) -> Epoch {
        Epoch { id: CheckpointId(id), close: false }
    }

    #[test]
    fn sk_09_everything_before_a_barrier_is_written_when_it_is_sealed() {
        let kept = Kept::default();
        let mut sink = StdoutSink::<String, _>::new("test", kept.clone(), Lines);
        let (cx, counters) = sink_context(0, 1);
        sink.open(cx, vec![]).unwrap();
        sink.write("a").unwrap();
        sink.write("b").unwrap();
        assert!(sink.pre_commit(epoch(1)).unwrap().work.is_none());
        assert_eq!(*kept.0.lock(), b"a\nb\n");
        sink.write("c").unwrap();
        assert_eq!(sink.tick(Duration::from_secs(1)).unwrap(), Some(Duration::from_millis(1100)));
        assert_eq!(*kept.0.lock(), b"a\nb\nc\n");
        assert_eq!((counters.records_out.get(), counters.records_sealed.get()), (3, 3));
    }

    #[test]
    fn lines_of_several_subtasks_are_not_torn() {
        let kept = Kept::default();
        let sink = StdoutSink::<String, _>::new("test", kept.clone(), Lines);
        let long = "x".repeat(3000);
        std::thread::scope(|scope| {
            for subtask in 0..3 {
                let (mut sink, line) = (sink.clone(), format!("{subtask}{long}"));
                scope.spawn(move || {
                    sink.open(sink_context(subtask, 3).0, vec![]).unwrap();
                    for _ in 0..100 {
                        sink.write(&line).unwrap();
                    }
                    sink.pre_commit(epoch(1)).unwrap();
                });
            }
        });
        let text = String::from_utf8(kept.0.lock().clone()).unwrap();
        assert_eq!(text.lines().count(), 300);
        assert!(text.lines().all(|line| line.len() == 3001 && line.ends_with(&long)));
    }

    #[test]
    fn a_reader_that_has_gone_is_an_error() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut sink = StdoutSink::<String, _>::new("standard output", writer, Lines);
        sink.open(sink_context(0, 1).0, vec![]).unwrap();
        sink.write("a").unwrap();
        let error = sink.pre_commit(epoch(1)).err().unwrap();
        assert_eq!(error.class, Class::Fatal);
        assert_eq!(error.to_string(), "write: standard output: Broken pipe (os error 32)");
    }
}

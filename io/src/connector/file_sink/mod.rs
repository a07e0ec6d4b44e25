//! Files as a sink: every record in exactly one visible file, whatever dies when (SK-06).
//!
//! Records go into a hidden file. It is closed when it is large or old enough, or at a barrier that asks for it; a
//! checkpoint that completes makes the files visible that were closed before its barrier, by renaming. See
//! `lifecycle` for the states, `restore` for what a restart does with each file.

mod commit;
mod durable;
mod encode;
mod lifecycle;
mod name;
mod open;
mod restore;
mod rolling;
mod writer;

pub use encode::{CsvField, Encode};
pub use lifecycle::FileState;
pub use name::Part;
pub use rolling::Rolling;

use crate::clock::Moment;
use crate::error::{Class, ConnectorError};
use crate::format::{Csv, Lines};
use crate::id::CheckpointId;
use crate::record::Record;
use crate::sink::{Epoch, PreCommit, Sink, SinkContext};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use writer::Writer;

/// Writes records into files of a directory, exactly once.
///
/// A file is called `part-<subtask>-<n><suffix>` once its records are committed; until then its name begins with a
/// dot. Existing visible files are never changed, numbers go on above those that are there. No two sinks may write into
/// the same directory at the same time, be they of one job or of two: both may choose the same name, and the second one
/// to commit then fails.
///
/// With checkpoints a file becomes visible when the first checkpoint after it was closed completes; files are closed by
/// [`Rolling`], at savepoints and at the end. Without checkpoints everything becomes visible at the end of the input,
/// or nothing does.
///
/// ```
/// use millstream_io::connector::FileSink;
/// use std::time::Duration;
///
/// let lines = FileSink::<String, _>::lines("out").suffix(".txt").roll_after(Duration::from_secs(10));
/// let rows = FileSink::<(String, i64), _>::csv("out");
/// let own = FileSink::<u64, _>::new("out", |out: &mut Vec<u8>, n| out.extend_from_slice(format!("<{n}>\n").as_bytes()));
/// # fn sink(_: impl millstream_io::sink::Sink) {}
/// # sink(lines); sink(rows); sink(own);
/// ```
pub struct FileSink<T, E> {
    dir: PathBuf,
    suffix: String,
    rolling: Rolling,
    ignore_missing: bool,
    lost: Arc<AtomicU64>,
    encode: E,
    writer: Option<Box<Writer>>,
    of: PhantomData<fn(T)>,
}

impl<T, E: Clone> Clone for FileSink<T, E> {
    /// The description; a clone is not running.
    fn clone(&self) -> Self {
        Self {
            dir: self.dir.clone(),
            suffix: self.suffix.clone(),
            rolling: self.rolling,
            ignore_missing: self.ignore_missing,
            lost: Arc::clone(&self.lost),
            encode: self.encode.clone(),
            writer: None,
            of: PhantomData,
        }
    }
}

impl<T: Record> FileSink<T, Lines>
where
    Lines: Encode<T>,
{
    /// Lines, byte for byte, each with an LF behind it; no suffix.
    pub fn lines(dir: impl Into<PathBuf>) -> Self {
        Self::new(dir, Lines)
    }
}

impl<T: Record> FileSink<T, Csv>
where
    Csv: Encode<T>,
{
    /// CSV records, quoted only where needed, LF; the suffix is `.csv`.
    pub fn csv(dir: impl Into<PathBuf>) -> Self {
        Self::new(dir, Csv).suffix(".csv")
    }
}

impl<T: Record, E: Encode<T>> FileSink<T, E> {
    /// Records as `encode` writes them. The directory is created when missing.
    pub fn new(dir: impl Into<PathBuf>, encode: E) -> Self {
        Self {
            dir: dir.into(),
            suffix: String::new(),
            rolling: Rolling::default(),
            ignore_missing: false,
            lost: Arc::default(),
            encode,
            writer: None,
            of: PhantomData,
        }
    }

    /// What file names end with.
    #[must_use]
    pub fn suffix(self, suffix: impl Into<String>) -> Self {
        Self { suffix: suffix.into(), ..self }
    }

    /// When files are closed.
    #[must_use]
    pub fn rolling(self, rolling: Rolling) -> Self {
        Self { rolling, ..self }
    }

    /// Bytes after which a file is closed (at least 1).
    #[must_use]
    pub fn roll_size(mut self, bytes: u64) -> Self {
        self.rolling.size = bytes.max(1);
        self
    }

    /// Time after which a file is closed, counted from its first record.
    #[must_use]
    pub fn roll_after(mut self, age: Duration) -> Self {
        self.rolling.age = age;
        self
    }

    /// Time without a record after which a file is closed.
    #[must_use]
    pub fn roll_when_inactive(mut self, inactivity: Duration) -> Self {
        self.rolling.inactivity = inactivity;
        self
    }

    /// Whether to go on when a file that a checkpoint counts on is gone; its data is lost then, and
    /// [`FileSink::lost_files`] counts it. Otherwise that fails the job (MS-030).
    #[must_use]
    pub fn ignore_missing(self, ignore_missing: bool) -> Self {
        Self { ignore_missing, ..self }
    }

    /// How many files were gone, over all clones of this sink.
    pub fn lost_files(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// The output directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn running(&mut self) -> Result<&mut Writer, ConnectorError> {
        match &mut self.writer {
            Some(writer) => Ok(writer),
            None => Err(not_open(&self.dir)),
        }
    }
}

#[cold]
fn not_open(dir: &Path) -> ConnectorError {
    ConnectorError::new(Class::Fatal, "write", dir.display().to_string(), "the sink was not opened")
}

impl<T: Record, E: Encode<T>> Sink for FileSink<T, E> {
    type In = T;
    type State = FileState;

    fn prepare(
        &mut self,
        cx: &SinkContext,
        restored: &[FileState],
        retained: &[FileState],
    ) -> Result<(), ConnectorError> {
        open::prepare(cx, &self.dir, self.ignore_missing, restored, retained)
    }

    fn open(&mut self, cx: SinkContext, restored: Vec<FileState>) -> Result<(), ConnectorError> {
        let mut writer = Writer::new(cx, &self.dir, &self.suffix, self.rolling);
        let lost = writer.restore(restored, self.ignore_missing)?;
        self.lost.fetch_add(lost, Ordering::Relaxed);
        self.writer = Some(Box::new(writer));
        Ok(())
    }

    #[inline]
    fn write(&mut self, record: T::Ref<'_>) -> Result<(), ConnectorError> {
        let Some(writer) = &mut self.writer else { return Err(not_open(&self.dir)) };
        self.encode.encode(&mut writer.buffer, record);
        writer.appended()
    }

    fn tick(&mut self, now: Moment) -> Result<Option<Moment>, ConnectorError> {
        self.running()?.tick(now).map(Some)
    }

    fn pre_commit(&mut self, epoch: Epoch) -> Result<PreCommit<FileState>, ConnectorError> {
        self.running()?.pre_commit(epoch)
    }

    fn commit(&mut self, id: CheckpointId) -> Result<(), ConnectorError> {
        let lost = Arc::clone(&self.lost);
        let ignore = self.ignore_missing.then_some(move || {
            lost.fetch_add(1, Ordering::Relaxed);
        });
        self.running()?.commit(id, ignore)
    }

    fn close(&mut self) -> Result<(), ConnectorError> {
        self.running()?.settle()
    }

    fn discard(&mut self, cx: &SinkContext, kept: &[FileState]) -> Result<(), ConnectorError> {
        open::discard(cx, &self.dir, kept)
    }
}

#[cfg(test)]
mod tests;

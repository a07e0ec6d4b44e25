//! Files as a source: lines or CSV records, read once or followed as they grow.

pub(super) mod discover;
mod follow;
mod identity;
mod reader;
mod restore;
mod split;
mod tail;
#[cfg(test)]
mod tests;
mod unread;
mod window;

pub use split::{FileSplit, FileSplitRef};

use crate::connector::bad_records::{BadRecordPolicy, BadRecords};
use crate::emit::Emit;
use crate::error::{Class, ConnectorError};
use crate::format::{Csv, Format, Lines};
use crate::source::{Poll, Redistribution, Source, SourceContext};
use reader::{Reader, Reports, Turn};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::Duration;
use tail::Tail;
use window::BUFFER;

/// Reads files, or the regular files in and below directories, as lines or as CSV.
///
/// In a directory names that begin with a dot are left out, and so are symbolic links: what they lead to would be read
/// twice, or lie outside. A link that is itself given as an input is followed.
///
/// **Once** (the default): the input is what is there when the job begins, and ends. A start that goes on from a checkpoint
/// goes on with that input: new files and what was appended meanwhile are not read, but named. Large files are divided into stretches
/// that begin and end between records, so that all subtasks have about the same number of bytes to read, even of one
/// file; for CSV, where a line break may stand inside of quotes, that takes one quick pass over each large file at the
/// start. A last record without a line end counts.
///
/// **Following** ([`FileSource::follow`]): the input never ends. What is appended to files and the files that are
/// new are found by looking again and again. A file stays with one subtask, also when it is renamed (log rotation);
/// one that is truncated or whose beginning changes is read again from its beginning (what cannot be noticed: a
/// replacement in place that begins with the same bytes, 1 KiB or the whole old file, is no shorter, and has a line
/// end where the old one was read to). One that is deleted is finished: each subtask keeps the 64 files open that it read
/// last, so that what was written to these before they were deleted is read; what a checkpoint does not cover yet is
/// gone with the file when the job is restarted. A last line without a line end waits for the rest. Where a log is rotated by copying and truncating, give the file
/// as the input rather than its directory, in which the copy would be a new file; lines that are written between
/// the last look and the truncation are lost to any reader.
///
/// Exactly once: the byte offset behind the last record is part of every checkpoint (SR-01, SR-05). After a restart
/// files are known again by absolute path, inode and a fingerprint of their first bytes (ruling 26). What is emitted are
/// views into a buffer; nothing is allocated or copied per record.
///
/// ```
/// use millstream_io::connector::{BadRecordPolicy, FileSource};
///
/// let lines = FileSource::lines(["access.log"]).follow(true);
/// let flights = FileSource::csv(["flights/"]).header(true).bad_records(BadRecordPolicy::Skip);
/// # let _ = (lines, flights);
/// ```
pub struct FileSource<F: Format> {
    settings: Settings,
    state: State<F>,
    of: PhantomData<F>,
}

/// Bytes of records emitted in one turn, about.
const BATCH: usize = 64 * 1024;

#[derive(Clone)]
struct Settings {
    inputs: Vec<PathBuf>,
    follow: bool,
    header: bool,
    max_record: usize,
    smallest: u64,
    buffer: usize,
    batch: usize,
    interval: Duration,
    bad: BadRecordPolicy,
}

/// What a subtask works on.
enum State<F: Format> {
    Closed,
    Once(Box<Once<F>>),
    Follow(Box<(Tail<F>, BadRecords)>),
}

struct Once<F: Format> {
    cx: SourceContext,
    reader: Reader<F>,
    /// Splits not begun, the next one last.
    waiting: Vec<FileSplit>,
    /// Splits that are done, of each file one: a start that goes on knows by them what it does not read.
    done: Vec<FileSplit>,
    bad: BadRecords,
}

impl<F: Format> Clone for FileSource<F> {
    /// The same description, not opened.
    fn clone(&self) -> Self {
        Self { settings: self.settings.clone(), state: State::Closed, of: PhantomData }
    }
}

impl FileSource<Lines> {
    /// Emits the lines of these files and directories as bytes, see [`Lines`].
    pub fn lines<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Self {
        Self::new(inputs)
    }
}

impl FileSource<Csv> {
    /// Emits the CSV records of these files and directories, see [`Csv`].
    pub fn csv<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Self {
        Self::new(inputs)
    }
}

impl<F: Format> FileSource<F> {
    fn new<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Self {
        let settings = Settings {
            inputs: inputs.into_iter().map(Into::into).collect(),
            follow: false,
            header: false,
            max_record: 1024 * 1024,
            smallest: 256 * 1024,
            buffer: BUFFER,
            batch: BATCH,
            interval: Duration::from_millis(100),
            bad: BadRecordPolicy::Fail,
        };
        Self { settings, state: State::Closed, of: PhantomData }
    }

    /// Whether to keep reading what is appended, and files that are new. Default: no.
    #[must_use]
    pub fn follow(mut self, follow: bool) -> Self {
        self.settings.follow = follow;
        self
    }

    /// Whether the first record of every file is a header, which is left out. Default: no.
    #[must_use]
    pub fn header(mut self, header: bool) -> Self {
        self.settings.header = header;
        self
    }

    /// Longest record in bytes, its line end not counted; a longer one is a bad record. Memory for each subtask is
    /// bounded by about twice this. Default: 1 MiB.
    #[must_use]
    pub fn max_record_size(mut self, bytes: usize) -> Self {
        self.settings.max_record = bytes;
        self
    }

    /// What to do with records that are too long, whose quotes are never closed, or go on behind a closing quote. Default: fail.
    ///
    /// Rejected records count in `records_in` and `records_rejected`; dead letters are kept under the name `source`,
    /// see [`BadRecords`]. Two sources need a directory each: they would write into the same files.
    #[must_use]
    pub fn bad_records(mut self, policy: BadRecordPolicy) -> Self {
        self.settings.bad = policy;
        self
    }

    /// Time between two looks at followed files. A look that takes long makes the time longer, so that looking takes
    /// at most half a percent of a core. Default: 100 ms.
    #[must_use]
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.settings.interval = interval;
        self
    }

    /// Smallest stretch, in bytes, that a file is divided into. Default: 256 KiB.
    #[must_use]
    pub fn smallest_split(mut self, bytes: u64) -> Self {
        self.settings.smallest = bytes.max(1);
        self
    }

    /// The files and directories that are read.
    pub fn inputs(&self) -> &[PathBuf] {
        &self.settings.inputs
    }
}

impl<F: Format> Once<F> {
    fn done(&mut self, split: Option<FileSplit>) {
        let Some(split) = split else { return };
        // Files are read from front to back, one after the other.
        match self.done.last_mut() {
            Some(last) if last.path() == split.path() => *last = split,
            _ => self.done.push(split),
        }
    }

    fn poll(&mut self, out: &mut impl Emit<F::Out>) -> Result<Poll, ConnectorError> {
        loop {
            let mut reports = Reports { bad: &mut self.bad, counters: &self.cx.counters };
            match self.reader.turn(out, &mut reports)? {
                Turn::More | Turn::Starved => return Ok(Poll::More),
                Turn::Done | Turn::Replaced => {}
            }
            let done = self.reader.split();
            self.reader.stop();
            self.done(done);
            let Some(split) = self.waiting.pop() else {
                // Without checkpoints nothing asks for it later.
                self.bad.sync()?;
                return Ok(Poll::Done);
            };
            let file = self.cx.storage.open(split.path())?;
            if !restore::unchanged(&*file, &split)? {
                let at = split.path().display().to_string();
                return Err(ConnectorError::new(Class::Data, "read", at, restore::CHANGED)
                    .with_hint("input that changes while it is read must be followed, and may only grow"));
            }
            self.reader.start(file, split, None);
        }
    }
}

impl<F: Format> Source for FileSource<F> {
    type Out = F::Out;
    type Split = FileSplit;

    /// Each subtask takes its part of all splits: by bytes, or, when following, by inode.
    const REDISTRIBUTION: Redistribution = Redistribution::Union;

    fn discover(&mut self, cx: &SourceContext) -> Result<Vec<FileSplit>, ConnectorError> {
        let files = discover::files(&*cx.storage, &self.settings.inputs)?;
        if self.settings.follow {
            // Files are found by looking; a start finds them like any other look.
            return Ok(Vec::new());
        }
        discover::splits::<F>(&*cx.storage, &files, cx.parallelism, self.settings.smallest)
    }

    fn check(
        &mut self,
        cx: &SourceContext,
        splits: Vec<FileSplit>,
        allow_dropped: bool,
    ) -> Result<Vec<FileSplit>, ConnectorError> {
        let Settings { inputs, follow, .. } = &self.settings;
        restore::Given { storage: &*cx.storage, inputs, follow: *follow, allow_dropped }.check(splits)
    }

    fn unread(&mut self, cx: &SourceContext, splits: &[FileSplit]) -> Result<Vec<String>, ConnectorError> {
        if self.settings.follow {
            return Ok(Vec::new());
        }
        let present = discover::files_now(&*cx.storage, &self.settings.inputs)?;
        Ok(unread::unread(&present, splits))
    }

    fn open(&mut self, cx: SourceContext, splits: Vec<FileSplit>) -> Result<(), ConnectorError> {
        let reader = Reader::new(&self.settings);
        let Settings { inputs, follow, interval, bad, .. } = self.settings.clone();
        let mut bad = BadRecords::new(bad, "source", inputs.clone());
        bad.open(cx.storage.clone(), cx.counters.clone(), (cx.subtask, cx.parallelism));
        self.state = if follow {
            State::Follow(Box::new((Tail::new(cx, inputs, interval, reader, splits), bad)))
        } else {
            let mine = split::share(splits, cx.subtask, cx.parallelism);
            let (done, mut waiting): (Vec<_>, Vec<_>) = mine.into_iter().partition(|split| split.left() == 0);
            waiting.reverse();
            State::Once(Box::new(Once { cx, reader, waiting, done, bad }))
        };
        Ok(())
    }

    fn poll(&mut self, out: &mut impl Emit<F::Out>) -> Result<Poll, ConnectorError> {
        match &mut self.state {
            State::Closed => Ok(Poll::Done),
            State::Once(once) => once.poll(out),
            State::Follow(follow) => follow.0.poll(out, &mut follow.1),
        }
    }

    fn snapshot(&mut self) -> Result<Vec<FileSplit>, ConnectorError> {
        let (splits, bad) = match &mut self.state {
            State::Closed => return Ok(Vec::new()),
            State::Once(once) => {
                let reading = once.reader.split();
                let all = once.waiting.iter().chain(&once.done).cloned().chain(reading);
                (all.collect(), &mut once.bad)
            }
            State::Follow(follow) => (follow.0.snapshot(), &mut follow.1),
        };
        // What the positions leave behind must be as durable as they are.
        bad.sync()?;
        Ok(splits)
    }
}

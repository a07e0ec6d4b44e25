//! From the bytes of one stretch of a file to records: one reused buffer, views into it, and a position.

mod records;

use super::Settings;
use super::follow::{Verdict, judge};
use super::identity::{Fingerprint, HEAD, head_of};
use super::split::{FileSplit, path_bytes};
use super::window::Window;
use crate::connector::bad_records::BadRecords;
use crate::counters::Counters;
use crate::emit::Emit;
use crate::error::ConnectorError;
use crate::format::Format;
use crate::storage::ReadFile;
use std::path::Path;

/// Bytes read behind the end of a stretch, where at most the rest of one record is wanted.
const BEHIND: usize = 4 * 1024;

/// What came of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Something was done, go on.
    More,
    /// The file holds no further whole record now (followed files only).
    Starved,
    /// The file is not the one that was read before (followed files only).
    Replaced,
    /// The stretch is done.
    Done,
}

/// What the bytes at the reading position are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// A record, from `begin` on.
    Records,
    /// The rest of a record that began in front of the stretch, which begins at this position.
    Seek(u64),
    /// The LF in front of this position, or the file was replaced.
    Behind(u64),
    /// The rest of a record that is too long, which began at this offset.
    TooLong(u64),
}

/// What a reader reports to.
pub(super) struct Reports<'a> {
    pub bad: &'a mut BadRecords,
    pub counters: &'a Counters,
}

/// Reads one stretch of a file at a time.
pub(super) struct Reader<F: Format> {
    max_record: usize,
    header: bool,
    /// Bytes of records emitted in one turn, about.
    batch: usize,
    stretch: Option<Stretch>,
    window: Window,
    splitter: F::Splitter,
    mode: Mode,
    /// The next record may be the header, or begin with a byte order mark.
    first: bool,
}

struct Stretch {
    file: Box<dyn ReadFile>,
    split: FileSplit,
}

/// How far a record that is too long was passed over when its file was left.
#[derive(Clone, Debug)]
pub(super) struct Passed<S> {
    at: u64,
    splitter: S,
}

/// What a reader gives back of a stretch that it leaves.
pub(super) struct Stopped<F: Format> {
    pub file: Box<dyn ReadFile>,
    pub split: FileSplit,
    pub passed: Option<Passed<F::Splitter>>,
}

impl<F: Format> Reader<F> {
    /// As the settings say; the buffer grows for long records.
    pub(super) fn new(settings: &Settings) -> Self {
        let Settings { max_record, header, batch, buffer, .. } = *settings;
        Self {
            max_record,
            header,
            batch: batch.max(1),
            stretch: None,
            window: Window::new(buffer),
            splitter: F::Splitter::default(),
            mode: Mode::Records,
            first: false,
        }
    }

    /// Begins with a stretch; what was read of the one before is forgotten.
    pub(super) fn start(
        &mut self,
        file: Box<dyn ReadFile>,
        split: FileSplit,
        passed: Option<Passed<F::Splitter>>,
    ) {
        let position = split.position;
        self.mode = match &passed {
            Some(_) => Mode::TooLong(position),
            None if position == 0 => Mode::Records,
            None if split.followed() => Mode::Behind(position),
            None if F::LF_ENDS_RECORD => Mode::Seek(position),
            None => Mode::Records,
        };
        // The LF that ends the record in front of the position may be the byte before it.
        let back = u64::from(matches!(self.mode, Mode::Seek(_) | Mode::Behind(_)));
        self.window.restart(passed.as_ref().map_or(position - back, |passed| passed.at));
        self.splitter = passed.map_or_else(F::Splitter::default, |passed| passed.splitter);
        self.first = position == 0 && self.mode == Mode::Records;
        self.stretch = Some(Stretch { file, split });
    }

    /// Ends the present stretch; gives back its file, its split, and what of a long record was passed over.
    pub(super) fn stop(&mut self) -> Option<Stopped<F>> {
        let split = self.split()?;
        let passed = match self.mode {
            Mode::TooLong(_) => Some(Passed { at: self.window.at(), splitter: self.splitter.clone() }),
            Mode::Records | Mode::Seek(_) | Mode::Behind(_) => None,
        };
        self.stretch.take().map(|stretch| Stopped { file: stretch.file, split, passed })
    }

    /// The present split as it stands.
    pub(super) fn split(&self) -> Option<FileSplit> {
        let stretch = self.stretch.as_ref()?;
        Some(FileSplit { position: self.position(), ..stretch.split.clone() })
    }

    /// Bytes of the buffer.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.window.buffer.capacity()
    }

    /// The file has another name now.
    pub(super) fn rename(&mut self, path: &Path) {
        if let Some(stretch) = &mut self.stretch {
            stretch.split.path = path_bytes(path);
        }
    }

    /// All records that begin before this have been dealt with.
    fn position(&self) -> u64 {
        match self.mode {
            Mode::Seek(from) | Mode::Behind(from) | Mode::TooLong(from) => from,
            // Anywhere behind 0 the header would be taken for done.
            Mode::Records if self.first => 0,
            Mode::Records => self.window.at(),
        }
    }

    /// Emits a batch of records, or finds that there is none.
    pub(super) fn turn(
        &mut self,
        out: &mut impl Emit<F::Out>,
        reports: &mut Reports<'_>,
    ) -> Result<Turn, ConnectorError> {
        let Some(mut stretch) = self.stretch.take() else { return Ok(Turn::Done) };
        let turn = self.turn_in(&mut stretch, out, reports);
        self.stretch = Some(stretch);
        turn
    }

    fn turn_in(
        &mut self,
        stretch: &mut Stretch,
        out: &mut impl Emit<F::Out>,
        reports: &mut Reports<'_>,
    ) -> Result<Turn, ConnectorError> {
        loop {
            // A record that is too long and began in the stretch is dealt with to its end.
            if self.window.at() >= stretch.split.end && !matches!(self.mode, Mode::TooLong(_)) {
                return Ok(Turn::Done);
            }
            let before = self.window.begin;
            match self.mode {
                Mode::Records if self.first => {
                    self.first_record(stretch, out, reports)?;
                    if !self.first && self.mode == Mode::Records {
                        self.records(stretch, out, reports)?;
                    }
                }
                Mode::Records => self.records(stretch, out, reports)?,
                Mode::Behind(_) => match self.window.partial().first() {
                    Some(b'\n') => self.pass_behind(),
                    Some(_) => return Ok(Turn::Replaced),
                    None => {}
                },
                Mode::Seek(_) | Mode::TooLong(_) => self.discard(stretch, reports)?,
            }
            if self.window.begin > before {
                return Ok(Turn::More);
            }
            let n = self.fill(stretch)?;
            if stretch.split.followed() {
                if !self.confirm(stretch)? {
                    return Ok(Turn::Replaced);
                }
                if n == 0 {
                    return Ok(Turn::Starved);
                }
            } else if n == 0 {
                self.last_record(stretch, out, reports)?;
                return Ok(Turn::Done);
            }
        }
    }

    /// Whether what was just read is of the file that was read before: it has not become shorter, and begins as it
    /// did. Asked after reading and before anything is emitted, so that a file which is replaced in between is noticed.
    fn confirm(&mut self, stretch: &mut Stretch) -> Result<bool, ConnectorError> {
        let len = stretch.file.stat()?.len;
        let head = head_of(&*stretch.file)?;
        let read = self.window.base + self.window.filled as u64;
        let same = judge(&stretch.split, read, len, &head) == Verdict::Same;
        if same && (stretch.split.print.len as usize) < HEAD {
            stretch.split.print = Fingerprint::of(&head);
        }
        Ok(same)
    }

    fn pass_behind(&mut self) {
        self.window.begin += 1;
        self.window.scanned = self.window.begin;
        self.mode = Mode::Records;
    }

    /// The file will not grow any more: emits what is left as a last record.
    pub(super) fn finish(
        &mut self,
        out: &mut impl Emit<F::Out>,
        reports: &mut Reports<'_>,
    ) -> Result<(), ConnectorError> {
        match self.stretch.take() {
            Some(stretch) => self.last_record(&stretch, out, reports),
            None => Ok(()),
        }
    }

    /// Reads on. Of what lies behind the stretch only as much as a last record may need.
    fn fill(&mut self, stretch: &Stretch) -> Result<usize, ConnectorError> {
        let at = self.window.base + self.window.filled as u64;
        let FileSplit { end, len, .. } = stretch.split;
        let wanted = if at < end { end - at } else { self.window.partial().len().max(BEHIND) as u64 };
        Ok(self.window.fill(&*stretch.file, wanted.min(len.saturating_sub(at)))?)
    }
}

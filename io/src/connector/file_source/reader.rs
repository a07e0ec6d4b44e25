//! From the bytes of one stretch of a file to records: one reused buffer, views into it, and a position.

use super::Settings;
use super::follow::{Verdict, judge};
use super::identity::{Fingerprint, HEAD, head_of};
use super::split::{FileSplit, path_bytes};
use super::window::{Stop, Window};
use crate::connector::bad_records::{BadRecord, BadRecordPolicy, BadRecords, RawRecord};
use crate::counters::Counters;
use crate::emit::Emit;
use crate::error::{Class, ConnectorError};
use crate::format::{BOM, Format, Splitter};
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

    /// Emits whole records from the buffer, a batch at most.
    fn records(
        &mut self,
        stretch: &Stretch,
        out: &mut impl Emit<F::Out>,
        reports: &mut Reports<'_>,
    ) -> Result<(), ConnectorError> {
        let in_stretch = usize::try_from(stretch.split.end - self.window.base).unwrap_or(usize::MAX);
        let stop = in_stretch.min(self.window.begin + self.batch);
        let limits = (stretch.split.inode, stop, self.max_record);
        match self.window.emit_plain::<F>(&mut self.splitter, limits, out) {
            Stop::Enough => Ok(()),
            Stop::Partial => self.watch_partial(stretch, reports),
            Stop::TooLong(end) => {
                let from = self.window.at();
                self.window.begin = end;
                self.reject_long(stretch, from, reports)
            }
            Stop::Malformed(end, reason) => {
                let (from, begin) = (self.window.at(), self.window.begin);
                self.window.begin = end;
                let raw = RawRecord::Bytes(F::content(&self.window.buffer[begin..end]));
                reject::<F>(stretch, from, raw, &reason, None, reports)
            }
        }
    }

    /// Deals with the first record of a file, which may be a header and begin with a byte order mark.
    fn first_record(
        &mut self,
        stretch: &Stretch,
        out: &mut impl Emit<F::Out>,
        reports: &mut Reports<'_>,
    ) -> Result<(), ConnectorError> {
        if F::DROPS_BOM && self.window.base == 0 && self.window.scanned == 0 && !self.pass_bom() {
            return Ok(());
        }
        let window = &mut self.window;
        let Some(n) = self.splitter.next_end(&window.buffer[window.scanned..window.filled]) else {
            window.scanned = window.filled;
            return self.watch_partial(stretch, reports);
        };
        let (from, begin, end) = (window.at(), window.begin, window.scanned + n);
        (window.begin, window.scanned) = (end, end);
        let content = F::content(without_bom::<F>(from, &window.buffer[begin..end]));
        let long = content.len() > self.max_record;
        let blank = F::SKIPS_EMPTY && content.is_empty();
        // A blank line is no header: the next one is.
        self.first = self.header && blank;
        if long {
            return self.reject_long(stretch, from, reports);
        }
        if !blank && !self.header {
            if let Some(reason) = F::malformed(content) {
                return reject::<F>(stretch, from, RawRecord::Bytes(content), &reason, None, reports);
            }
            out.emit(F::view(stretch.split.inode, from, content));
        }
        Ok(())
    }

    /// Moves behind a byte order mark at the very beginning; false when more bytes are needed to tell.
    fn pass_bom(&mut self) -> bool {
        let present = self.window.partial();
        let (marked, decided) = (present.starts_with(BOM), !BOM.starts_with(present));
        if marked {
            self.window.scanned = BOM.len();
        }
        marked || decided
    }

    /// Gives a record up whose end is not in sight and which is longer than allowed.
    fn watch_partial(&mut self, stretch: &Stretch, reports: &mut Reports<'_>) -> Result<(), ConnectorError> {
        // A byte order mark and a line end may be among the bytes.
        if self.window.partial().len() <= self.max_record.saturating_add(BOM.len() + 2) {
            return Ok(());
        }
        let from = self.window.at();
        if *reports.bad.policy() == BadRecordPolicy::Fail {
            return self.reject_long(stretch, from, reports);
        }
        self.first = false;
        self.mode = Mode::TooLong(from);
        self.window.drop_all();
        Ok(())
    }

    /// Goes on to the end of a record that is not wanted.
    fn discard(&mut self, stretch: &Stretch, reports: &mut Reports<'_>) -> Result<(), ConnectorError> {
        let window = &mut self.window;
        let Some(n) = self.splitter.next_end(&window.buffer[window.scanned..window.filled]) else {
            window.drop_all();
            return Ok(());
        };
        window.scanned += n;
        window.begin = window.scanned;
        match std::mem::replace(&mut self.mode, Mode::Records) {
            Mode::TooLong(from) => self.reject_long(stretch, from, reports),
            Mode::Seek(_) | Mode::Behind(_) | Mode::Records => Ok(()),
        }
    }

    /// Reads on. Of what lies behind the stretch only as much as a last record may need.
    fn fill(&mut self, stretch: &Stretch) -> Result<usize, ConnectorError> {
        let at = self.window.base + self.window.filled as u64;
        let FileSplit { end, len, .. } = stretch.split;
        let wanted = if at < end { end - at } else { self.window.partial().len().max(BEHIND) as u64 };
        Ok(self.window.fill(&*stretch.file, wanted.min(len.saturating_sub(at)))?)
    }

    /// The file has ended: what is left is a record without a line end.
    fn last_record(
        &mut self,
        stretch: &Stretch,
        out: &mut impl Emit<F::Out>,
        reports: &mut Reports<'_>,
    ) -> Result<(), ConnectorError> {
        let ended = self.window.base + self.window.filled as u64;
        if ended < stretch.split.len && !stretch.split.followed() {
            return Err(shorter(&stretch.split, ended));
        }
        let (mode, from) = (self.mode, self.window.at());
        let first = std::mem::replace(&mut self.first, false);
        self.mode = Mode::Records;
        let begin = self.window.begin;
        self.window.drop_all();
        if let Mode::TooLong(from) = mode {
            return self.reject_long(stretch, from, reports);
        }
        if mode != Mode::Records || begin == self.window.filled {
            return Ok(());
        }
        let content = without_bom::<F>(from, &self.window.buffer[begin..self.window.filled]);
        if content.len() > self.max_record {
            return self.reject_long(stretch, from, reports);
        }
        if let Some(reason) = self.splitter.unfinished() {
            return reject::<F>(stretch, from, RawRecord::Bytes(content), &reason, None, reports);
        }
        let left_out = first && self.header || F::SKIPS_EMPTY && content.is_empty();
        if !left_out {
            if let Some(reason) = F::malformed(content) {
                return reject::<F>(stretch, from, RawRecord::Bytes(content), &reason, None, reports);
            }
            out.emit(F::view(stretch.split.inode, from, content));
        }
        Ok(())
    }

    /// Reports a record that began at `from` and ends where the window now begins.
    fn reject_long(
        &self,
        stretch: &Stretch,
        from: u64,
        reports: &mut Reports<'_>,
    ) -> Result<(), ConnectorError> {
        let raw = RawRecord::Stretch(&*stretch.file, self.window.at() - from);
        let open = self.splitter.unfinished().map_or(String::new(), |why| format!(" ({why})"));
        let reason = format!("the record is longer than the limit of {} bytes{open}", self.max_record);
        let hint = "allow longer records (max-record-size), or choose to skip or keep aside bad ones";
        reject::<F>(stretch, from, raw, &reason, Some(hint), reports)
    }
}

/// The bytes of a record that begins at `from`, without the mark that may stand in front of the first one.
fn without_bom<F: Format>(from: u64, record: &[u8]) -> &[u8] {
    if F::DROPS_BOM && from == 0 { record.strip_prefix(BOM).unwrap_or(record) } else { record }
}

fn reject<F: Format>(
    stretch: &Stretch,
    offset: u64,
    raw: RawRecord<'_>,
    reason: &dyn std::fmt::Display,
    hint: Option<&str>,
    reports: &mut Reports<'_>,
) -> Result<(), ConnectorError> {
    let what = format!("read {}", F::NAME);
    let file = stretch.split.inode;
    reports.bad.places().learn(file, stretch.split.path());
    reports.bad.reject(&BadRecord { what: &what, file, offset, raw, reason, hint })?;
    reports.counters.records_in.add(1);
    Ok(())
}

fn shorter(split: &FileSplit, len: u64) -> ConnectorError {
    let cause = format!("the file has {len} bytes, it had {} when reading began", split.len);
    ConnectorError::new(Class::Data, "read", split.path().display().to_string(), cause)
        .with_hint("input that changes while it is read must be followed, and may only grow")
}

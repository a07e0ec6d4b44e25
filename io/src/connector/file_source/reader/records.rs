//! The bytes at the reading position, as records or as what is wrong with them.

use super::{Mode, Reader, Reports, Stretch};
use crate::connector::bad_records::{BadRecord, BadRecordPolicy, RawRecord};
use crate::connector::file_source::split::FileSplit;
use crate::connector::file_source::window::Stop;
use crate::emit::Emit;
use crate::error::{Class, ConnectorError};
use crate::format::{BOM, Format, Splitter};

impl<F: Format> Reader<F> {
    /// Emits whole records from the buffer, a batch at most.
    pub(super) fn records(
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
    pub(super) fn first_record(
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
    pub(super) fn discard(
        &mut self,
        stretch: &Stretch,
        reports: &mut Reports<'_>,
    ) -> Result<(), ConnectorError> {
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

    /// The file has ended: what is left is a record without a line end.
    pub(super) fn last_record(
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

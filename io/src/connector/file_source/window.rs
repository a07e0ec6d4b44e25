//! The bytes of a file that are in memory: one reused buffer, and the records in it as views.

use crate::emit::Emit;
use crate::format::{Format, Splitter};
use crate::storage::ReadFile;

/// Bytes read at a time.
pub(super) const BUFFER: usize = 256 * 1024;

/// The bytes of the file that are in memory.
pub(super) struct Window {
    pub buffer: Vec<u8>,
    /// The file's offset of the buffer's first byte.
    pub base: u64,
    /// In the buffer: where the present record begins.
    pub begin: usize,
    /// In the buffer: how far its end was looked for.
    pub scanned: usize,
    /// In the buffer: where the bytes read end.
    pub filled: usize,
}

/// Why a run of plain records came to an end.
pub(super) enum Stop {
    /// The batch is full, or the stretch ends here.
    Enough,
    /// The next record is not whole.
    Partial,
    /// The next record, which ends here in the buffer, is too long.
    TooLong(usize),
    /// The next record, which ends here in the buffer, is malformed.
    Malformed(usize, &'static str),
}

impl Window {
    /// Nothing read yet; with a buffer of so many bytes, which grows for long records.
    pub fn new(buffer: usize) -> Self {
        Self { buffer: vec![0; buffer.max(1)], base: 0, begin: 0, scanned: 0, filled: 0 }
    }

    /// Where the next record begins in the file.
    pub fn at(&self) -> u64 {
        self.base + self.begin as u64
    }

    pub fn restart(&mut self, base: u64) {
        self.base = base;
        (self.begin, self.scanned, self.filled) = (0, 0, 0);
        if self.buffer.len() > 4 * BUFFER {
            // One long record should not hold its memory for ever.
            self.buffer.truncate(BUFFER);
            self.buffer.shrink_to_fit();
        }
    }

    /// The bytes of the present record that are there.
    pub fn partial(&self) -> &[u8] {
        &self.buffer[self.begin..self.filled]
    }

    /// Drops everything that was read.
    pub fn drop_all(&mut self) {
        (self.begin, self.scanned) = (self.filled, self.filled);
    }

    /// Reads on behind what is there, `most` bytes at most; the partial record stays.
    pub fn fill(&mut self, file: &dyn ReadFile, most: u64) -> crate::storage::Result<usize> {
        self.buffer.copy_within(self.begin..self.filled, 0);
        self.base += self.begin as u64;
        self.filled -= self.begin;
        self.scanned -= self.begin;
        self.begin = 0;
        if self.filled == self.buffer.len() {
            self.buffer.resize(2 * self.filled, 0);
        }
        let room = self.buffer.len() - self.filled;
        let want = usize::try_from(most).unwrap_or(room).min(room);
        let n =
            file.read_at(&mut self.buffer[self.filled..self.filled + want], self.base + self.filled as u64)?;
        self.filled += n;
        Ok(n)
    }

    /// Emits whole records that begin before `stop` in the buffer.
    #[inline]
    pub fn emit_plain<F: Format>(
        &mut self,
        splitter: &mut F::Splitter,
        (inode, stop, max_record): (u64, usize, usize),
        out: &mut impl Emit<F::Out>,
    ) -> Stop {
        let data = &self.buffer[..self.filled];
        let base = self.base;
        let mut begin = self.begin;
        let mut bad = None;
        if begin >= stop {
            return Stop::Enough;
        }
        let scanned = self.scanned;
        let doubtful = F::may_be_malformed(&data[begin..]);
        let stopped = splitter.each_end(&data[scanned..], |n| {
            let end = scanned + n;
            let content = F::content(&data[begin..end]);
            if content.len() > max_record {
                bad = Some(Stop::TooLong(end));
                return false;
            }
            if doubtful && let Some(reason) = F::malformed(content) {
                bad = Some(Stop::Malformed(end, reason));
                return false;
            }
            if !(F::SKIPS_EMPTY && content.is_empty()) {
                out.emit(F::view(inode, base + begin as u64, content));
            }
            begin = end;
            begin < stop && !out.is_full()
        });
        self.begin = begin;
        self.scanned = stopped.map_or(self.filled, |n| scanned + n);
        match (bad, stopped) {
            (Some(bad), _) => bad,
            (None, Some(_)) => Stop::Enough,
            (None, None) => Stop::Partial,
        }
    }
}

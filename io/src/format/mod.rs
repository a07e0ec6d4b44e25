//! How bytes become records: where one ends, and what of it is handed on.
//!
//! A [`Splitter`] finds the ends of records in chunks of any size; a [`Format`] says which splitter a kind of file
//! needs and what it makes of a record's bytes. Neither copies: what is emitted is a view into the reader's buffer.

mod block;
mod borders;
pub mod csv;
mod lines;

#[cfg(test)]
pub(crate) mod testing;

pub(crate) use borders::Borders;
pub use csv::{Csv, CsvLine, CsvLineRef};
pub use lines::{LineSplitter, Lines};

use crate::record::Record;

/// Finds where records end. Fed with consecutive chunks, however they are cut; what it knows of a record that is not
/// complete is kept between chunks, the bytes are not.
pub trait Splitter: Clone + Default + Send + 'static {
    /// Looks for the end of the present record. Returns how many bytes of `chunk` belong to it, line end included,
    /// and is then ready for the next record; `None` when the record goes on behind the chunk.
    fn next_end(&mut self, chunk: &[u8]) -> Option<usize>;

    /// Calls `found` with the end of each record in the chunk, in order, until it returns false. Returns how far it has
    /// come then; nothing when it has come to the end of the chunk.
    #[inline]
    fn each_end(&mut self, chunk: &[u8], mut found: impl FnMut(usize) -> bool) -> Option<usize> {
        let mut at = 0;
        while let Some(n) = self.next_end(&chunk[at..]) {
            at += n;
            if !found(at) {
                return Some(at);
            }
        }
        None
    }

    /// Goes over a chunk without asking where records end.
    fn pass(&mut self, mut chunk: &[u8]) {
        while let Some(end) = self.next_end(chunk) {
            chunk = &chunk[end..];
        }
    }

    /// Why the bytes so far cannot be a last record without a line end, if they cannot.
    fn unfinished(&self) -> Option<&'static str> {
        None
    }
}

/// What a file's bytes mean.
pub trait Format: Clone + Send + 'static {
    /// What is emitted for each record.
    type Out: Record;

    /// What finds its ends.
    type Splitter: Splitter;

    /// The format's name in error messages.
    const NAME: &'static str;

    /// Whether a UTF-8 byte order mark in front of the first record is dropped.
    const DROPS_BOM: bool;

    /// Whether a record without content is passed over rather than emitted.
    const SKIPS_EMPTY: bool;

    /// Whether every LF ends a record, so that the borders of records are known anywhere in a file. Where it does not,
    /// a file is read once from its beginning before it can be divided.
    const LF_ENDS_RECORD: bool;

    /// The content of a record: its bytes without the line end.
    fn content(record: &[u8]) -> &[u8];

    /// Whether any record of these bytes may be malformed: a quick look that spares most input the exact one.
    #[inline(always)]
    fn may_be_malformed(_bytes: &[u8]) -> bool {
        false
    }

    /// What is wrong with the content of a whole record, if anything is.
    fn malformed(_content: &[u8]) -> Option<&'static str> {
        None
    }

    /// What is emitted for the content of the record that begins at byte `offset` of the file with the inode `file`.
    fn view(file: u64, offset: u64, content: &[u8]) -> <Self::Out as Record>::Ref<'_>;
}

/// The UTF-8 byte order mark.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

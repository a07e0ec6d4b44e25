//! CSV by RFC 4180, as bytes: quoted fields may hold commas, line breaks and doubled quotes.
//!
//! What the RFC leaves open is read leniently, and the same everywhere ([`CsvSplitter`], [`fields`], the pre-scan that
//! divides a file):
//!
//! - A quote opens a quoted field only as the field's first byte. Anywhere else in an unquoted field it is an
//!   ordinary byte: `5" pipe,x` has two fields.
//! - What follows the closing quote up to the next comma or line end belongs to the field, quotes in it are ordinary:
//!   [`fields`] reads `"a"b` as `ab`. A file source takes a record with such a field for a bad one.
//! - A record ends with LF or CRLF outside quotes. A CR that is not followed by LF is an ordinary byte.
//! - A line without content is no record.
//! - A quoted field that is still open at the end of the input makes the record a bad one.
//!
//! Fields are bytes, not necessarily UTF-8.

mod fields;
mod record;
mod splitter;

pub use fields::{Field, Fields, fields, write_field};
pub use record::{CsvLine, CsvLineRef};
pub use splitter::CsvSplitter;

use super::Format;

/// A file of CSV records. Each is handed on as a [`CsvLine`]: its raw bytes and where they stood. A leading byte order
/// mark is dropped (MS-059).
#[derive(Clone, Copy, Debug, Default)]
pub struct Csv;

impl Format for Csv {
    type Out = CsvLine;
    type Splitter = CsvSplitter;

    const NAME: &'static str = "CSV";
    const DROPS_BOM: bool = true;
    const SKIPS_EMPTY: bool = true;
    const LF_ENDS_RECORD: bool = false;

    #[inline(always)]
    fn content(record: &[u8]) -> &[u8] {
        match record.strip_suffix(b"\n") {
            Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
            None => record,
        }
    }

    #[inline(always)]
    fn may_be_malformed(bytes: &[u8]) -> bool {
        memchr::memchr(b'"', bytes).is_some()
    }

    fn malformed(content: &[u8]) -> Option<&'static str> {
        let behind = fields(content.strip_suffix(b"\r").unwrap_or(content)).any(Field::goes_on_behind_quote);
        behind
            .then_some("a closing quote is followed by something else than a comma or the end of the record")
    }

    #[inline(always)]
    fn view(file: u64, offset: u64, content: &[u8]) -> CsvLineRef<'_> {
        CsvLineRef { file, offset, line: content }
    }
}

#[cfg(test)]
mod tests;

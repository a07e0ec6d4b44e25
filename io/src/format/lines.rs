//! Lines: the bytes between two LF, whatever they are.

use super::{Format, Splitter};

/// A file of lines. A record is the bytes between two LF: a CR stays, an empty line counts, and nothing is dropped, so
/// that a record may be any bytes (MS-064).
#[derive(Clone, Copy, Debug, Default)]
pub struct Lines;

/// Finds the ends of lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineSplitter;

impl Splitter for LineSplitter {
    #[inline(always)]
    fn next_end(&mut self, chunk: &[u8]) -> Option<usize> {
        memchr::memchr(b'\n', chunk).map(|at| at + 1)
    }
}

impl Format for Lines {
    type Out = Vec<u8>;
    type Splitter = LineSplitter;

    const NAME: &'static str = "lines";
    const DROPS_BOM: bool = false;
    const SKIPS_EMPTY: bool = false;
    const LF_ENDS_RECORD: bool = true;

    #[inline(always)]
    fn content(record: &[u8]) -> &[u8] {
        record.strip_suffix(b"\n").unwrap_or(record)
    }

    #[inline(always)]
    fn view(_: u64, _: u64, content: &[u8]) -> &[u8] {
        content
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::testing::split;

    #[test]
    fn ms064_lines_are_any_bytes_and_only_lf_ends_them() {
        let text = b"ok1\nk\xffk\na\0b\n\r\n\nlast";
        let lines: [&[u8]; 6] = [b"ok1", b"k\xffk", b"a\0b", b"\r", b"", b"last"];
        for chunk in 1..=text.len() {
            assert_eq!(split::<Lines>(text, chunk), lines, "fed in chunks of {chunk}");
        }
    }
}

//! Lines: the bytes between two LF, whatever they are.

use super::block::{self, BLOCK};
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

    /// By blocks: searching anew for each line costs more than a short line is long.
    #[inline]
    fn each_end(&mut self, chunk: &[u8], mut found: impl FnMut(usize) -> bool) -> Option<usize> {
        let (blocks, rest) = chunk.as_chunks::<BLOCK>();
        for (i, block) in blocks.iter().enumerate() {
            let mut ends = block::find(block, b'\n');
            while ends != 0 {
                let end = i * BLOCK + ends.trailing_zeros() as usize + 1;
                if !found(end) {
                    return Some(end);
                }
                ends &= ends - 1;
            }
        }
        let before = blocks.len() * BLOCK;
        for at in memchr::memchr_iter(b'\n', rest) {
            if !found(before + at + 1) {
                return Some(before + at + 1);
            }
        }
        None
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
    use crate::format::testing::{cuts_by_runs, split};
    use proptest::prelude::*;

    #[test]
    fn ms064_lines_are_any_bytes_and_only_lf_ends_them() {
        let text = b"ok1\nk\xffk\na\0b\n\r\n\nlast";
        let lines: [&[u8]; 6] = [b"ok1", b"k\xffk", b"a\0b", b"\r", b"", b"last"];
        for chunk in 1..=text.len() {
            assert_eq!(split::<Lines>(text, chunk), lines, "fed in chunks of {chunk}");
        }
    }

    proptest! {
        #[test]
        fn lines_end_behind_every_lf_in_runs_of_any_length(
            text in prop::collection::vec(prop::sample::select(b"\n\nabcdef\x8a\x0b".to_vec()), 0..400),
            chunk in 1usize..300, run in 1usize..10,
        ) {
            let mut want: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::len).collect();
            let mut begin = 0;
            let want: Vec<_> = want.drain(..).map(|len| { begin += len; (begin - len, begin) }).collect();
            prop_assert_eq!(cuts_by_runs::<LineSplitter>(&text, chunk, run), want);
        }
    }
}

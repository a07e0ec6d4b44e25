//! The first line of a bucket.

use crate::paged::memory::{LINE, Line, PAGE};
use crate::paged::pages::Pages;

/// Where the value of the key that looks like an empty slot is, in the header. Up to 24 bytes.
pub(in crate::paged) const ASIDE: usize = 32;

/// How large a bucket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::paged) struct Shape {
    /// Its pages are `1 << log2`.
    pub log2: u32,
    /// Homes: lines, or groups of tags.
    pub homes: u32,
    /// What the header says as [`Header::top`] while the bucket is empty.
    pub top: u32,
}

impl Shape {
    /// Bytes of the bucket.
    pub fn bytes(self) -> usize {
        PAGE << self.log2
    }
}

/// What the header says. A page whose first byte is 0 begins no bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::paged) struct Header {
    /// The form.
    pub kind: u8,
    /// Pages are `1 << log2`.
    pub log2: u8,
    /// How many top bits of a hash chose the bucket.
    pub depth: u8,
    /// Whether the key that looks like an empty slot is here.
    pub aside: bool,
    /// Keys.
    pub count: u32,
    /// Those top bits, in their place.
    pub prefix: u64,
    /// Homes: lines, or groups of tags.
    pub homes: u16,
    /// Bytes in use, from the beginning of the bucket (records); tags that stand for keys that were taken out (slots).
    pub top: u32,
}

impl Header {
    pub fn parse(line: &Line) -> Self {
        let word = |at: usize| u32::from_le_bytes([line[at], line[at + 1], line[at + 2], line[at + 3]]);
        Self {
            kind: line[0],
            log2: line[1],
            depth: line[2],
            aside: line[3] != 0,
            count: word(4),
            prefix: u64::from(word(8)) | u64::from(word(12)) << 32,
            homes: u16::from_le_bytes([line[16], line[17]]),
            top: word(20),
        }
    }

    /// The header of the bucket that begins with a line.
    pub fn read(pages: &Pages, line: u32) -> Self {
        Self::parse(pages.line(line as usize))
    }

    /// Writes it, all but the value kept aside.
    pub fn write(self, pages: &mut Pages, line: u32) {
        let out = pages.line_mut(line as usize);
        out[..4].copy_from_slice(&[self.kind, self.log2, self.depth, self.aside.into()]);
        out[4..8].copy_from_slice(&self.count.to_le_bytes());
        out[8..16].copy_from_slice(&self.prefix.to_le_bytes());
        out[16..18].copy_from_slice(&self.homes.to_le_bytes());
        out[20..24].copy_from_slice(&self.top.to_le_bytes());
    }

    /// Bytes of the bucket.
    pub fn bytes(self) -> usize {
        PAGE << self.log2
    }

    /// Lines of the bucket.
    pub fn lines(self) -> usize {
        self.bytes() / LINE
    }
}

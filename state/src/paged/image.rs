//! Lines of pages as bytes of a snapshot: an entry for a page says which of its lines follow.
//!
//! An entry is a page number, as the difference to that of the entry before (zigzag, as a varint; the first one counts
//! from 0), a byte for the form, and the lines:
//!
//! - form 0 to 63: that line alone;
//! - form 64: a mask of eight bytes, little-endian, and the lines of its bits in ascending order;
//! - form 65: all 64 lines.
//!
//! Entries may come in any order. Later bytes of a chain of snapshots win, and within the bytes of one snapshot no line comes
//! twice.

use super::memory::{LINE, PAGE};

/// Bytes of a line.
pub(crate) const LINE_BYTES: usize = LINE;

const MASKED: u8 = 64;
const WHOLE: u8 = 65;

/// The beginning of an entry, which its lines follow; `last` is the page of the entry before.
pub(crate) fn put_head(page: u32, lines: u64, last: &mut u32, out: &mut Vec<u8>) {
    put_varint(zigzag(page.wrapping_sub(*last).cast_signed()), out);
    *last = page;
    match lines.count_ones() {
        1 => out.push(lines.trailing_zeros() as u8),
        64 => out.push(WHOLE),
        _ => {
            out.push(MASKED);
            out.extend_from_slice(&lines.to_le_bytes());
        }
    }
}

/// What is wrong with bytes that should be entries: where, and what.
pub(crate) type Problem = (usize, &'static str);

/// The entries: page, lines, and their content.
pub(crate) fn entries(bytes: &[u8]) -> impl Iterator<Item = Result<(u32, u64, &[u8]), Problem>> {
    let mut rest = bytes;
    let mut page = 0u32;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let at = bytes.len() - rest.len();
        let entry = entry(&mut rest, &mut page);
        if entry.is_err() {
            rest = &[];
        }
        Some(entry.map_err(|problem| (at, problem)))
    })
}

/// Writes the lines of an entry over those of its page, where as many bytes as that has are to be changed.
pub(crate) fn put_lines(page: &mut [u8], lines: u64, mut content: &[u8]) {
    let (mut lines, mut line) = (lines, 0);
    // Lines that are side by side are copied at once.
    while lines != 0 {
        let (gap, run) = (lines.trailing_zeros(), (lines >> lines.trailing_zeros()).trailing_ones());
        line += gap as usize;
        let Some((first, rest)) = content.split_at_checked(run as usize * LINE) else { break };
        page[line * LINE..][..first.len()].copy_from_slice(first);
        content = rest;
        line += run as usize;
        lines = lines.checked_shr(gap + run).unwrap_or(0);
    }
}

fn entry<'a>(rest: &mut &'a [u8], page: &mut u32) -> Result<(u32, u64, &'a [u8]), &'static str> {
    const SHORT: &str = "an entry of a page goes beyond the end";
    let step = take_varint(rest).ok_or("an entry does not begin with the number of a page")?;
    *page = page.wrapping_add(unzigzag(step).cast_unsigned());
    let (form, behind) = rest.split_first().ok_or(SHORT)?;
    *rest = behind;
    let lines = match *form {
        line @ 0..64 => 1 << line,
        MASKED => {
            let (mask, behind) = rest.split_first_chunk().ok_or(SHORT)?;
            *rest = behind;
            u64::from_le_bytes(*mask)
        }
        WHOLE => u64::MAX,
        _ => return Err("the lines of a page come in a form that is not known"),
    };
    let content = rest.split_at_checked(lines.count_ones() as usize * LINE).ok_or(SHORT)?;
    *rest = content.1;
    debug_assert!(content.0.len() <= PAGE);
    Ok((*page, lines, content.0))
}

fn zigzag(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)).cast_unsigned()
}

fn unzigzag(value: u32) -> i32 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

fn put_varint(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_varint(rest: &mut &[u8]) -> Option<u32> {
    let mut value = 0u64;
    for shift in (0..35).step_by(7) {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u32::try_from(value).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_entries_are_told_apart() {
        let fault = |bytes: &[u8]| entries(bytes).find_map(Result::err);
        assert_eq!(fault(&[]), None);
        assert_eq!(fault(&[0x80]), Some((0, "an entry does not begin with the number of a page")));
        assert!(fault(&[0xff; 5]).is_some());
        assert!(fault(&[0, 66]).is_some());
        assert!(fault(&[0, 65, 1]).is_some());
        let mut two = vec![2, 0];
        two.extend([9; 64]);
        two.extend([2, 0, 1]);
        assert_eq!(fault(&two), Some((66, "an entry of a page goes beyond the end")));
    }
}

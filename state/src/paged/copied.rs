//! The lines copied since the last freeze, as bytes of a snapshot, on their way out in chunks.
//!
//! The groups have their turns one after the other. What is copied of the group whose turn it is goes to the end of the chunk
//! that is open, and a chunk that is full is finished. What is copied of a group before its turn, because it is about to change,
//! waits, and goes ahead of all else when that turn comes. So chunks have the groups in order, and nothing that was put into
//! one waits for the end of its group.

use super::image::put_head;
use super::memory::{LINE, PAGE};
use std::collections::VecDeque;

/// Bytes of a chunk, unless it is said otherwise.
pub(crate) const CHUNK: usize = 256 << 10;

/// Bytes by which the last page that was put into a chunk may go beyond it.
const BEYOND: usize = PAGE + 32;

/// Buffers that are kept for the next snapshot.
const SPARE: usize = 4;

/// See the module page.
#[derive(Debug)]
pub(super) struct Copied {
    groups: Vec<Group>,
    /// The group whose turn it is.
    turn: usize,
    open: Piece,
    finished: VecDeque<Piece>,
    /// A piece is finished when it has so many bytes.
    chunk: usize,
    spare: Vec<Vec<u8>>,
    /// Bytes since the freeze.
    bytes: usize,
    /// Bytes of memory that the blocks take which wait for the turns of their groups.
    early: usize,
}

/// What is known of a group.
#[derive(Clone, Debug, Default)]
struct Group {
    /// What was copied before its turn, in blocks that become chunks as they are.
    early: Vec<Vec<u8>>,
    /// Whether anything was copied of it.
    begun: bool,
    /// The page that was copied last.
    last: u32,
}

/// The block that what is copied early goes to, and what it has taken of memory before. Most groups have little of it.
fn block(early: &mut Vec<Vec<u8>>, chunk: usize) -> (&mut Vec<u8>, usize) {
    let had = early.last().filter(|last| last.len() < chunk).map_or(0, Vec::capacity);
    if early.last().is_some_and(|last| last.len() >= chunk) {
        early.push(Vec::with_capacity(chunk + BEYOND));
    } else if early.is_empty() {
        early.push(Vec::new());
    }
    let last = early.len() - 1;
    (&mut early[last], had)
}

/// Bytes of groups in order, and how many are of which.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    pub parts: Vec<(usize, usize)>,
    pub bytes: Vec<u8>,
}

impl Copied {
    pub fn new(groups: usize) -> Self {
        Self {
            groups: vec![Group::default(); groups],
            turn: 0,
            open: Piece::default(),
            finished: VecDeque::new(),
            chunk: CHUNK,
            spare: Vec::new(),
            bytes: 0,
            early: 0,
        }
    }

    pub fn chunks_of(&mut self, bytes: usize) {
        self.chunk = bytes.max(1);
    }

    /// Bytes since the freeze.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of memory that take what was copied before its turn, and what is finished and not taken.
    pub fn waiting(&self) -> usize {
        self.early + self.finished.iter().map(|piece| piece.bytes.capacity()).sum::<usize>()
    }

    /// A freeze: nothing has been copied, and it is the first group's turn.
    pub fn begin(&mut self) {
        debug_assert!(self.finished.is_empty() && self.open.bytes.is_empty());
        self.groups.fill_with(Group::default);
        self.bytes = 0;
        self.early = 0;
        self.turn = 0;
    }

    /// It is the next group's turn.
    pub fn next_turn(&mut self) {
        self.turn += 1;
        let Some(group) = self.groups.get_mut(self.turn) else { return };
        for block in std::mem::take(&mut group.early) {
            self.early -= block.capacity();
            if block.len() >= self.chunk {
                self.finish();
                let parts = vec![(self.turn, block.len())];
                self.finished.push_back(Piece { parts, bytes: block });
            } else {
                self.make_room();
                self.open.bytes.extend_from_slice(&block);
                self.count(block.len());
            }
        }
    }

    /// Adds lines of a page: of `content`, its bytes, those in the mask.
    pub fn add(&mut self, group: usize, page: u32, lines: u64, content: &[u8]) {
        let in_turn = group == self.turn;
        if in_turn {
            self.make_room();
        }
        let of = &mut self.groups[group];
        let (out, had) = if in_turn { (&mut self.open.bytes, 0) } else { block(&mut of.early, self.chunk) };
        let before = out.len();
        if !std::mem::replace(&mut of.begun, true) {
            out.push(super::PAGES);
        }
        put_head(page, lines, &mut of.last, out);
        put_lines(lines, content, out);
        let (added, taken) = (out.len() - before, out.capacity() - had);
        self.bytes += added;
        if in_turn {
            self.count(added);
        } else {
            self.early += taken;
        }
    }

    /// Room for a page in the open piece. The first one of a snapshot grows as it must, for most snapshots are small.
    fn make_room(&mut self) {
        if self.open.bytes.capacity() == 0 {
            let fresh =
                || if self.bytes < self.chunk { Vec::new() } else { Vec::with_capacity(self.chunk + BEYOND) };
            self.open.bytes = self.spare.pop().unwrap_or_else(fresh);
        }
    }

    /// So many bytes of the group whose turn it is were added to the open piece.
    fn count(&mut self, len: usize) {
        match self.open.parts.last_mut() {
            Some((group, sum)) if *group == self.turn => *sum += len,
            _ => self.open.parts.push((self.turn, len)),
        }
        if self.open.bytes.len() >= self.chunk {
            self.finish();
        }
    }

    /// Nothing more is added to the open piece.
    pub fn finish(&mut self) {
        if !self.open.bytes.is_empty() {
            self.finished.push_back(std::mem::take(&mut self.open));
        }
    }

    /// The group whose turn it is.
    pub fn turn(&self) -> usize {
        self.turn
    }

    /// Whether there is anything of that group.
    pub fn has_begun(&self) -> bool {
        self.groups.get(self.turn).is_some_and(|group| group.begun)
    }

    /// Nothing that was copied before its turn is wanted any more.
    pub fn forget_early(&mut self) {
        self.groups.iter_mut().for_each(|group| group.early = Vec::new());
        self.early = 0;
    }

    /// The next piece that is finished, in order.
    pub fn take(&mut self) -> Option<Piece> {
        self.finished.pop_front()
    }

    /// Takes the buffer of a piece back.
    pub fn recycle(&mut self, mut buffer: Vec<u8>) {
        // One that is much larger would be more than it is counted as.
        let fits = (self.chunk..=self.chunk * 2 + BEYOND).contains(&buffer.capacity());
        if self.spare.len() < SPARE && fits {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    /// All that was copied and has not been taken, by group.
    pub fn take_groups(&mut self) -> Vec<(usize, Vec<u8>)> {
        self.finish();
        let mut groups: Vec<(usize, Vec<u8>)> = Vec::new();
        while let Some(Piece { parts, bytes }) = self.take() {
            let begun = |groups: &[(usize, _)], group| groups.last().is_some_and(|(last, _)| *last == group);
            if let [(group, _)] = parts[..]
                && !begun(&groups, group)
            {
                groups.push((group, bytes));
                continue;
            }
            let mut rest = &bytes[..];
            for (group, len) in parts {
                let (part, behind) = rest.split_at(len);
                rest = behind;
                if !begun(&groups, group) {
                    groups.push((group, Vec::new()));
                }
                if let Some((_, all)) = groups.last_mut() {
                    all.extend_from_slice(part);
                }
            }
            self.recycle(bytes);
        }
        groups
    }
}

/// The lines of a page that are in the mask.
#[inline]
fn put_lines(mut lines: u64, content: &[u8], out: &mut Vec<u8>) {
    if lines == u64::MAX {
        out.extend_from_slice(content);
        return;
    }
    let (content, _) = content.as_chunks::<LINE>();
    while lines != 0 {
        out.extend_from_slice(&content[lines.trailing_zeros() as usize]);
        lines &= lines - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paged::PAGES;
    use crate::paged::image::entries;

    fn page() -> Vec<u8> {
        (0..PAGE).map(|i| (i / LINE) as u8).collect()
    }

    /// The three forms by hand, and in any order of pages.
    #[test]
    fn lines_come_back_as_they_were() {
        let content = page();
        let mut copied = Copied::new(2);
        copied.begin();
        copied.add(1, 300, 1 << 5, &content);
        copied.next_turn();
        copied.add(1, 7, 0b1010, &content);
        copied.add(1, u32::MAX, u64::MAX, &content);
        let taken = copied.take_groups();
        let [(1, bytes)] = &taken[..] else { panic!("{taken:?}") };
        let (&PAGES, bytes) = bytes.split_first().unwrap() else { panic!("{bytes:?}") };
        assert_eq!(bytes[..4], [0xd8, 0x04, 5, 5], "300 * 2 as a varint, form 5, the content of line 5");
        assert_eq!(bytes.len(), (2 + 1 + 64) + (2 + 1 + 8 + 2 * 64) + (1 + 1 + 4096));
        let all: Vec<_> = entries(bytes).map(Result::unwrap).collect();
        assert_eq!(all[0], (300, 1 << 5, &[5; 64][..]));
        assert_eq!((all[1].0, all[1].1, all[1].2[0], all[1].2[127]), (7, 0b1010, 1, 3));
        assert_eq!(all[2], (u32::MAX, u64::MAX, &content[..]));
        assert_eq!(copied.take_groups().len(), 0);
    }

    /// What was copied early waits for its turn, a group goes on in the next chunk, and nothing waits for its end.
    #[test]
    fn cp_24_chunks_have_the_groups_in_order_whatever_was_copied_first() {
        let content = page();
        let mut copied = Copied::new(4);
        copied.chunks_of(150);
        copied.begin();
        copied.add(2, 0, 1, &content);
        copied.add(3, 0, 0b111, &content);
        assert!(copied.take().is_none(), "neither has had its turn");
        assert!((67 + 203..600).contains(&copied.waiting()), "both take memory: {}", copied.waiting());
        copied.add(0, 0, 1, &content);
        copied.add(0, 1, 0b11, &content);
        let first = copied.take().unwrap();
        assert_eq!(first.parts, [(0, 1 + 66 + 10 + 128)], "form, a line alone, a mask and two lines");
        copied.add(0, 2, 1, &content);
        copied.next_turn();
        copied.next_turn();
        assert!(copied.take().is_none(), "133 bytes");
        copied.next_turn();
        let second = copied.take().unwrap();
        assert_eq!(second.parts, [(0, 66), (2, 67)]);
        assert_eq!(second.bytes[66], PAGES, "the form comes once in a group");
        let third = copied.take().unwrap();
        assert_eq!((third.parts, third.bytes.len()), (vec![(3, 203)], 203), "as large as a chunk by itself");
        copied.finish();
        assert!(copied.take().is_none());
        assert_eq!((copied.bytes(), copied.waiting()), (205 + 133 + 203, 0));
    }

    #[test]
    fn a_buffer_is_filled_again() {
        let content = page();
        let mut copied = Copied::new(1);
        copied.chunks_of(100);
        copied.begin();
        copied.add(0, 0, 0b11, &content);
        let piece = copied.take().unwrap();
        let address = piece.bytes.as_ptr();
        copied.recycle(piece.bytes);
        copied.add(0, 1, 1, &content);
        copied.finish();
        let again = copied.take().unwrap();
        assert_eq!((again.bytes.as_ptr(), again.bytes.len()), (address, 66));
    }
}

//! Where CSV records end.

use crate::format::Splitter;
use crate::format::block::{self, BLOCK};
use memchr::{memchr, memchr2};

/// Finds the ends of CSV records, in chunks of any size; the grammar stands on the [module page](super).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CsvSplitter {
    state: State,
}

/// What the bytes so far mean for the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// A field begins here: a quote would open it.
    #[default]
    Start,
    /// In an unquoted field, or behind the closing quote of a quoted one: a quote is an ordinary byte.
    Plain,
    /// In a quoted field.
    Quoted,
    /// Behind a quote in a quoted field: it closed the field, unless another quote follows.
    Quote,
}

impl CsvSplitter {
    fn each_end_bytewise(&mut self, chunk: &[u8], mut found: impl FnMut(usize) -> bool) -> Option<usize> {
        let mut at = 0;
        while let Some(n) = self.next_end(&chunk[at..]) {
            at += n;
            if !found(at) {
                return Some(at);
            }
        }
        None
    }

    fn pass_bytewise(&mut self, chunk: &[u8]) {
        self.each_end_bytewise(chunk, |_| true);
    }

    /// From `at`, outside quotes, to behind the next byte that matters, which was found `found` bytes further; says
    /// whether it ended a record. `None` when there is none in the chunk.
    #[inline(always)]
    fn plain_until(&mut self, chunk: &[u8], at: usize, found: Option<usize>) -> Option<(usize, bool)> {
        let Some(found) = found else {
            if let Some(&last) = chunk[at..].last() {
                self.state = State::after(last);
            }
            return None;
        };
        let next = at + found + 1;
        if chunk[at + found] == b'\n' {
            self.state = State::Start;
            return Some((next, true));
        }
        let before = if found == 0 { self.state } else { State::after(chunk[at + found - 1]) };
        self.state = if before == State::Start { State::Quoted } else { State::Plain };
        Some((next, false))
    }

    /// From `at`, in a quoted field or behind a quote in one, to behind the next byte that matters; says whether it
    /// ended a record. `None` when there is none in the chunk.
    #[inline(always)]
    fn quoted(&mut self, chunk: &[u8], at: usize) -> Option<(usize, bool)> {
        let at = if self.state == State::Quoted {
            let found = memchr(b'"', &chunk[at..])?;
            self.state = State::Quote;
            at + found + 1
        } else {
            at
        };
        let &byte = chunk.get(at)?;
        self.state = match byte {
            b'"' => State::Quoted,
            b',' | b'\n' => State::Start,
            _ => State::Plain,
        };
        Some((at + 1, byte == b'\n'))
    }
}

/// What one look at a block tells.
struct Look {
    /// Line ends outside of quotes.
    ends: u64,
    /// The state behind the block.
    after: State,
}

impl CsvSplitter {
    /// Looks at 64 bytes at once; nothing when the block holds a quote that is an ordinary byte, which only a look at
    /// each byte can tell.
    ///
    /// Where every quote opens or closes, the bytes inside of quotes are those with an odd number of quotes up to them
    /// (a doubled quote closes and opens again). That holds if every quote that opens stands at the beginning of a
    /// field or right behind one that closes.
    #[inline(always)]
    fn look(self, block: &[u8; BLOCK]) -> Option<Look> {
        let quotes = block::find(block, b'"');
        let line_ends = block::find(block, b'\n');
        let inside_before = if self.state == State::Quoted { u64::MAX } else { 0 };
        let last = block[BLOCK - 1];
        if quotes == 0 {
            let after = if self.state == State::Quoted { State::Quoted } else { State::after(last) };
            return Some(Look { ends: line_ends & !inside_before, after });
        }
        let inside = block::between(quotes) ^ inside_before;
        let (opening, closing) = (quotes & inside, quotes & !inside);
        let may_open_first = u64::from(matches!(self.state, State::Start | State::Quote));
        let may_open = (block::find(block, b',') | line_ends | closing) << 1 | may_open_first;
        if opening & !may_open != 0 {
            return None;
        }
        let after = match (inside >> (BLOCK - 1), last) {
            (1, _) => State::Quoted,
            (_, b'"') => State::Quote,
            (_, last) => State::after(last),
        };
        Some(Look { ends: line_ends & !inside, after })
    }
}

impl State {
    /// Behind a byte that is no quote, outside of quotes.
    fn after(byte: u8) -> Self {
        if matches!(byte, b',' | b'\n') { Self::Start } else { Self::Plain }
    }
}

impl Splitter for CsvSplitter {
    #[inline]
    fn next_end(&mut self, chunk: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            let (next, ended) = match self.state {
                State::Start | State::Plain => {
                    let found = memchr2(b'\n', b'"', &chunk[at..]);
                    self.plain_until(chunk, at, found)?
                }
                State::Quoted | State::Quote => self.quoted(chunk, at)?,
            };
            if ended {
                return Some(next);
            }
            at = next;
        }
    }

    #[inline]
    fn each_end(&mut self, chunk: &[u8], mut found: impl FnMut(usize) -> bool) -> Option<usize> {
        let (blocks, rest) = chunk.as_chunks::<BLOCK>();
        for (i, block) in blocks.iter().enumerate() {
            let before = i * BLOCK;
            let Some(Look { mut ends, after }) = self.look(block) else {
                if let Some(end) = self.each_end_bytewise(block, |end| found(before + end)) {
                    return Some(before + end);
                }
                continue;
            };
            while ends != 0 {
                let end = before + ends.trailing_zeros() as usize + 1;
                if !found(end) {
                    self.state = State::Start;
                    return Some(end);
                }
                ends &= ends - 1;
            }
            self.state = after;
        }
        let before = blocks.len() * BLOCK;
        self.each_end_bytewise(rest, |end| found(before + end)).map(|end| before + end)
    }

    /// At the speed of looking for quotes alone, and by blocks where there are some.
    fn pass(&mut self, mut chunk: &[u8]) {
        while !chunk.is_empty() {
            if matches!(self.state, State::Start | State::Plain) {
                let plain = memchr(b'"', chunk).unwrap_or(chunk.len());
                if let Some(&last) = chunk[..plain].last() {
                    self.state = State::after(last);
                }
                chunk = &chunk[plain..];
            }
            // The quote, and what follows it as far as there are quotes.
            while let Some((block, rest)) = chunk.split_first_chunk::<BLOCK>() {
                match self.look(block) {
                    Some(look) => self.state = look.after,
                    None => self.pass_bytewise(block),
                }
                chunk = rest;
                if matches!(self.state, State::Start | State::Plain) {
                    break;
                }
            }
            if chunk.len() < BLOCK {
                self.pass_bytewise(chunk);
                return;
            }
        }
    }

    fn unfinished(&self) -> Option<&'static str> {
        (self.state == State::Quoted).then_some("a quoted field is never closed")
    }
}

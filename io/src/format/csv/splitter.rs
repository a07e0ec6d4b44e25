//! Where CSV records end.

use crate::format::Splitter;
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
    /// From `at`, outside quotes, to behind the next byte that matters, which was found `found` bytes further; says
    /// whether it ended a record. `None` when there is none in the chunk.
    #[inline(always)]
    fn plain_until(&mut self, chunk: &[u8], at: usize, found: Option<usize>) -> Option<(usize, bool)> {
        let opens = |byte: u8| byte == b',' || byte == b'\n';
        let Some(found) = found else {
            if let Some(&last) = chunk[at..].last() {
                self.state = if opens(last) { State::Start } else { State::Plain };
            }
            return None;
        };
        let next = at + found + 1;
        if chunk[at + found] == b'\n' {
            self.state = State::Start;
            return Some((next, true));
        }
        let first = if found == 0 { self.state == State::Start } else { opens(chunk[at + found - 1]) };
        self.state = if first { State::Quoted } else { State::Plain };
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

    /// At the speed of looking for quotes alone.
    fn pass(&mut self, chunk: &[u8]) {
        let mut at = 0;
        while at < chunk.len() {
            at = match self.state {
                State::Start | State::Plain => {
                    match self.plain_until(chunk, at, memchr(b'"', &chunk[at..])) {
                        Some((next, _)) => next,
                        None => return,
                    }
                }
                State::Quoted | State::Quote => match self.quoted(chunk, at) {
                    Some((next, _)) => next,
                    None => return,
                },
            };
        }
    }

    fn unfinished(&self) -> Option<&'static str> {
        (self.state == State::Quoted).then_some("a quoted field is never closed")
    }
}

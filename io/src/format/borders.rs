//! The pre-scan: where a file may be divided when not every LF ends a record.

use super::Splitter;

/// Finds, for given places in a file, the first border between records at or behind each: the end of the first record
/// whose last byte is at or behind `place - 1`.
///
/// Whether a line break ends a record depends on every byte before it, so the file is gone through from its beginning;
/// between the places [`Splitter::pass`] looks at quotes alone, so this runs at about the speed of memory (ruling 37).
pub(crate) struct Borders<S> {
    splitter: S,
    /// How far it has come.
    at: u64,
    /// Places not reached yet, the nearest last.
    places: Vec<u64>,
    found: Vec<u64>,
}

impl<S: Splitter> Borders<S> {
    /// For `places` in ascending order, none of them before `begin`, where the first record begins.
    pub(crate) fn new(begin: u64, mut places: Vec<u64>) -> Self {
        places.reverse();
        Self { splitter: S::default(), at: begin, places, found: Vec::new() }
    }

    /// Goes over the next bytes of the file. Returns whether it needs more.
    pub(crate) fn feed(&mut self, mut chunk: &[u8]) -> bool {
        while let Some(&place) = self.places.last() {
            if chunk.is_empty() {
                return true;
            }
            let far = usize::try_from(place.saturating_sub(1).saturating_sub(self.at)).unwrap_or(usize::MAX);
            if far > 0 {
                let (passed, rest) = chunk.split_at(far.min(chunk.len()));
                self.splitter.pass(passed);
                self.at += passed.len() as u64;
                chunk = rest;
                continue;
            }
            let Some(end) = self.splitter.next_end(chunk) else {
                self.at += chunk.len() as u64;
                return true;
            };
            self.at += end as u64;
            chunk = &chunk[end..];
            self.found.push(self.at);
            // A long record may have passed further places.
            while self.places.last().is_some_and(|place| *place <= self.at) {
                self.places.pop();
            }
        }
        false
    }

    /// The borders found, in ascending order, each once.
    pub(crate) fn found(self) -> Vec<u64> {
        self.found
    }
}

//! Pages out of the bytes of a snapshot.

use super::image::{Problem, entries};
use super::memory::SEGMENT_PAGES;
use super::pages::Pages;
use millstream_io::scratch::ScratchError;

/// The most segments of a group that no page was written to yet though one behind them has some.
const UNUSED: usize = 16;

impl Pages {
    /// Adds what a snapshot has of a group's pages. What they hold is to be looked at when all is there.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn load_part(&mut self, group: usize, bytes: &[u8]) -> Result<(), Loading> {
        let (mut pages, mut last) = (0, 0);
        for entry in entries(bytes) {
            let (page, _, _) = entry?;
            pages += 1;
            last = last.max(page as usize);
        }
        // Nearly every segment has a page in the first snapshot that it is in: so a number takes little more memory than is due.
        if last / SEGMENT_PAGES >= self.len_of(group) / SEGMENT_PAGES + pages + UNUSED {
            return Err(Loading::Damaged(0, "the number of a page is larger than there can be pages"));
        }
        for entry in entries(bytes) {
            let (page, lines, content) = entry?;
            self.load(group, page as usize, lines, content)?;
        }
        Ok(())
    }
}

/// Why pages cannot be loaded.
#[derive(Debug)]
pub(crate) enum Loading {
    /// The bytes are not what a snapshot has: where, and what.
    Damaged(usize, &'static str),
    /// The system gives no memory.
    Memory(ScratchError),
}

impl From<Problem> for Loading {
    fn from((at, problem): Problem) -> Self {
        Self::Damaged(at, problem)
    }
}

impl From<ScratchError> for Loading {
    fn from(error: ScratchError) -> Self {
        Self::Memory(error)
    }
}

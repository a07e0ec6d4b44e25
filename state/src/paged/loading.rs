//! Pages out of the bytes of a snapshot.

use super::image::{Problem, entries, put_lines};
use super::memory::{PAGE, SEGMENT_PAGES};
use super::pages::Pages;
use crate::key_group::KeyGroup;
use crate::keyed::RestoreError;
use millstream_io::scratch::ScratchError;

/// The most segments of a group that no page was written to yet though one behind them has some.
const UNUSED: usize = 16;

impl Pages {
    /// Adds what a snapshot has of a group's pages. What they hold is to be looked at when all is there.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn load_part(&mut self, group: usize, bytes: &[u8]) -> Result<(), Loading> {
        segments_with(bytes, self.len_of(group) / SEGMENT_PAGES)?;
        for entry in entries(bytes) {
            let (page, lines, content) = entry?;
            self.load(group, page as usize, lines, content)?;
        }
        Ok(())
    }
}

/// How many segments a group that had some has with what a snapshot has of its pages.
fn segments_with(bytes: &[u8], before: usize) -> Result<usize, Loading> {
    let (mut pages, mut last) = (0, None);
    for entry in entries(bytes) {
        let (page, _, _) = entry?;
        pages += 1;
        last = last.max(Some(page as usize / SEGMENT_PAGES));
    }
    let segments = last.map_or(0, |last| last + 1);
    // Nearly every segment has a page in the first snapshot that it is in: so a number takes little more memory than is due.
    if segments > before + pages + UNUSED {
        return Err(Loading::Damaged(0, "the number of a page is larger than there can be pages"));
    }
    Ok(segments.max(before))
}

/// The segments of a group, and in each the pages that parts have, as a mask; or which part has what wrong with it.
pub(super) fn survey(parts: &[&[u8]]) -> Result<Vec<u16>, (usize, Loading)> {
    let mut segments: Vec<u16> = Vec::new();
    for (nth, bytes) in parts.iter().enumerate() {
        segments.resize(segments_with(bytes, segments.len()).map_err(|loading| (nth, loading))?, 0);
        for (page, _, _) in entries(bytes).flatten() {
            segments[page as usize / SEGMENT_PAGES] |= 1 << (page as usize % SEGMENT_PAGES);
        }
    }
    Ok(segments)
}

/// Writes what parts that were [surveyed](survey) have into as many bytes of zeros as the segments are.
pub(super) fn fill(segments: &mut [u8], parts: &[&[u8]]) {
    for (page, lines, content) in parts.iter().flat_map(|bytes| entries(bytes).flatten()) {
        put_lines(&mut segments[page as usize * PAGE..][..PAGE], lines, content);
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

impl Loading {
    /// The error that it is where a group is restored.
    pub fn refused(self, group: KeyGroup) -> RestoreError {
        match self {
            // In front of the pages stands what they are.
            Self::Damaged(at, problem) => RestoreError::Pages { group, at: at + 1, problem },
            Self::Memory(error) => RestoreError::Memory { group, kind: error.kind() },
        }
    }
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

//! A file that is given out in parts.

use super::mapping::{self, Used};
use super::{Room, Scratch, ScratchError};
use rustix::mm::Advice;
use std::ops::{Deref, DerefMut};

/// Parts begin at cache lines.
const ALIGN: usize = 64;

/// What is written one behind the other is read in that order.
const ORDER: Advice = Advice::Sequential;

/// Memory outside of every budget, in a file where there are files, of a size that does not change. It is given out in
/// parts, from its beginning to its end, and again when all of them have come back.
///
/// ```
/// use millstream_io::scratch::{Block, MemoryScratch};
///
/// let mut block = Block::new(4096, &MemoryScratch::new())?;
/// let mut part = block.part(1000).expect("there is room");
/// part[999] = 7;
/// assert!(block.part(3500).is_none(), "less is left");
/// assert!(!block.is_whole());
/// drop(part);
/// assert!(block.is_whole() && block.part(3500).is_some());
/// # Ok::<(), millstream_io::scratch::ScratchError>(())
/// ```
#[derive(Debug)]
pub struct Block {
    free: Used,
    bytes: usize,
}

/// A part of a [`Block`] that is somebody's until it is dropped. It begins at a cache line.
#[derive(Debug)]
pub struct Part(Used);

impl Block {
    /// A block of so many bytes, all of its room found. May block.
    ///
    /// # Errors
    /// There is no room for a file of this size, or the system does not map it.
    pub fn new(bytes: usize, scratch: &dyn Scratch) -> Result<Self, ScratchError> {
        let fault = |operation| move |source| ScratchError::Memory { operation, bytes, source };
        let room = scratch.file(bytes)?;
        let (mut free, mut unused) = mapping::reserve(bytes).map_err(fault("reservation"))?;
        match room {
            Room::Memory => drop(unused.add_memory(bytes, false).map_err(fault("allocation"))?),
            Room::File(file) => {
                unused.add_file(bytes, &file, ORDER).map_err(fault("mapping of a file"))?;
            }
        }
        free.take(&mut unused);
        Ok(Self { free, bytes })
    }

    /// All its bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The next `bytes` of it; `None` where fewer are left.
    pub fn part(&mut self, bytes: usize) -> Option<Part> {
        let whole = bytes.checked_next_multiple_of(ALIGN)?.min(self.free.len());
        (bytes <= whole).then(|| Part(self.free.split_front(whole)))
    }

    /// Whether nobody has a part of it; then it is given out from its beginning again.
    pub fn is_whole(&mut self) -> bool {
        self.free.take_back()
    }
}

impl Deref for Part {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Part {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::{Budget, DiskScratch, MemoryScratch};

    #[test]
    fn parts_keep_their_content_and_begin_at_cache_lines() {
        let dir = tempfile::tempdir().unwrap();
        let mut block =
            Block::new(64 << 10, &DiskScratch::new(dir.path().to_owned(), Budget::new(0))).unwrap();
        let sizes = [1, 64, 65, 0, 4096, 100];
        let mut parts: Vec<Part> = sizes.iter().map(|bytes| block.part(*bytes).unwrap()).collect();
        for (n, part) in parts.iter_mut().enumerate() {
            part.fill(n as u8 + 1);
        }
        for (n, (part, bytes)) in parts.iter().zip(sizes).enumerate() {
            assert!(part.len() >= bytes && part.iter().all(|byte| *byte == n as u8 + 1));
            assert_eq!(part.as_ptr().align_offset(64), 0);
        }
        // 64 + 64 + 128 + 0 + 4096 + 128.
        assert!(block.part((64 << 10) - 4480 + 1).is_none());
        assert_eq!(block.part((64 << 10) - 4480).unwrap().len(), (64 << 10) - 4480);
    }

    #[test]
    fn parts_outlive_their_block() {
        let mut block = Block::new(4096, &MemoryScratch::new()).unwrap();
        let mut part = block.part(10).unwrap();
        drop(block);
        part.fill(9);
        assert_eq!(part[9], 9);
    }

    #[test]
    fn a_size_that_cannot_be_is_no_part() {
        let mut block = Block::new(4096, &MemoryScratch::new()).unwrap();
        assert!(block.part(usize::MAX).is_none());
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let scratch = MemoryScratch::new();
        scratch.full_at(0);
        let error = Block::new(4096, &scratch).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    }
}

//! A file that is given out in parts.

use super::mapping::{self, Used};
use super::{Room, Scratch, ScratchError};
use rustix::mm::Advice;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::unix::fs::FileExt;

/// Parts begin at cache lines.
const ALIGN: usize = 64;

/// What is written one behind the other is read in that order.
const ORDER: Advice = Advice::Sequential;

/// Memory outside of every budget, in a file where there are files, of a size that does not change. Parts are written one
/// behind the other, from its beginning to its end, and from its beginning again when all of them have come back.
///
/// A part of a file is written by a call, and read where it is mapped: a store to a page of a mapped file that was not there
/// is a fault of the processor, and a question to the file system, for each 4 KiB.
///
/// ```
/// use millstream_io::scratch::{Block, MemoryScratch};
///
/// let mut block = Block::new(4096, &MemoryScratch::new())?;
/// let part = block.put(1000, b"front", b"back")?.expect("there is room");
/// assert_eq!((&part[..5], &part[996..1000]), (&b"front"[..], &b"back"[..]));
/// assert!(block.put(3500, b"", b"")?.is_none(), "less is left");
/// assert!(!block.is_whole());
/// drop(part);
/// assert!(block.is_whole() && block.put(3500, b"", b"")?.is_some());
/// # Ok::<(), millstream_io::scratch::ScratchError>(())
/// ```
#[derive(Debug)]
pub struct Block {
    /// `None` where there is memory in its place.
    file: Option<File>,
    free: Used,
    bytes: usize,
}

/// A part of a [`Block`] that is somebody's until it is dropped, and stays as it is. It begins at a cache line.
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
        let file = match room {
            Room::Memory => {
                unused.add_memory(bytes, false).map_err(fault("allocation"))?;
                None
            }
            Room::File(file) => {
                unused.add_file(bytes, &file, ORDER).map_err(fault("mapping of a file"))?;
                Some(file)
            }
        };
        free.take(&mut unused);
        Ok(Self { file, free, bytes })
    }

    /// All its bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The next `len` bytes of it (up to the end of their last cache line), written: `front` at their beginning, `back` at
    /// their end. `None` where fewer are left.
    ///
    /// # Errors
    /// The file cannot be written. Nothing has been given out, and a later call tries again.
    ///
    /// # Panics
    /// When `front` and `back` are longer than `len`.
    pub fn put(&mut self, len: usize, front: &[u8], back: &[u8]) -> Result<Option<Part>, ScratchError> {
        let behind = (len - front.len()).checked_sub(back.len()).expect("both ends fit") + front.len();
        let Some(whole) = len.checked_next_multiple_of(ALIGN) else { return Ok(None) };
        let whole = whole.min(self.free.len());
        if len > whole {
            return Ok(None);
        }
        self.write(0, front)
            .and_then(|()| self.write(behind, back))
            .map_err(|source| ScratchError::Memory { operation: "write to a file", bytes: len, source })?;
        Ok(Some(Part(self.free.split_front(whole))))
    }

    /// Writes to what is free, from its byte `at` on.
    fn write(&mut self, at: usize, bytes: &[u8]) -> io::Result<()> {
        match &self.file {
            Some(file) => file.write_all_at(bytes, (self.free.from() + at) as u64),
            None => {
                self.free[at..at + bytes.len()].copy_from_slice(bytes);
                Ok(())
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::{Budget, DiskScratch, MemoryScratch};

    fn in_a_file(bytes: usize) -> Block {
        let dir = tempfile::tempdir().unwrap();
        Block::new(bytes, &DiskScratch::new(dir.path().to_owned(), Budget::new(0))).unwrap()
    }

    #[test]
    fn parts_keep_their_content_and_begin_at_cache_lines() {
        let mut block = in_a_file(64 << 10);
        let sizes = [1, 64, 65, 0, 4096, 100];
        let put = |block: &mut Block, n: usize| block.put(sizes[n], &vec![n as u8 + 1; sizes[n]], b"");
        let parts: Vec<Part> = (0..6).map(|n| put(&mut block, n).unwrap().unwrap()).collect();
        for (n, (part, bytes)) in parts.iter().zip(sizes).enumerate() {
            assert!(part.len() >= bytes && part[..bytes].iter().all(|byte| *byte == n as u8 + 1));
            assert_eq!(part.as_ptr().align_offset(64), 0);
        }
        // 64 + 64 + 128 + 0 + 4096 + 128.
        assert!(block.put((64 << 10) - 4480 + 1, b"", b"").unwrap().is_none());
        assert_eq!(block.put((64 << 10) - 4480, b"", b"").unwrap().unwrap().len(), (64 << 10) - 4480);
    }

    #[test]
    fn both_ends_are_written_and_what_is_used_again_as_well() {
        for mut block in [in_a_file(4096), Block::new(4096, &MemoryScratch::new()).unwrap()] {
            for round in 0..3u8 {
                let first = block.put(100, &[round; 10], &[round + 1; 20]).unwrap().unwrap();
                let second = block.put(64, &[round + 2; 64], b"").unwrap().unwrap();
                assert_eq!((&first[..10], &first[80..100]), (&[round; 10][..], &[round + 1; 20][..]));
                assert_eq!(second[..], [round + 2; 64]);
                drop((first, second));
                assert!(block.is_whole());
            }
        }
    }

    #[test]
    fn parts_outlive_their_block() {
        let mut block = in_a_file(4096);
        let part = block.put(10, &[9; 10], b"").unwrap().unwrap();
        drop(block);
        assert_eq!(part[..10], [9; 10]);
    }

    #[test]
    fn a_size_that_cannot_be_is_no_part() {
        let mut block = Block::new(4096, &MemoryScratch::new()).unwrap();
        assert!(block.put(usize::MAX, b"", b"").unwrap().is_none());
    }

    #[test]
    #[should_panic = "both ends fit"]
    fn ends_that_overlap_are_refused() {
        let _ = Block::new(4096, &MemoryScratch::new()).unwrap().put(10, &[1; 6], &[2; 5]);
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let scratch = MemoryScratch::new();
        scratch.full_at(0);
        let error = Block::new(4096, &scratch).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    }
}

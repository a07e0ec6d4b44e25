//! What does not fit into memory for a while: segments, copied one behind the other into files, and read where they lie.
//!
//! The files are [blocks](Block) of one size. A block whose segments have all been dropped is filled again before a new one
//! is made, so that segments which come and go take no more room than most of them take at once. Segments of different
//! record types may lie side by side, and are dropped in any order.
//!
//! Nothing is left of the files when the process is gone, whatever ended it: they have no names (see [`DiskScratch`]).
//!
//! [`DiskScratch`]: crate::scratch::DiskScratch

use crate::record::Record;
use crate::scratch::{Block, Scratch, ScratchError};
use crate::segment::{Segment, Spilled};
use std::collections::VecDeque;
use std::sync::Arc;
use thiserror::Error;

/// Bytes of a block, where the limit allows as many.
const BLOCK: usize = 4 << 20;

/// Blocks that are kept when nothing is in them.
const KEPT: usize = 2;

/// Why a segment was not taken.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpillError {
    /// All files together would have more bytes than they may.
    #[error("{wanted} bytes in files, more than the {most} allowed")]
    Limit {
        /// Bytes that there would be.
        wanted: u64,
        /// Bytes that there may be.
        most: u64,
    },
    /// There is no room for one more file, or one cannot be written.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
}

/// Takes segments of a limited size in all.
///
/// ```
/// use millstream_io::scratch::MemoryScratch;
/// use millstream_io::segment::Segment;
/// use millstream_io::spill::Spill;
/// use std::sync::Arc;
///
/// let mut spill = Spill::new(Arc::new(MemoryScratch::new()), 1 << 30);
/// let spilled = spill.put(&Segment::<u64>::single(0, 7))?;
/// assert_eq!(spilled.row(0).view(), 7);
/// # Ok::<(), millstream_io::spill::SpillError>(())
/// ```
#[derive(Debug)]
pub struct Spill {
    scratch: Arc<dyn Scratch>,
    most: usize,
    /// The one being filled is the last; nothing is put into the others before they are whole again.
    blocks: VecDeque<Block>,
    /// Bytes of all blocks.
    bytes: usize,
}

impl Spill {
    /// Files from `scratch`, of at most `most` bytes together. Makes none yet.
    pub fn new(scratch: Arc<dyn Scratch>, most: usize) -> Self {
        Self { scratch, most, blocks: VecDeque::new(), bytes: 0 }
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Copies a segment into a file. It may block until there is a new one.
    ///
    /// # Errors
    /// There may not be, or cannot be, one more file, or the one there is cannot be written. What was put before stays, and a later call tries again.
    pub fn put<T: Record>(&mut self, segment: &Segment<T>) -> Result<Spilled<T>, SpillError> {
        if let Some(block) = self.blocks.back_mut()
            && let Some(spilled) = Spilled::put(segment, block)?
        {
            return Ok(spilled);
        }
        let mut next = self.next(segment.packed())?;
        let spilled = Spilled::put(segment, &mut next);
        self.blocks.push_back(next);
        Ok(spilled?.expect("the block is whole, and large enough"))
    }

    /// A block that becomes the one to be filled.
    #[cold]
    fn next(&mut self, bytes: usize) -> Result<Block, SpillError> {
        match self.take_whole(bytes) {
            Some(block) => Ok(block),
            None => self.make(bytes),
        }
    }

    /// A block with room for so much that nobody uses. Those before it are the older ones, which are whole earlier.
    fn take_whole(&mut self, bytes: usize) -> Option<Block> {
        let at = self.blocks.iter_mut().position(|block| block.bytes() >= bytes && block.is_whole())?;
        self.blocks.remove(at)
    }

    fn make(&mut self, bytes: usize) -> Result<Block, SpillError> {
        let left = self.most.saturating_sub(self.bytes);
        if bytes > left {
            let wanted = (self.bytes + bytes) as u64;
            return Err(SpillError::Limit { wanted, most: self.most as u64 });
        }
        let size = BLOCK.min(left).max(bytes);
        let block = Block::new(size, &*self.scratch)?;
        self.bytes += size;
        Ok(block)
    }

    /// Gives room back that nothing is in, except for a little.
    pub fn shrink(&mut self) {
        let mut kept = 0;
        self.blocks.retain_mut(|block| {
            let whole = block.is_whole();
            kept += usize::from(whole && block.bytes() <= BLOCK);
            !whole || (block.bytes() <= BLOCK && kept <= KEPT)
        });
        self.bytes = self.blocks.iter().map(Block::bytes).sum();
    }
}

#[cfg(test)]
mod tests;

//! Where a record is written: a bounded piece of memory.

use std::marker::PhantomData;

/// Memory that a record is written to, front to back. Counts what is left, so that nothing is written outside.
#[derive(Debug)]
pub struct Room<'a> {
    at: *mut u8,
    left: usize,
    size: usize,
    memory: PhantomData<&'a mut [u8]>,
}

/// A length that is written after what it counts.
pub(super) struct Hole(usize);

impl Room<'_> {
    /// A room of `size` bytes at `at`.
    ///
    /// # Safety
    /// `at` must be valid for writes of `size` bytes while the room is used, and nothing may borrow from them.
    #[inline(always)]
    pub(super) unsafe fn new(at: *mut u8, size: usize) -> Self {
        Self { at, left: size, size, memory: PhantomData }
    }

    /// Writes bytes.
    #[inline(always)]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        if bytes.len() > self.left {
            changed();
        }
        // SAFETY: so many bytes are left; a fresh room overlaps nothing that can be borrowed.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at, bytes.len());
            self.at = self.at.add(bytes.len());
        }
        self.left -= bytes.len();
    }

    /// Leaves four bytes out, to be written by [`Room::fill`].
    #[inline(always)]
    pub(super) fn hole(&mut self) -> Hole {
        let hole = Hole(self.used());
        self.put(&[0; 4]);
        hole
    }

    /// Writes the number of bytes that were put since `from` into a hole.
    #[inline(always)]
    pub(super) fn fill(&mut self, hole: Hole, value: u32) {
        let behind = self.used() - hole.0;
        assert!(behind >= 4, "a hole is behind the place of writing");
        // SAFETY: the hole's four bytes were put before, `behind` bytes in front of the place of writing.
        unsafe { self.at.sub(behind).cast::<[u8; 4]>().write_unaligned(value.to_le_bytes()) }
    }

    /// Bytes put so far.
    #[inline(always)]
    pub(super) fn used(&self) -> usize {
        self.size - self.left
    }

    /// Checks that all of the room was used.
    #[inline(always)]
    pub(super) fn finish(self) {
        if self.left != 0 {
            changed();
        }
    }
}

#[cold]
#[inline(never)]
fn changed() -> ! {
    panic!("a record's view changed while it was written: its size is not what `to_wire` gave before")
}

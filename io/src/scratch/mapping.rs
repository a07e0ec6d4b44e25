//! Addresses that are reserved at once, and what is put there piece by piece, in order.
//!
//! Of every range there is one [`Used`], which has the addresses that are in use, and one [`Unused`], which has all others:
//! both may be in different threads, and nobody else has any. What is in use may be split: each part has its addresses for
//! itself.
#![expect(unsafe_code, reason = "what stands at an address is beyond the compiler, ruling 17")]

use crate::prefetch::HUGE_PAGE;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Reserves `most` bytes of addresses, of which none can be used yet.
///
/// # Errors
/// The system does not give as many.
pub(super) fn reserve(most: usize) -> io::Result<(Used, Unused)> {
    let addresses = Arc::new(Addresses::new(most)?);
    let used = Used { start: addresses.start, from: 0, len: 0, addresses: addresses.clone() };
    Ok((used, Unused { addresses, from: 0, at: 0, end: most }))
}

/// A range of addresses, until this is dropped.
#[derive(Debug)]
struct Addresses {
    /// Where it was mapped.
    mapped: NonNull<c_void>,
    /// How much of that is still ours.
    ours: AtomicUsize,
    /// The first address that a huge page can begin at.
    start: NonNull<u8>,
}

// SAFETY: these are numbers; what is at the addresses is reached by `Used` and `Unused` only.
unsafe impl Send for Addresses {}
// SAFETY: as above.
unsafe impl Sync for Addresses {}

impl Addresses {
    fn new(most: usize) -> io::Result<Self> {
        let len = most + HUGE_PAGE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the system chooses addresses where nothing is.
        let mapped = unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), len, ProtFlags::empty(), flags)? };
        let mapped = NonNull::new(mapped).ok_or(io::ErrorKind::OutOfMemory)?;
        let start = mapped.cast::<u8>();
        // SAFETY: the range is longer than what is asked for by as much as this may skip.
        let start = unsafe { start.add(start.align_offset(HUGE_PAGE)) };
        Ok(Self { mapped, ours: AtomicUsize::new(len), start })
    }
}

impl Drop for Addresses {
    fn drop(&mut self) {
        let ours = self.ours.load(Ordering::Relaxed);
        // SAFETY: so much of the range is ours, and whoever could reach it is gone.
        let _ = unsafe { rustix::mm::munmap(self.mapped.as_ptr(), ours) };
    }
}

/// The beginning of a range, or a part of it, which can be read and written.
#[derive(Debug)]
pub(super) struct Used {
    /// Where it is.
    start: NonNull<u8>,
    /// Where that is in the range.
    from: usize,
    len: usize,
    addresses: Arc<Addresses>,
}

// SAFETY: it has its addresses for itself, as a boxed slice has.
unsafe impl Send for Used {}
// SAFETY: as above.
unsafe impl Sync for Used {}

impl Used {
    /// Takes over what was put behind.
    ///
    /// # Panics
    /// When it is of another range.
    pub fn take(&mut self, unused: &mut Unused) {
        assert!(Arc::ptr_eq(&self.addresses, &unused.addresses) && self.end() == unused.from);
        self.len = unused.at - self.from;
        unused.from = unused.at;
    }

    /// Gives its first bytes away.
    ///
    /// # Panics
    /// When there are not as many.
    pub fn split_front(&mut self, bytes: usize) -> Self {
        assert!(bytes <= self.len);
        let addresses = self.addresses.clone();
        let front = Self { start: self.start, from: self.from, len: bytes, addresses };
        // SAFETY: within what it has, as was just seen.
        self.start = unsafe { self.start.add(bytes) };
        self.from += bytes;
        self.len -= bytes;
        front
    }

    /// Has all from the beginning of the range to its own end again, once nobody else has any of it: neither a part nor
    /// what is behind. Else nothing changes.
    pub fn take_back(&mut self) -> bool {
        let Some(addresses) = Arc::get_mut(&mut self.addresses) else { return false };
        self.start = addresses.start;
        self.len += std::mem::take(&mut self.from);
        true
    }

    /// Where it is in its range.
    pub fn from(&self) -> usize {
        self.from
    }

    /// Where it ends in its range.
    pub fn end(&self) -> usize {
        self.from + self.len
    }

    /// Puts what comes right behind to it.
    ///
    /// # Panics
    /// When it does not, or is of another range.
    pub fn join(&mut self, next: Self) {
        assert!(Arc::ptr_eq(&self.addresses, &next.addresses) && self.end() == next.from);
        self.len += next.len;
    }
}

impl Deref for Used {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: so many bytes can be read and are initialised, since memory and files begin as zeros; they are this one's.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Used {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and they can be written.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

/// The rest of a range. What is put there is taken over by its [`Used`].
#[derive(Debug)]
pub(super) struct Unused {
    addresses: Arc<Addresses>,
    /// Up to here they belong to the used ones.
    from: usize,
    /// Up to here there is something.
    at: usize,
    end: usize,
}

impl Unused {
    /// Whether there is something that was not taken over.
    pub fn is_prepared(&self) -> bool {
        self.at > self.from
    }

    /// Up to where there is something.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Bytes that nothing is put at yet.
    pub fn left(&self) -> usize {
        self.end - self.at
    }

    /// Where the next piece comes.
    ///
    /// # Panics
    /// When there are not as many bytes.
    fn next(&self, bytes: usize) -> *mut c_void {
        assert!(bytes <= self.left());
        // SAFETY: within the range, as was just seen.
        unsafe { self.addresses.start.add(self.at).as_ptr().cast() }
    }

    /// Puts memory there, of huge pages if they are wanted.
    ///
    /// # Errors
    /// The system gives none; nothing has changed.
    ///
    /// # Panics
    /// When there are not as many bytes left.
    pub fn add_memory(&mut self, bytes: usize, huge: bool) -> io::Result<Fresh> {
        let next = self.next(bytes);
        // SAFETY: the addresses are this one's, and nothing refers to what is there.
        unsafe { rustix::mm::mprotect(next, bytes, MprotectFlags::READ | MprotectFlags::WRITE)? };
        #[cfg(target_os = "linux")]
        if huge {
            // SAFETY: as above. It is a hint: without it lookups wait longer for the walks through the page table.
            let _ = unsafe { rustix::mm::madvise(next, bytes, Advice::LinuxHugepage) };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = huge;
        let from = self.at;
        self.at += bytes;
        Ok(Fresh { addresses: self.addresses.clone(), from, to: self.at })
    }

    /// Puts the first bytes of a file there, which has as many, and is nobody else's. `order` is in what order it will be
    /// read.
    ///
    /// # Errors
    /// The system does not do it. Nothing more can be put there then.
    ///
    /// # Panics
    /// When there are not as many bytes left.
    pub fn add_file(&mut self, bytes: usize, file: &File, order: Advice) -> io::Result<()> {
        let next = self.next(bytes);
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: the addresses are this one's, and nothing refers to what is there. The file has no name and is in nobody
        // else's hands: nobody changes it or makes it shorter, and its room was found before.
        if let Err(error) = unsafe { rustix::mm::mmap(next, bytes, protection, flags, file, 0) } {
            // Perhaps nothing is mapped here any more, and something else soon.
            let skipped = self.addresses.start.as_ptr() as usize - self.addresses.mapped.as_ptr() as usize;
            self.addresses.ours.store(skipped + self.at, Ordering::Relaxed);
            self.end = self.at;
            return Err(error.into());
        }
        // SAFETY: as above. It is a hint: whether what is beside a page is read next.
        let _ = unsafe { rustix::mm::madvise(next, bytes, order) };
        self.at += bytes;
        Ok(())
    }
}

/// Memory that was put somewhere, and that the system has not found yet.
#[derive(Debug)]
pub(super) struct Fresh {
    addresses: Arc<Addresses>,
    from: usize,
    to: usize,
}

impl Fresh {
    /// Has the system find it, in steps, between which others may map theirs. It may be in use meanwhile: whoever comes first
    /// finds it. Ends early when nobody else has the range any more.
    pub fn populate(&self) {
        #[cfg(target_os = "linux")]
        for from in (self.from..self.to).step_by(HUGE_PAGE) {
            let len = HUGE_PAGE.min(self.to - from);
            // SAFETY: within the range, where memory stays as long as this is here; its content stays as it is, whoever uses
            // it meanwhile.
            let done = unsafe {
                let start = self.addresses.start.add(from).as_ptr().cast();
                rustix::mm::madvise(start, len, Advice::LinuxPopulateWrite)
            };
            // The system is too old, or out of memory: then it is found when it is touched, if at all.
            if done.is_err() || Arc::strong_count(&self.addresses) == 1 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    const PIECE: usize = 64 << 10;

    #[test]
    fn pieces_follow_each_other_and_are_taken_over_in_order() {
        let (mut used, mut unused) = reserve(4 * PIECE).unwrap();
        assert!(used.is_empty() && unused.left() == 4 * PIECE);
        let start = used.as_ptr();
        assert_eq!(start.align_offset(HUGE_PAGE), 0);
        unused.add_memory(PIECE, false).unwrap();
        assert!(used.is_empty());
        used.take(&mut unused);
        used.fill(1);
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(2 * PIECE as u64).unwrap();
        unused.add_file(2 * PIECE, &file, Advice::Random).unwrap();
        unused.add_memory(PIECE, true).unwrap().populate();
        used.take(&mut unused);
        assert_eq!((used.as_ptr(), used.len(), unused.left()), (start, 4 * PIECE, 0));
        assert!(used[..PIECE].iter().all(|byte| *byte == 1) && used[PIECE..].iter().all(|byte| *byte == 0));
        used[PIECE..].fill(2);
        let mut written = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut written).unwrap();
        assert_eq!(written, vec![2; 2 * PIECE]);
    }

    /// What could not be put there leaves what is there alone, and ends it.
    #[test]
    fn a_file_that_cannot_be_mapped_is_an_error_and_nothing_more_is_put_there() {
        let (mut used, mut unused) = reserve(4 * PIECE).unwrap();
        unused.add_memory(PIECE, false).unwrap();
        used.take(&mut unused);
        used.fill(1);
        let (pipe, _other_end) = std::io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
        assert!(unused.add_file(PIECE, &pipe, Advice::Random).is_err());
        assert_eq!(unused.left(), 0);
        used.take(&mut unused);
        assert_eq!(used[..], [1; PIECE]);
    }

    /// Each address is in one part, and what was written to the parts is there when they are one again.
    #[test]
    fn parts_are_apart_until_they_are_joined() {
        let (mut used, mut unused) = reserve(4 * PIECE).unwrap();
        let start = used.as_ptr() as usize;
        unused.add_memory(2 * PIECE, false).unwrap();
        used.take(&mut unused);
        let mut parts = vec![used.split_front(PIECE), used.split_front(10)];
        unused.add_memory(2 * PIECE, false).unwrap();
        used.take(&mut unused);
        parts.push(used.split_front(2 * PIECE));
        parts.push(used);
        std::thread::scope(|scope| {
            for (n, part) in parts.iter_mut().enumerate() {
                scope.spawn(move || part.fill(n as u8 + 1));
            }
        });
        let at: Vec<_> =
            parts.iter().map(|part| (part.from(), part.as_ptr() as usize - start, part.len())).collect();
        let sizes = [PIECE, 10, 2 * PIECE, PIECE - 10];
        let begins = [0, PIECE, PIECE + 10, 3 * PIECE + 10];
        assert_eq!(at, [0, 1, 2, 3].map(|n| (begins[n], begins[n], sizes[n])));
        let all = parts.into_iter().reduce(|mut all, next| {
            all.join(next);
            all
        });
        let all = all.unwrap();
        let expected: Vec<u8> = (0..4).flat_map(|n| vec![n as u8 + 1; sizes[n]]).collect();
        assert!(all[..] == expected[..] && all.from() == 0);
    }

    #[test]
    #[should_panic = "next.from"]
    fn a_part_from_elsewhere_is_refused() {
        let (mut used, mut unused) = reserve(PIECE).unwrap();
        unused.add_memory(PIECE, false).unwrap();
        used.take(&mut unused);
        let (mut first, _, third) = (used.split_front(10), used.split_front(10), used.split_front(10));
        first.join(third);
    }

    #[test]
    fn parts_are_apart_and_come_back_when_all_of_them_and_the_rest_are_gone() {
        let (mut used, mut unused) = reserve(2 * PIECE).unwrap();
        unused.add_memory(PIECE, false).unwrap();
        used.take(&mut unused);
        let start = used.as_ptr();
        let (mut one, mut two) = (used.split_front(64), used.split_front(100));
        assert_eq!((one.len(), two.len(), used.len()), (64, 100, PIECE - 164));
        one.fill(1);
        two.fill(2);
        used.fill(3);
        drop(one);
        assert!(!used.take_back(), "there is another part, and what is behind");
        assert!(two.iter().all(|byte| *byte == 2));
        drop(two);
        assert!(!used.take_back(), "there is what is behind");
        drop(unused);
        assert!(used.take_back());
        assert_eq!((used.as_ptr(), used.len()), (start, PIECE));
        assert_eq!((used[63], used[64], used[163], used[164], used[PIECE - 1]), (1, 2, 2, 3, 3));
    }

    #[test]
    #[should_panic = "bytes <= self.len"]
    fn more_than_there_is_cannot_be_split_off() {
        let (mut used, mut unused) = reserve(PIECE).unwrap();
        unused.add_memory(64, false).unwrap();
        used.take(&mut unused);
        used.split_front(65);
    }

    #[test]
    #[should_panic = "ptr_eq"]
    fn another_range_is_refused() {
        let (mut used, _) = reserve(PIECE).unwrap();
        let (_, mut other) = reserve(PIECE).unwrap();
        used.take(&mut other);
    }

    #[test]
    fn more_addresses_than_there_are_is_an_error() {
        assert!(reserve(1 << 60).is_err());
    }
}

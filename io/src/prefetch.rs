//! Telling the processor what will be read soon, and the system how memory will be used.
//!
//! Hints only. A prefetch never faults, whatever the address, and does nothing on processors that this file does not know.
//! Worth it where the table outgrows the cache, some 16 records ahead; below that it costs.
#![expect(unsafe_code, reason = "hints are intrinsics and a system call, ruling 17")]

use std::mem::MaybeUninit;

/// Asks for the first cache line of `table[index]`. An index out of range is harmless, and useless.
#[inline(always)]
pub fn prefetch_index<T>(table: &[T], index: usize) {
    line(table.as_ptr().wrapping_add(index).cast());
}

/// Asks for the cache line at an address. One where nothing is is harmless, and useless.
#[inline(always)]
pub fn prefetch_address(address: usize) {
    line(std::ptr::without_provenance(address));
}

/// Bytes of a huge page.
pub const HUGE_PAGE: usize = 2 << 20;

/// Asks the system to back fresh memory with pages of 2 MiB where whole ones lie in it: a large table that is read here
/// and there then needs few entries of the page table, and reading it no walks through that. Nothing happens where
/// the system has no such pages, or gives none.
pub fn ask_for_huge_pages<T>(memory: &mut [MaybeUninit<T>]) {
    let range = memory.as_mut_ptr_range();
    let (start, end) = (range.start.cast::<u8>(), range.end.cast::<u8>());
    let before = start.align_offset(HUGE_PAGE);
    let bytes = (end as usize - start as usize).saturating_sub(before) / HUGE_PAGE * HUGE_PAGE;
    if bytes > 0 {
        huge_pages(start.wrapping_add(before), bytes);
    }
}

#[cfg(target_os = "linux")]
fn huge_pages(start: *mut u8, bytes: usize) {
    use rustix::mm::{Advice, madvise};
    // SAFETY: the range lies within memory that the caller lends; the advice changes neither content nor access.
    let _ = unsafe { madvise(start.cast(), bytes, Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn huge_pages(_: *mut u8, _: usize) {}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction is part of SSE, which every x86_64 has; it neither reads nor faults at any address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn line(address: *const u8) {
    // SAFETY: PRFM is a hint that neither reads nor faults at any address.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn line(_: *const u8) {}

#[cfg(test)]
mod tests {
    use super::{prefetch_address, prefetch_index};

    #[test]
    fn any_index_is_harmless() {
        let table = [1u64, 2, 3];
        for index in [0, 2, 3, 1 << 40, usize::MAX] {
            prefetch_index(&table, index);
        }
        prefetch_index::<u64>(&[], 7);
        prefetch_address(0);
        assert_eq!(table, [1, 2, 3]);
    }
}

//! Memory alone, for tools and simulations.

use super::{Budget, Charge, Room, Scratch};
use crate::error::StorageError;
use parking_lot::Mutex;
use std::io;
use std::path::Path;

/// Where files would be.
const PLACE: &str = "scratch";

const ENOSPC: i32 = 28;

/// Memory, also in place of files, which can be made to have no room.
///
/// ```
/// use millstream_io::scratch::{MemoryScratch, Scratch};
///
/// let scratch = MemoryScratch::with_memory(1 << 20);
/// assert!(scratch.memory(2 << 20).is_none());
/// scratch.full_at(1);
/// assert!(scratch.file(2 << 20).is_ok());
/// assert_eq!(scratch.file(2 << 20).unwrap_err().kind(), std::io::ErrorKind::StorageFull);
/// assert!(scratch.file(2 << 20).is_ok());
/// ```
#[derive(Debug)]
pub struct MemoryScratch {
    budget: Budget,
    files: Mutex<Files>,
}

#[derive(Debug, Default)]
struct Files {
    /// How many were asked for.
    asked: u64,
    /// Which of them there is no room for.
    full: Vec<u64>,
    refused: u64,
}

impl MemoryScratch {
    /// No limit.
    pub fn new() -> Self {
        Self::with_memory(u64::MAX)
    }

    /// So many bytes of memory, and files beyond that.
    pub fn with_memory(most: u64) -> Self {
        Self { budget: Budget::new(most), files: Mutex::default() }
    }

    /// The disk is full when the `n`th file is asked for (from 0), and has room again afterwards.
    pub fn full_at(&self, n: u64) {
        self.files.lock().full.push(n);
    }

    /// How many files were asked for.
    pub fn asked(&self) -> u64 {
        self.files.lock().asked
    }

    /// How many files there was no room for.
    pub fn refused(&self) -> u64 {
        self.files.lock().refused
    }

    /// Bytes of memory in use, files aside.
    pub fn used(&self) -> u64 {
        self.budget.used()
    }
}

impl Default for MemoryScratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch for MemoryScratch {
    fn memory(&self, bytes: usize) -> Option<Charge> {
        self.budget.charge(bytes)
    }

    fn file(&self, _: usize) -> Result<Room, StorageError> {
        let mut files = self.files.lock();
        let number = files.asked;
        files.asked += 1;
        if files.full.contains(&number) {
            files.refused += 1;
            let path = Path::new(PLACE).join(number.to_string());
            return Err(StorageError::not_done("allocate", &path, io::Error::from_raw_os_error(ENOSPC)));
        }
        Ok(Room::Memory)
    }
}

//! One file in memory: its bytes, and how many of them would survive a power cut.

use super::super::{Kind, Stat};
use parking_lot::Mutex;
use std::collections::TryReserveError;
use std::sync::Arc;

/// A file, whatever name it has at the moment.
#[derive(Debug)]
pub(super) struct FileNode {
    pub inode: u64,
    pub data: Mutex<Data>,
}

impl FileNode {
    pub fn new(inode: u64, data: Data) -> Arc<Self> {
        Arc::new(Self { inode, data: Mutex::new(data) })
    }

    pub fn stat(&self) -> Stat {
        Stat { kind: Kind::File, len: self.data.lock().len() as u64, inode: self.inode }
    }
}

/// Content of a file.
///
/// Invariant: `synced <= bytes.len()`; the durable content is `bytes[..synced]` followed by `cut_off`, which is what
/// a shortening that was not synced yet took away.
#[derive(Debug, Default)]
pub(super) struct Data {
    /// Shared with images, which copy it only when one of the two is written to.
    bytes: Arc<Vec<u8>>,
    synced: usize,
    cut_off: Vec<u8>,
    pub locked: bool,
}

impl Data {
    /// A file whose whole content is durable.
    pub fn durable(bytes: Vec<u8>) -> Self {
        Self { synced: bytes.len(), bytes: Arc::new(bytes), ..Self::default() }
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn append(&mut self, bytes: &[u8]) -> Result<(), TryReserveError> {
        let own = Arc::make_mut(&mut self.bytes);
        own.try_reserve(bytes.len())?;
        own.extend_from_slice(bytes);
        Ok(())
    }

    pub fn read(&self, buffer: &mut [u8], offset: u64) -> usize {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let n = buffer.len().min(self.len() - from);
        buffer[..n].copy_from_slice(&self.bytes[from..from + n]);
        n
    }

    /// Shortens to `len`; the present length is the error when that is less.
    pub fn cut(&mut self, len: u64) -> Result<(), u64> {
        let len = usize::try_from(len).ok().filter(|len| *len <= self.len()).ok_or(self.len() as u64)?;
        if len < self.synced {
            let mut taken = self.bytes[len..self.synced].to_vec();
            taken.append(&mut self.cut_off);
            self.cut_off = taken;
            self.synced = len;
        }
        if len < self.len() {
            Arc::make_mut(&mut self.bytes).truncate(len);
        }
        Ok(())
    }

    /// Other content, none of it durable.
    pub fn replace(&mut self, bytes: &[u8]) {
        let cut = self.cut(0);
        debug_assert!(cut.is_ok());
        self.bytes = Arc::new(bytes.to_vec());
    }

    /// Makes durable what is there now, but nothing beyond the first `len` bytes.
    pub fn sync(&mut self, len: usize) {
        let len = len.min(self.len());
        if len > self.synced || !self.cut_off.is_empty() {
            self.synced = self.synced.max(len);
            self.cut_off = Vec::new();
        }
    }

    /// The same content with the same part of it durable.
    pub fn copy(&self) -> Self {
        Self {
            bytes: Arc::clone(&self.bytes),
            synced: self.synced,
            cut_off: self.cut_off.clone(),
            locked: false,
        }
    }

    /// What a power cut leaves; `choose(n)` gives a number below `n`.
    pub fn after_power_cut(&self, choose: &mut impl FnMut(u64) -> u64) -> Self {
        let unsynced = self.len() - self.synced;
        if unsynced == 0 && self.cut_off.is_empty() {
            return Self::durable_shared(&self.bytes);
        }
        if !self.cut_off.is_empty() && choose(2) == 0 {
            let mut old = self.bytes[..self.synced].to_vec();
            old.extend_from_slice(&self.cut_off);
            return Self::durable(old);
        }
        let torn_at = |choose: &mut dyn FnMut(u64) -> u64| self.synced + choose(unsynced as u64 + 1) as usize;
        match choose(4) {
            0 => Self::durable(self.bytes[..self.synced].to_vec()),
            1 => Self::durable(self.bytes[..torn_at(choose)].to_vec()),
            2 => {
                let mut zeroed = Vec::clone(&self.bytes);
                let at = torn_at(choose);
                zeroed[at..].fill(0);
                Self::durable(zeroed)
            }
            _ => Self::durable_shared(&self.bytes),
        }
    }

    fn durable_shared(bytes: &Arc<Vec<u8>>) -> Self {
        Self { bytes: Arc::clone(bytes), synced: bytes.len(), ..Self::default() }
    }
}

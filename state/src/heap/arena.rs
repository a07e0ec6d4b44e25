//! Keys that do not fit a slot, one behind the other.

/// Below this many unused bytes, tidying up does not pay.
const WORTH_COMPACTING: usize = 4096;

/// The long keys of one shard.
#[derive(Debug, Default)]
pub(super) struct Arena {
    bytes: Vec<u8>,
    unused: usize,
}

/// Where a long key is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub at: u64,
    pub len: u64,
}

impl Place {
    /// No key begins here.
    pub const NOWHERE: u64 = u64::MAX;
}

impl Arena {
    pub fn get(&self, place: Place) -> &[u8] {
        let at = place.at as usize;
        &self.bytes[at..at + place.len as usize]
    }

    pub fn put(&mut self, key: &[u8]) -> Place {
        let at = self.bytes.len() as u64;
        self.bytes.extend_from_slice(key);
        Place { at, len: key.len() as u64 }
    }

    /// Notes that `len` bytes are no longer used. Returns whether it is time to move the keys that are into a new
    /// arena: when more than half is unused, so that a removal moves at most as many bytes as were removed before it.
    pub fn forget(&mut self, len: usize) -> bool {
        self.unused += len;
        self.unused > WORTH_COMPACTING && self.unused > self.bytes.len() / 2
    }

    /// Bytes allocated.
    #[cfg(test)]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// An arena with room for what this one has in use.
    pub fn successor(&self) -> Self {
        Self { bytes: Vec::with_capacity(self.bytes.len() - self.unused), unused: 0 }
    }
}

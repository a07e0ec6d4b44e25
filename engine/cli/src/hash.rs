//! Short names for long things.

use xxhash_rust::xxh3::xxh3_64;

/// Sixteen hex digits that stand for some bytes, the same in every process.
pub fn short_hash(bytes: &[u8]) -> String {
    format!("{:016x}", xxh3_64(bytes))
}

//! The key's part of a slot.

mod bytes;
mod word;

pub(super) use bytes::BytesHead;
pub(super) use word::WordHead;

use super::arena::Arena;
use millstream_io::record::Key;

/// The bits of a hash that count; a segment's slot has an offset in the others.
pub(super) const HASH_BITS: u64 = !0xffff;

/// How slots with this head lie in memory.
pub(super) trait Layout: Copy + Default + std::fmt::Debug + Send + 'static {
    /// Nothing, aligned as slots should be.
    type Align: Default + std::fmt::Debug + Send + 'static;
}

/// The key's part of a slot: empty by default.
pub(super) trait Head<K: Key>: Layout {
    /// What is looked for.
    type Probe<'a>: Copy;

    /// Whether the key of this probe looks like an empty slot and must be kept aside.
    fn is_aside(probe: Self::Probe<'_>) -> bool;

    /// The head of the key kept aside.
    const ASIDE: Self;

    /// Calls `f` with what to look for.
    fn with_probe<R>(hash: u64, key: K::Ref<'_>, f: impl FnOnce(Self::Probe<'_>) -> R) -> R;

    /// Whether no key is here.
    fn is_empty(self) -> bool;

    /// Whether the probe's key may be here; `false` where it is not. One comparison of two words, no branch.
    fn resembles(self, probe: Self::Probe<'_>) -> bool;

    /// Whether the probe's key is here. The arena is that of the slot's shard.
    fn matches<'a>(self, probe: Self::Probe<'_>, arena: impl FnOnce() -> &'a Arena) -> bool;

    /// The head of a new key.
    fn make(probe: Self::Probe<'_>, arena: &mut Arena) -> Self;

    /// The key's hash; its low 16 bits may differ.
    fn hash(self) -> u64;

    /// Bytes in the arena.
    fn outside(self) -> usize;

    /// Moves what is in one arena to the other.
    fn relocate(&mut self, from: &Arena, to: &mut Arena);

    /// Appends the encoded key.
    fn append_row(self, arena: &Arena, out: &mut Vec<u8>);

    /// Calls `f` with the key.
    fn with_key<R>(self, arena: &Arena, f: impl FnOnce(K::Ref<'_>) -> R) -> R;
}

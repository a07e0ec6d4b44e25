//! Keys of any size: up to sixteen bytes in the slot, longer ones in the arena.

use super::{Arena, HASH_BITS, Head, Layout};
use crate::heap::arena::Place;
use millstream_io::record::{Key, KeyWire, ends};

/// The longest key that a slot holds.
const INLINE: usize = 16;

/// What the tag of a longer key ends with.
const LONG: u64 = INLINE as u64 + 2;

/// `tag` is the top 48 bits of the hash, then the length plus one, or [`LONG`]; 0 where no key is. `a` and `b` are the
/// first and the last eight bytes of a short key (both all of it, zero-extended, when it has fewer than eight), or
/// place and length of a long one: three comparisons settle a lookup.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::heap) struct BytesHead {
    tag: u64,
    a: u64,
    b: u64,
}

/// A key that is looked for: the head that it would have (with a place that no long key has) and its bytes.
#[derive(Clone, Copy)]
pub(in crate::heap) struct Probe<'a> {
    head: BytesHead,
    bytes: &'a [u8],
}

/// Half a cache line: a slot of 32 bytes is never in two.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
pub(in crate::heap) struct HalfLine;

impl BytesHead {
    #[inline(always)]
    fn is_long(self) -> bool {
        self.tag & !HASH_BITS == LONG
    }

    fn place(self) -> Place {
        Place { at: self.a, len: self.b }
    }

    /// Calls `f` with the key's bytes.
    #[inline(always)]
    fn with_bytes<R>(self, arena: &Arena, f: impl FnOnce(&[u8]) -> R) -> R {
        if self.is_long() {
            return f(arena.get(self.place()));
        }
        let mut bytes = [0; INLINE];
        let len = (self.tag & !HASH_BITS) as usize - 1;
        bytes[..8].copy_from_slice(&self.a.to_le_bytes());
        if len >= 8 {
            bytes[len - 8..len].copy_from_slice(&self.b.to_le_bytes());
        }
        f(&bytes[..len])
    }
}

impl Layout for BytesHead {
    type Align = HalfLine;
}

impl<K: Key> Head<K> for BytesHead {
    type Probe<'a> = Probe<'a>;

    // No key looks like an empty slot.
    const ASIDE: Self = Self { tag: 0, a: 0, b: 0 };

    #[inline(always)]
    fn is_aside(_: Probe<'_>) -> bool {
        false
    }

    #[inline(always)]
    fn with_probe<R>(hash: u64, key: K::Ref<'_>, f: impl FnOnce(Probe<'_>) -> R) -> R {
        <K::Wire as KeyWire>::with_bytes(K::to_wire(key), |bytes| {
            let (len, a, b) = if bytes.len() <= INLINE {
                let (a, b) = ends(bytes);
                (bytes.len() as u64 + 1, a, b)
            } else {
                (LONG, Place::NOWHERE, bytes.len() as u64)
            };
            f(Probe { head: Self { tag: hash & HASH_BITS | len, a, b }, bytes })
        })
    }

    #[inline(always)]
    fn is_empty(self) -> bool {
        self.tag == 0
    }

    #[inline(always)]
    fn resembles(self, probe: Probe<'_>) -> bool {
        self.tag == probe.head.tag
    }

    #[inline(always)]
    fn matches<'a>(self, probe: Probe<'_>, arena: impl FnOnce() -> &'a Arena) -> bool {
        if self.tag != probe.head.tag {
            return false;
        }
        if self.a == probe.head.a && self.b == probe.head.b {
            return true;
        }
        self.is_long() && arena().get(self.place()) == probe.bytes
    }

    #[inline(always)]
    fn make(probe: Probe<'_>, arena: &mut Arena) -> Self {
        let mut head = probe.head;
        if head.is_long() {
            head.a = arena.put(probe.bytes).at;
        }
        head
    }

    #[inline(always)]
    fn hash(self) -> u64 {
        self.tag
    }

    #[inline(always)]
    fn outside(self) -> usize {
        if self.is_long() { self.b as usize } else { 0 }
    }

    #[inline(always)]
    fn relocate(&mut self, from: &Arena, to: &mut Arena) {
        if self.is_long() {
            self.a = to.put(from.get(self.place())).at;
        }
    }

    #[inline(always)]
    fn append_row(self, arena: &Arena, out: &mut Vec<u8>) {
        self.with_bytes(arena, |bytes| <K::Wire as KeyWire>::append_key_bytes(bytes, out));
    }

    fn with_key<R>(self, arena: &Arena, f: impl FnOnce(K::Ref<'_>) -> R) -> R {
        self.with_bytes(arena, |bytes| {
            let key =
                <K::Wire as KeyWire>::parse_key_bytes(bytes).expect("the bytes in the table are a key's");
            f(K::from_wire(key))
        })
    }
}

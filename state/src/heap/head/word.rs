//! Word keys: the encoded key itself, zero-extended.

use super::{Arena, Head, Layout};
use millstream_io::record::{Key, KeyWire, Wire, hash_word};

/// A word that is rarely a key: what an empty slot holds. (0 is a common key, and each test for it would be guessed
/// wrong now and then.)
const EMPTY: u64 = 0xe6d1_57a3_90bc_482f;

/// A key of a fixed size of at most eight bytes.
#[derive(Clone, Copy, Debug)]
pub(in crate::heap) struct WordHead(u64);

impl Default for WordHead {
    #[inline(always)]
    fn default() -> Self {
        Self(EMPTY)
    }
}

impl Layout for WordHead {
    type Align = ();
}

impl<K: Key> Head<K> for WordHead {
    type Probe<'a> = u64;

    const ASIDE: Self = Self(EMPTY);

    #[inline(always)]
    fn is_aside(word: u64) -> bool {
        // Keys of fewer bytes have zeros in front.
        <K::Wire as Wire>::FIXED == Some(8) && word == EMPTY
    }

    #[inline(always)]
    fn with_probe<R>(_: u64, key: K::Ref<'_>, f: impl FnOnce(u64) -> R) -> R {
        f(<K::Wire as KeyWire>::word(K::to_wire(key)))
    }

    #[inline(always)]
    fn is_empty(self) -> bool {
        self.0 == EMPTY
    }

    #[inline(always)]
    fn resembles(self, word: u64) -> bool {
        self.0 == word
    }

    #[inline(always)]
    fn matches<'a>(self, word: u64, _: impl FnOnce() -> &'a Arena) -> bool {
        self.0 == word
    }

    #[inline(always)]
    fn make(word: u64, _: &mut Arena) -> Self {
        Self(word)
    }

    #[inline(always)]
    fn hash(self) -> u64 {
        hash_word(self.0)
    }

    #[inline(always)]
    fn outside(self) -> usize {
        0
    }

    #[inline(always)]
    fn relocate(&mut self, _: &Arena, _: &mut Arena) {}

    #[inline(always)]
    fn append_row(self, _: &Arena, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_le_bytes()[..size::<K>()]);
    }

    fn with_key<R>(self, _: &Arena, f: impl FnOnce(K::Ref<'_>) -> R) -> R {
        let bytes = self.0.to_le_bytes();
        let (key, _) = K::parse(&bytes[..size::<K>()]).expect("a word in the table is an encoded key");
        f(key)
    }
}

/// Bytes of a key. (0 where keys are no words, and this is never called.)
#[inline(always)]
fn size<K: Key>() -> usize {
    <K::Wire as Wire>::FIXED.filter(|size| *size <= 8).unwrap_or(0)
}

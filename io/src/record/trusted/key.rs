//! Encodings whose values may be keys.

use super::{Trust, Wire, append, write_at};
use crate::record::{DecodeError, hash};
use std::mem::MaybeUninit;

/// A built-in encoding whose values may be keys: equal exactly when their bytes are.
pub trait KeyWire: Wire {
    /// Whether a key is a word: of a fixed size of at most eight bytes.
    const WORD: bool = matches!(Self::FIXED, Some(1..=8));

    /// The key as a zero-extended little-endian word. Only where [`KeyWire::WORD`].
    #[inline(always)]
    fn word(view: Self::View<'_>) -> u64 {
        let size = match Self::FIXED {
            Some(size @ 1..=8) => size,
            _ => panic!("{} is no word key", Self::NAME),
        };
        let mut bytes = [0u8; 8];
        // SAFETY: a word key takes at most the eight bytes of the array.
        unsafe { write_at::<Self>(view, bytes.as_mut_ptr(), size) };
        u64::from_le_bytes(bytes)
    }

    /// The bytes that are hashed and compared: the content of a text or byte string, the encoding of anything else.
    #[inline(always)]
    fn with_bytes<R>(view: Self::View<'_>, f: impl FnOnce(&[u8]) -> R) -> R {
        let size = Self::size(view);
        let mut small = [MaybeUninit::<u8>::uninit(); 64];
        if size <= small.len() {
            // SAFETY: `size` bytes fit the array, and `write_at` returns only when it has initialised them.
            f(unsafe {
                write_at::<Self>(view, small.as_mut_ptr().cast(), size);
                small[..size].assume_init_ref()
            })
        } else {
            let mut large = Vec::new();
            append::<Self>(view, &mut large);
            f(&large)
        }
    }

    /// The view of bytes that [`KeyWire::with_bytes`] gave.
    ///
    /// # Safety
    /// The bytes must come from `with_bytes` of this type.
    #[inline(always)]
    unsafe fn from_key_bytes(bytes: &[u8], trust: Trust) -> Self::View<'_> {
        // SAFETY: the key bytes of this type are its encoding.
        unsafe { Self::read(bytes.as_ptr(), trust).0 }
    }

    /// The view of bytes that [`KeyWire::with_bytes`] gave, checked.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes are no key of this type.
    fn parse_key_bytes(bytes: &[u8]) -> Result<Self::View<'_>, DecodeError> {
        let (view, used) = Self::parse(bytes)?;
        if used == bytes.len() { Ok(view) } else { Err(DecodeError::Trailing(bytes.len() - used)) }
    }

    /// Appends the encoding of the key whose [`KeyWire::with_bytes`] gave `bytes`.
    #[inline]
    fn append_key_bytes(bytes: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(bytes);
    }

    /// The fixed hash of a key.
    #[inline(always)]
    fn hash(view: Self::View<'_>) -> u64 {
        if Self::WORD { hash::hash_word(Self::word(view)) } else { Self::with_bytes(view, hash::hash_bytes) }
    }
}

//! The hash of a key (architecture D11): fixed for ever, equal on every platform and release.
//!
//! A key of at most eight encoded bytes of fixed size is one little-endian word `w`; its hash is
//! `fold(w ^ A, B)`, where `fold(a, b)` multiplies to 128 bits and xors the halves. Any other key is hashed over its
//! bytes (the content of a text or byte string, the encoding of anything else):
//!
//! - up to 16 bytes: with `first` and `last` the first and last eight bytes (the same eight when fewer than nine; up
//!   to seven bytes are zero-extended), `fold(first ^ A, last ^ B ^ length * C)`;
//! - longer: `h = length * C`, then for every full 16-byte block `(x, y)` `h = fold(x ^ h ^ A, y ^ B)`, and last the
//!   final 16 bytes of the key (which may overlap a block) in the same way.
//!
//! Then the result is folded once more with `C`, so that the top 48 bits, which routing, table index and tags use,
//! depend on every bit of the key. Test vectors stand in this module's tests and in the public documentation of
//! [`hash_word`] and [`hash_bytes`].

const A: u64 = 0x9e37_79b9_7f4a_7c15;
const B: u64 = 0xd1b5_4a32_d192_ed03;
const C: u64 = 0x8cb9_2ba7_2f3d_8dd7;

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    (wide as u64) ^ ((wide >> 64) as u64)
}

/// Hash of a key of at most eight encoded bytes of fixed size.
#[inline(always)]
pub fn hash_word(word: u64) -> u64 {
    fold(word ^ A, B)
}

#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Hash of a key that is a byte string.
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let n = bytes.len();
    let length = (n as u64).wrapping_mul(C);
    if n <= 16 {
        let (first, last) = ends(bytes);
        return fold(fold(first ^ A, last ^ B ^ length), C);
    }
    let mut h = length;
    let mut at = 0;
    while at + 16 < n {
        h = fold(word_at(bytes, at) ^ h ^ A, word_at(bytes, at + 8) ^ B);
        at += 16;
    }
    h = fold(word_at(bytes, n - 16) ^ h ^ A, word_at(bytes, n - 8) ^ B);
    fold(h, C)
}

/// First and last eight bytes of at most sixteen; both the zero-extended whole when there are fewer than eight. With
/// the length these say all of a short key, so that tables can keep and compare it as two words.
///
/// # Panics
/// May panic, or answer with parts only, when there are more than sixteen bytes.
#[inline(always)]
pub fn ends(bytes: &[u8]) -> (u64, u64) {
    let n = bytes.len();
    debug_assert!(n <= 16);
    if n >= 8 {
        (word_at(bytes, 0), word_at(bytes, n - 8))
    } else if n >= 4 {
        let mut low = [0; 4];
        low.copy_from_slice(&bytes[..4]);
        let mut high = [0; 4];
        high.copy_from_slice(&bytes[n - 4..]);
        let word = u64::from(u32::from_le_bytes(low)) | u64::from(u32::from_le_bytes(high)) << (8 * (n - 4));
        (word, word)
    } else if n > 0 {
        let word = u64::from(bytes[0])
            | u64::from(bytes[n / 2]) << (8 * (n / 2))
            | u64::from(bytes[n - 1]) << (8 * (n - 1));
        (word, word)
    } else {
        (0, 0)
    }
}

//! The hash of a key: fixed for ever, equal on every platform and release.
//!
//! `fold(a, b)` multiplies two words to 128 bits and xors the halves. `A`, `B` and `C` are
//! `0x9e3779b97f4a7c15`, `0xd1b54a32d192ed03` and `0x8cb92ba72f3d8dd7`; arithmetic wraps at 64 bits, words are
//! little-endian.
//!
//! A key of one to eight encoded bytes, of a type whose values all take as many, is one zero-extended word `w`; its
//! hash is `fold(w ^ B, A)`. Any other key is hashed over its bytes (the content of a text or byte string, the
//! encoding of anything else):
//!
//! - up to 16 bytes: with `first` and `last` the first and last eight bytes (fewer than eight are one zero-extended
//!   word, which is both), `fold(fold(first ^ A, last ^ B ^ length * C), C)`;
//! - longer: `h = length * C`; for every 16-byte block `(x, y)` that is not the end of the key
//!   `h = fold(x ^ h ^ A, y ^ B)`; then the same for the final 16 bytes of the key (which may overlap a block); the
//!   hash is `fold(h, C)`.
//!
//! Routing, table index and tags use the top 48 bits. Words are hashed with one multiplication because most are numbers
//! that count up, by ones or by strides: multiplied by `A`, which is 2^64 divided by the golden ratio, such keys lie
//! more evenly than chance has it at every scale, so that in a table hardly any is pushed from its place (1.05 probes
//! at most where chance gives 1.5, see the tests). Other regular keys may lie less
//! evenly: a lookup in a half full table took 4 probes for the worst stride that was tried, where chance gives 1.5. What
//! picks key groups mixes again, so groups do not depend on this. Strings have no such order worth keeping, and are
//! mixed in full: every bit of the key reaches each of the 48.
//!
//! Every value can be a hash, 0 included. The hash is no secret: it does not defend against keys that were made to
//! collide.

#[cfg(test)]
mod tests;

const A: u64 = 0x9e37_79b9_7f4a_7c15;
const B: u64 = 0xd1b5_4a32_d192_ed03;
const C: u64 = 0x8cb9_2ba7_2f3d_8dd7;

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    (wide as u64) ^ ((wide >> 64) as u64)
}

/// Hash of a key of at most eight encoded bytes of fixed size, as a zero-extended little-endian word:
/// `fold(word ^ B, A)`, where `fold` multiplies to 128 bits and xors the halves, `A` is `0x9e3779b97f4a7c15` and `B` is
/// `0xd1b54a32d192ed03`. Never changes.
///
/// ```
/// # use millstream_io::record::hash_word;
/// assert_eq!(hash_word(0), 0xd6cb_8892_a926_a943);
/// assert_eq!(hash_word(1), 0x3882_3158_2ef0_2551);
/// assert_eq!(hash_word(42), 0x5217_ba1b_b259_1cce);
/// assert_eq!(hash_word(u64::MAX), 0x16eb_8c24_a850_b134);
/// ```
#[inline(always)]
pub fn hash_word(word: u64) -> u64 {
    fold(word ^ B, A)
}

#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Hash of a key that is a byte string. Never changes. With `fold`, `A` and `B` of [`hash_word`], `C` as
/// `0x8cb92ba72f3d8dd7`, and arithmetic modulo 2^64:
///
/// - up to 16 bytes: with `first` and `last` the first and last eight bytes as little-endian words (fewer than eight
///   bytes are one zero-extended word, which is both), `fold(fold(first ^ A, last ^ B ^ length * C), C)`;
/// - longer: `h = length * C`; for every 16 bytes `(x, y)` that are not the end of the key
///   `h = fold(x ^ h ^ A, y ^ B)`; the same for the last 16 bytes of the key; then `fold(h, C)`.
///
/// ```
/// # use millstream_io::record::hash_bytes;
/// assert_eq!(hash_bytes(b""), 0xb528_2132_a07e_116e);
/// assert_eq!(hash_bytes(b"abc"), 0x2cc4_62f0_5ac7_06d2);
/// assert_eq!(hash_bytes(b"abcdefghi"), 0xed9f_bf5e_e6a2_e4f6);
/// assert_eq!(hash_bytes(b"0123456789abcdefg"), 0xa381_b796_3282_9f2b);
/// ```
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
    if n >= 4 {
        // Four overlapping half words, so that no branch depends on whether there are eight bytes: among short texts
        // such a branch is guessed wrong every other time.
        let half = |at: usize| {
            let mut half = [0; 4];
            half.copy_from_slice(&bytes[at..at + 4]);
            u64::from(u32::from_le_bytes(half))
        };
        let step = (n - 4).min(4);
        let first = half(0) | half(step) << (8 * step);
        let last = half(n - 4 - step) | half(n - 4) << (8 * step);
        (first, last)
    } else if n > 0 {
        let word = u64::from(bytes[0])
            | u64::from(bytes[n / 2]) << (8 * (n / 2))
            | u64::from(bytes[n - 1]) << (8 * (n - 1));
        (word, word)
    } else {
        (0, 0)
    }
}

//! Records that may be keys.

use super::Record;
use super::trusted::KeyWire;

/// A record that may be a key: every record whose encoding is built without floating-point numbers, whose equality
/// would not be that of their bytes (ruling 16).
///
/// Two keys are equal when their encodings are. A closure that computes a key may be asked several times for one record
/// and must give the same answer each time.
///
/// ```
/// use millstream_io::Key;
/// fn group<K: Key>() {}
/// group::<(u64, String, Option<bool>, [char; 2], Vec<u8>)>();
/// ```
/// ```compile_fail,E0277
/// # use millstream_io::Key;
/// # fn group<K: Key>() {}
/// group::<(u64, f64)>();
/// ```
pub trait Key: Record<Wire: KeyWire> {
    /// The key's fixed 64-bit hash, see [`hash_word`](super::hash_word) and [`hash_bytes`](super::hash_bytes).
    #[inline(always)]
    fn hash(view: Self::Ref<'_>) -> u64 {
        <Self::Wire as KeyWire>::hash(Self::to_wire(view))
    }
}

impl<T: Record<Wire: KeyWire>> Key for T {}

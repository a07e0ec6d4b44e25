//! Whether an entry is one that a state would hold: each that is restored is looked at once (ruling 15).

use super::declare::is_void;
use millstream_io::record::{DecodeError, Key, Record, Row};

/// What is wrong with an entry, and with which part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    pub part: &'static str,
    pub cause: DecodeError,
}

/// Looks at key and value of an entry, the latter without the time that may stand in front of it, and returns the hash of the
/// key that it belongs to.
pub(super) type Check = fn(&[u8], &[u8]) -> Result<u64, Flaw>;

fn flaw(part: &'static str) -> impl Fn(DecodeError) -> Flaw {
    move |cause| Flaw { part, cause }
}

/// Reads a place; what follows it is handed back.
fn place<K: Key, N: Key>(bytes: &[u8]) -> Result<(u64, &[u8]), Flaw> {
    let (key, used) = K::parse(bytes).map_err(flaw("key"))?;
    let rest = &bytes[used..];
    let hash = K::hash(key);
    if is_void::<N>() {
        return Ok((hash, rest));
    }
    match rest.split_first() {
        Some((0, rest)) => Ok((hash, rest)),
        Some((1, rest)) => {
            let (_, used) = N::parse(rest).map_err(flaw("namespace"))?;
            Ok((hash, &rest[used..]))
        }
        Some((&tag, _)) => Err(flaw("namespace")(DecodeError::Tag { tag, what: "namespace" })),
        None => Err(flaw("namespace")(DecodeError::Truncated { need: 1, have: 0 })),
    }
}

/// That bytes are exactly one record.
fn one<T: Record>(bytes: &[u8], part: &'static str) -> Result<(), Flaw> {
    Row::<T>::parse(bytes).map(drop).map_err(flaw(part))
}

/// An entry of a state that has one for each place.
pub(super) fn single<K: Key, N: Key, V: Record>(key: &[u8], value: &[u8]) -> Result<u64, Flaw> {
    let (hash, rest) = place::<K, N>(key)?;
    one::<()>(rest, "key")?;
    one::<V>(value, "value")?;
    Ok(hash)
}

/// An entry of a list.
pub(super) fn list<K: Key, N: Key, T: Record>(key: &[u8], value: &[u8]) -> Result<u64, Flaw> {
    let (hash, rest) = place::<K, N>(key)?;
    one::<u64>(rest, "place in the list")?;
    one::<T>(value, "element")?;
    Ok(hash)
}

/// An entry of a map.
pub(super) fn map<K: Key, N: Key, MK: Key, MV: Record>(key: &[u8], value: &[u8]) -> Result<u64, Flaw> {
    let (hash, rest) = place::<K, N>(key)?;
    one::<MK>(rest, "key in the map")?;
    one::<MV>(value, "value")?;
    Ok(hash)
}

/// A timer.
pub(super) fn timer<K: Key, N: Key>(key: &[u8], value: &[u8]) -> Result<u64, Flaw> {
    let (_, used) = u64::parse(key).map_err(flaw("timestamp"))?;
    let (hash, rest) = place::<K, N>(&key[used..])?;
    one::<()>(rest, "key")?;
    one::<()>(value, "value")?;
    Ok(hash)
}

//! The id of an operator: what state is matched by at a restore (UI-01, UI-02).

use std::fmt;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Tells ids made from uids from generated ones, whatever the texts.
const UID_SEED: u64 = 1;
const GENERATED_SEED: u64 = 2;

/// Id of an operator, 128 bits, written as 32 hex digits.
///
/// ```
/// use millstream_state::OperatorId;
/// assert_eq!(OperatorId::of_uid("source"), OperatorId::of_uid("source"));
/// assert_ne!(OperatorId::of_uid("source"), OperatorId::generated(b"source"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperatorId(u128);

impl OperatorId {
    /// The id of the operator with this uid.
    pub fn of_uid(uid: &str) -> Self {
        Self(xxh3_128_with_seed(uid.as_bytes(), UID_SEED))
    }

    /// The id of an operator without uid, from a description of its kind, its place in the graph and its state.
    pub fn generated(description: &[u8]) -> Self {
        Self(xxh3_128_with_seed(description, GENERATED_SEED))
    }

    /// The id as a number.
    pub fn to_bits(self) -> u128 {
        self.0
    }

    /// The id with these bits.
    pub fn from_bits(bits: u128) -> Self {
        Self(bits)
    }
}

impl fmt::Display for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OperatorId({self})")
    }
}

/// 32 lower-case hex digits as a number.
pub(crate) fn parse_hex(text: &str) -> Option<u128> {
    let digits = text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if digits { u128::from_str_radix(text, 16).ok() } else { None }
}

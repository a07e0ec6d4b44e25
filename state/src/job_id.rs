//! The id of a job: a function of its name, so that a new process finds what an earlier one left.

use std::fmt;
use xxhash_rust::xxh3::xxh3_128;

/// Id of a job: the XXH3-128 hash of its name in UTF-8, written as 32 hex digits.
///
/// ```
/// use millstream_state::JobId;
/// let id = JobId::of("flights");
/// assert_eq!(id, JobId::of("flights"));
/// assert_eq!(id.to_string().len(), 32);
/// assert_eq!(JobId::parse(&id.to_string()), Some(id));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(u128);

impl JobId {
    /// The id of the job with this name.
    pub fn of(name: &str) -> Self {
        Self(xxh3_128(name.as_bytes()))
    }

    /// The id written as 32 hex digits, or `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        crate::operator_id::parse_hex(text).map(Self)
    }

    /// The hash as a number.
    pub fn to_bits(self) -> u128 {
        self.0
    }

    /// The id with these bits.
    pub fn from_bits(bits: u128) -> Self {
        Self(bits)
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JobId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors of the hash's authors (XXH3, 128 bits, seed 0), canonical form: high half first.
    #[test]
    fn the_id_is_the_canonical_xxh3_128_of_the_name() {
        assert_eq!(JobId::of("").to_string(), "99aa06d3014798d86001c324468d497f");
        assert_eq!(JobId::of("a").to_string(), "a96faf705af16834e6c632b61e964e1f");
        assert_eq!(JobId::of("abc").to_string(), "06b05ab6733a618578af5f94892f3950");
    }

    #[test]
    fn only_32_lower_case_hex_digits_are_an_id() {
        let text = "06b05ab6733a618578af5f94892f3950";
        assert_eq!(JobId::parse(text), Some(JobId::of("abc")));
        for bad in ["", "06b0", "+6b05ab6733a618578af5f94892f3950", "06B05ab6733a618578af5f94892f3950"] {
            assert_eq!(JobId::parse(bad), None, "{bad}");
        }
        assert_eq!(JobId::parse(&format!("{text}0")), None);
    }
}

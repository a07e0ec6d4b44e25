//! What the CSV jobs make of a record: its key and number. Pure.

use millstream_io::format::csv::{fields, write_field};
use std::fmt;

/// Why a record cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// There are not so many fields.
    Missing {
        /// What was looked for.
        field: &'static str,
        /// Its place, from 1.
        place: usize,
    },
    /// A field that must be a whole number is none.
    NotInteger {
        /// What was looked for.
        field: &'static str,
        /// What was found, cut to a short length.
        found: String,
    },
    /// A whole number that 64 bits with a sign cannot hold.
    OutOfRange {
        /// What was looked for.
        field: &'static str,
        /// What was found, cut to a short length.
        found: String,
    },
    /// The sum would be such a number.
    Overflow {
        /// The sum so far.
        sum: i64,
        /// What should be added.
        n: i64,
    },
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { field, place } => write!(f, "{field}, field {place}, is missing"),
            Self::NotInteger { field, found } => write!(f, "{field} is not a whole number: '{found}'"),
            Self::OutOfRange { field, found } => write!(f, "{field} is outside the range of i64: '{found}'"),
            Self::Overflow { sum, n } => write!(f, "{sum} + {n} is outside the range of i64"),
        }
    }
}

/// The field at `index`, from 0, after unquoting.
pub fn field<'s>(line: &'s [u8], index: usize, scratch: &'s mut Vec<u8>) -> Option<&'s [u8]> {
    fields(line).nth(index).map(|field| field.value(scratch))
}

/// The key of a record: its first field. Every record has one, though it may be empty.
pub fn key<'s>(line: &'s [u8], scratch: &'s mut Vec<u8>) -> &'s [u8] {
    field(line, 0, scratch).unwrap_or_default()
}

/// The number of a `key[,n]` record: 1 when there is no second field.
///
/// # Errors
/// The second field is no whole number, or none of 64 bits.
pub fn amount(line: &[u8]) -> Result<i64, Unusable> {
    let mut scratch = Vec::new();
    match field(line, 1, &mut scratch) {
        None => Ok(1),
        Some(text) => integer("n", text),
    }
}

/// Reads a whole number: an optional sign and digits, nothing else.
///
/// # Errors
/// It is none, or one that does not fit.
pub fn integer(field: &'static str, text: &[u8]) -> Result<i64, Unusable> {
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let found = || String::from_utf8_lossy(&text[..text.len().min(40)]).into_owned();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Unusable::NotInteger { field, found: found() });
    }
    let number = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| Unusable::OutOfRange { field, found: found() })
}

/// The sum, if 64 bits hold it.
///
/// # Errors
/// They do not.
pub fn add(sum: i64, n: i64) -> Result<i64, Unusable> {
    sum.checked_add(n).ok_or(Unusable::Overflow { sum, n })
}

/// Writes an output record: the key, quoted only when needed, and numbers.
pub fn row(out: &mut Vec<u8>, key: &[u8], numbers: impl IntoIterator<Item = impl fmt::Display>) {
    use std::io::Write;
    out.clear();
    write_field(out, key);
    for number in numbers {
        // Writing to a vector cannot fail.
        let _ = write!(out, ",{number}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(line: &[u8]) -> Vec<u8> {
        key(line, &mut Vec::new()).to_vec()
    }

    #[test]
    fn the_key_is_the_first_field_after_unquoting_whatever_its_bytes() {
        for (line, key) in [
            (b"a,1".as_slice(), b"a".as_slice()),
            (b"a", b"a"),
            (b",1", b""),
            (b"\"a,b\",1", b"a,b"),
            (b"\"a\"\"b\",1", b"a\"b"),
            (b"\"a\nb\"", b"a\nb"),
            (b"\xff\xfe,1", b"\xff\xfe"),
            (b"\"a\",1", b"a"),
        ] {
            assert_eq!(key_of(line), key, "{line:?}");
        }
    }

    #[test]
    fn the_number_is_the_second_field_and_one_without_it() {
        for (line, n) in [
            (b"a".as_slice(), 1),
            (b"a,5", 5),
            (b"a,-5,7", -5),
            (b"a,\"12\"", 12),
            (b"a,+3", 3),
            (b"a,9223372036854775807", i64::MAX),
            (b"a,-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(amount(line), Ok(n), "{line:?}");
        }
    }

    #[test]
    fn what_is_no_number_of_64_bits_is_unusable() {
        for line in [b"a,".as_slice(), b"a,x", b"a, 1", b"a,1 ", b"a,1.0", b"a,-", b"a,\xff", b"a,1_0"] {
            assert!(matches!(amount(line), Err(Unusable::NotInteger { field: "n", .. })), "{line:?}");
        }
        for line in
            [b"a,9223372036854775808".as_slice(), b"a,-9223372036854775809", b"a,99999999999999999999999"]
        {
            assert!(matches!(amount(line), Err(Unusable::OutOfRange { field: "n", .. })), "{line:?}");
        }
    }

    #[test]
    fn ms_075_a_sum_that_would_overflow_is_unusable_and_says_so() {
        assert_eq!(add(i64::MAX, -5), Ok(i64::MAX - 5));
        let overflow = add(i64::MAX, 1).unwrap_err();
        assert_eq!(overflow.to_string(), "9223372036854775807 + 1 is outside the range of i64");
        assert!(add(i64::MIN, -1).is_err());
    }

    #[test]
    fn output_is_quoted_only_when_needed() {
        for (key, line) in [
            (b"plain".as_slice(), b"plain,-3,4".as_slice()),
            (b"a b", b"a b,-3,4"),
            (b"a,b", b"\"a,b\",-3,4"),
            (b"a\"b", b"\"a\"\"b\",-3,4"),
            (b"a\nb", b"\"a\nb\",-3,4"),
            (b"a\rb", b"\"a\rb\",-3,4"),
            (b"", b",-3,4"),
        ] {
            let mut out = b"old".to_vec();
            row(&mut out, key, [-3, 4]);
            assert_eq!(out, line, "{key:?}");
        }
    }
}

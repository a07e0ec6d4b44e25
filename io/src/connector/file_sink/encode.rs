//! How records become lines of a file.

use crate::format::csv::{CsvLine, write_field};
use crate::format::{Csv, Lines};
use crate::record::Record;
use std::fmt::Display;
use std::io::Write;

/// Writes records of type `T` into a file's buffer. Also any closure `Fn(&mut Vec<u8>, T::Ref<'_>)`.
pub trait Encode<T: Record>: Clone + Send + 'static {
    /// Appends one record, its end included, to `out`; what stands there already belongs to other records.
    fn encode(&self, out: &mut Vec<u8>, record: T::Ref<'_>);
}

impl<T: Record, F> Encode<T> for F
where
    F: for<'a> Fn(&mut Vec<u8>, T::Ref<'a>) + Clone + Send + 'static,
{
    #[inline(always)]
    fn encode(&self, out: &mut Vec<u8>, record: T::Ref<'_>) {
        self(out, record);
    }
}

/// The record's bytes as they are, and LF.
impl Encode<Vec<u8>> for Lines {
    #[inline(always)]
    fn encode(&self, out: &mut Vec<u8>, record: &[u8]) {
        out.reserve(record.len() + 1);
        out.extend_from_slice(record);
        out.push(b'\n');
    }
}

/// The text as it is, and LF.
impl Encode<String> for Lines {
    #[inline(always)]
    fn encode(&self, out: &mut Vec<u8>, record: &str) {
        Encode::<Vec<u8>>::encode(self, out, record.as_bytes());
    }
}

/// The record's own bytes, as they stood in the file they came from, and LF.
impl Encode<CsvLine> for Lines {
    #[inline(always)]
    fn encode(&self, out: &mut Vec<u8>, record: <CsvLine as Record>::Ref<'_>) {
        Encode::<Vec<u8>>::encode(self, out, record.line);
    }
}

/// A value that can be a field of a CSV record.
pub trait CsvField: Copy {
    /// Appends the field, quoted when needed.
    fn write(self, out: &mut Vec<u8>);
}

impl CsvField for &[u8] {
    #[inline]
    fn write(self, out: &mut Vec<u8>) {
        write_field(out, self);
    }
}

impl CsvField for &str {
    #[inline]
    fn write(self, out: &mut Vec<u8>) {
        write_field(out, self.as_bytes());
    }
}

macro_rules! unsigned_fields {
    ($($type:ty),*) => { $(
        impl CsvField for $type {
            #[inline]
            fn write(self, out: &mut Vec<u8>) {
                write_number(self.into(), out);
            }
        }
    )* };
}

macro_rules! signed_fields {
    ($($type:ty),*) => { $(
        impl CsvField for $type {
            #[inline]
            fn write(self, out: &mut Vec<u8>) {
                if self < 0 {
                    out.push(b'-');
                }
                write_number(self.unsigned_abs().into(), out);
            }
        }
    )* };
}

unsigned_fields!(u8, u16, u32, u64);
signed_fields!(i8, i16, i32, i64);

/// Appends the decimal digits of a number.
#[inline]
fn write_number(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

macro_rules! displayed_fields {
    ($($type:ty),*) => { $(
        impl CsvField for $type {
            fn write(self, out: &mut Vec<u8>) {
                write_displayed(self, out);
            }
        }
    )* };
}

displayed_fields!(u128, i128, f32, f64, bool);

fn write_displayed(value: impl Display, out: &mut Vec<u8>) {
    // Writing into memory does not fail.
    let _ = write!(out, "{value}");
}

impl CsvField for char {
    fn write(self, out: &mut Vec<u8>) {
        write_field(out, self.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

macro_rules! rows {
    ($($part:ident $index:tt),*) => {
        /// One CSV record, fields quoted only when needed, and LF.
        impl<$($part: Record),*> Encode<($($part,)*)> for Csv
        where
            $(for<'a> $part::Ref<'a>: CsvField,)*
        {
            #[inline]
            fn encode(&self, out: &mut Vec<u8>, record: ($($part::Ref<'_>,)*)) {
                $(
                    if $index > 0 {
                        out.push(b',');
                    }
                    record.$index.write(out);
                )*
                out.push(b'\n');
            }
        }
    };
}

rows!(A 0);
rows!(A 0, B 1);
rows!(A 0, B 1, C 2);
rows!(A 0, B 1, C 2, D 3);
rows!(A 0, B 1, C 2, D 3, E 4);
rows!(A 0, B 1, C 2, D 3, E 4, F 5);
rows!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
rows!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

#[cfg(test)]
mod tests {
    use super::*;

    fn row<T: Record>(record: T) -> String
    where
        Csv: Encode<T>,
    {
        let mut out = Vec::new();
        Csv.encode(&mut out, record.view());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fields_are_quoted_only_when_needed() {
        assert_eq!(row(("plain".to_owned(), 5_u64)), "plain,5\n");
        assert_eq!(row((b"a,b".to_vec(), "say \"hi\"".to_owned())), "\"a,b\",\"say \"\"hi\"\"\"\n");
        assert_eq!(row(("a\nb".to_owned(), "a\rb".to_owned())), "\"a\nb\",\"a\rb\"\n");
        assert_eq!(row((String::new(), String::new())), ",\n");
    }

    #[test]
    fn numbers_at_their_limits() {
        assert_eq!(
            row((i64::MIN, i64::MAX, u64::MAX)),
            "-9223372036854775808,9223372036854775807,18446744073709551615\n"
        );
        assert_eq!(row((0_i32, -1_i8, i8::MIN, 255_u8)), "0,-1,-128,255\n");
        assert_eq!(row((1.5_f64, true, u128::MAX)), format!("1.5,true,{}\n", u128::MAX));
    }

    #[test]
    fn lines_are_written_byte_for_byte() {
        let mut out = Vec::new();
        Encode::<Vec<u8>>::encode(&Lines, &mut out, b"a\r\xff");
        Encode::<Vec<u8>>::encode(&Lines, &mut out, b"");
        Encode::<String>::encode(&Lines, &mut out, "ü");
        let line = CsvLine { file: 1, offset: 2, line: b"\"k\",1".to_vec() };
        Encode::<CsvLine>::encode(&Lines, &mut out, line.view());
        assert_eq!(out, b"a\r\xff\n\n\xc3\xbc\n\"k\",1\n");
    }
}

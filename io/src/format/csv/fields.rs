//! The fields of a CSV record.

use memchr::{memchr, memchr3};

/// The fields of a record's raw bytes, without its line end. A record has at least one field, which may be empty.
///
/// Allocates nothing: a field is a slice of the record, and only one with a doubled quote in it needs a scratch buffer
/// to be read.
///
/// ```
/// use millstream_io::format::csv::fields;
///
/// let mut scratch = Vec::new();
/// let mut row = fields(b"7,\"say \"\"hi\"\"\",");
/// assert_eq!(row.next().unwrap().value(&mut scratch), b"7");
/// assert_eq!(row.next().unwrap().value(&mut scratch), b"say \"hi\"");
/// assert_eq!(row.next().unwrap().value(&mut scratch), b"");
/// assert!(row.next().is_none());
/// ```
pub fn fields(record: &[u8]) -> Fields<'_> {
    Fields { rest: Some(record) }
}

/// Iterator over the fields of a record, see [`fields`].
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    /// What begins at the next field; nothing behind the last one.
    rest: Option<&'a [u8]>,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    #[inline]
    fn next(&mut self) -> Option<Field<'a>> {
        let rest = self.rest?;
        let len = if rest.first() == Some(&b'"') { quoted_len(rest) } else { plain_len(rest) };
        self.rest = rest.get(len + 1..);
        Some(Field { raw: &rest[..len] })
    }
}

#[inline]
fn plain_len(rest: &[u8]) -> usize {
    memchr(b',', rest).unwrap_or(rest.len())
}

/// Bytes of the field that begins with a quote, all quotes included.
fn quoted_len(rest: &[u8]) -> usize {
    let mut at = 1;
    while let Some(quote) = memchr(b'"', &rest[at..]) {
        at += quote + 1;
        if rest.get(at) == Some(&b'"') {
            at += 1;
        } else {
            return at + plain_len(&rest[at..]);
        }
    }
    rest.len()
}

/// One field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    raw: &'a [u8],
}

impl<'a> Field<'a> {
    /// The field as it stood, quotes included.
    pub fn raw(self) -> &'a [u8] {
        self.raw
    }

    /// What the field means if that is a slice of the record: always, unless it holds a doubled quote, or bytes
    /// behind its closing quote.
    #[inline]
    pub fn borrowed(self) -> Option<&'a [u8]> {
        let Some(inner) = self.raw.strip_prefix(b"\"") else { return Some(self.raw) };
        match memchr(b'"', inner) {
            None => Some(inner),
            Some(end) if end + 1 == inner.len() => Some(&inner[..end]),
            Some(_) => None,
        }
    }

    /// What the field means. `scratch` is overwritten when the meaning is no slice of the record.
    #[inline]
    pub fn value<'s>(self, scratch: &'s mut Vec<u8>) -> &'s [u8]
    where
        'a: 's,
    {
        match self.borrowed() {
            Some(value) => value,
            None => {
                self.unquote(scratch);
                scratch
            }
        }
    }

    /// Whether something follows the closing quote.
    pub(super) fn goes_on_behind_quote(self) -> bool {
        let Some(mut rest) = self.raw.strip_prefix(b"\"") else { return false };
        while let Some(quote) = memchr(b'"', rest) {
            rest = &rest[quote + 1..];
            match rest.strip_prefix(b"\"") {
                Some(doubled) => rest = doubled,
                None => return !rest.is_empty(),
            }
        }
        false
    }

    /// Puts what a quoted field means into `scratch`.
    fn unquote(self, scratch: &mut Vec<u8>) {
        scratch.clear();
        let mut rest = &self.raw[1..];
        while let Some(quote) = memchr(b'"', rest) {
            scratch.extend_from_slice(&rest[..quote]);
            rest = &rest[quote + 1..];
            let Some(doubled) = rest.strip_prefix(b"\"") else { break };
            scratch.push(b'"');
            rest = doubled;
        }
        scratch.extend_from_slice(rest);
    }
}

/// Appends a field to a record that is being written: quoted when it holds a comma, a quote, CR or LF, else as it is.
///
/// ```
/// let mut line = Vec::new();
/// millstream_io::format::csv::write_field(&mut line, b"5\" pipe");
/// assert_eq!(line, b"\"5\"\" pipe\"");
/// ```
pub fn write_field(out: &mut Vec<u8>, field: &[u8]) {
    if memchr3(b',', b'"', b'\n', field).is_none() && memchr(b'\r', field).is_none() {
        out.extend_from_slice(field);
        return;
    }
    out.push(b'"');
    let mut rest = field;
    while let Some(quote) = memchr(b'"', rest) {
        out.extend_from_slice(&rest[..=quote]);
        out.push(b'"');
        rest = &rest[quote + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

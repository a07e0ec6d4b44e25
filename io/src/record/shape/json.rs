//! Values as JSON.
//!
//! Numbers are exact, also those that some readers of JSON round; a float that is none is the text `NaN`, `inf` or `-inf`.
//! Texts, characters and bytes that are UTF-8 are texts; other bytes are `{"hex":"00ff"}`. No value is `null`; tuples, lists and
//! structs without names of fields are arrays, other structs objects. An alternative is its name where it has no fields, else
//! an object of its name and its fields.

use super::check::{Depth, Items, bool_of, char_of, content, tag, take, text};
use super::{Shape, What};
use crate::record::DecodeError;
use std::fmt::Write;

type Result<T> = std::result::Result<T, DecodeError>;

impl Shape {
    /// Appends the value that the bytes begin with as JSON. Returns how many bytes it takes.
    ///
    /// # Errors
    /// They do not begin with a value of this type; what was appended up to there stays.
    pub fn show(&self, bytes: &[u8], out: &mut String) -> Result<usize> {
        self.put(self.root, bytes, Depth::default(), out)
    }

    fn put(&self, node: usize, bytes: &[u8], depth: Depth, out: &mut String) -> Result<usize> {
        let node = &self.nodes[node];
        match &node.what {
            What::Unsigned | What::Signed | What::Float => {
                let size = node.fixed.unwrap_or_default();
                let bytes =
                    bytes.get(..size).ok_or(DecodeError::Truncated { need: size, have: bytes.len() })?;
                put_number(&node.what, bytes, out);
                Ok(size)
            }
            What::Bool => {
                out.push_str(if bool_of(bytes)? { "true" } else { "false" });
                Ok(1)
            }
            What::Char => {
                put_text(char_of(bytes)?.encode_utf8(&mut [0; 4]), out);
                Ok(4)
            }
            What::Text => {
                let text = text(bytes)?;
                put_text(text, out);
                Ok(4 + text.len())
            }
            What::Bytes => {
                let content = content(bytes)?;
                put_bytes(content, out);
                Ok(4 + content.len())
            }
            What::Option(of) => match tag(bytes, 2)? {
                0 => {
                    out.push_str("null");
                    Ok(1)
                }
                _ => Ok(1 + self.put(*of, &bytes[1..], depth.down()?, out)?),
            },
            What::List(of) => self.put_list(*of, bytes, depth, out),
            What::Array(of, length) => {
                self.put_array(std::iter::repeat_n(*of, *length), bytes, depth.down()?, out)
            }
            What::Tuple(parts) if parts.is_empty() => {
                out.push_str("null");
                Ok(0)
            }
            What::Tuple(parts) => self.put_array(parts.iter().copied(), bytes, depth.down()?, out),
            What::Struct(fields) => {
                let (depth, mut used) = (depth.down()?, 0);
                out.push('{');
                for (n, (name, field)) in fields.iter().enumerate() {
                    if n > 0 {
                        out.push(',');
                    }
                    put_text(name, out);
                    out.push(':');
                    used += self.put(*field, &bytes[used..], depth, out)?;
                }
                out.push('}');
                Ok(used)
            }
            What::Enum(cases) => {
                let (name, fields) = &cases[tag(bytes, cases.len())?];
                if matches!(&self.nodes[*fields].what, What::Tuple(parts) if parts.is_empty()) {
                    put_text(name, out);
                    return Ok(1);
                }
                out.push('{');
                put_text(name, out);
                out.push(':');
                let used = self.put(*fields, &bytes[1..], depth.down()?, out)?;
                out.push('}');
                Ok(1 + used)
            }
        }
    }

    fn put_list(&self, of: usize, bytes: &[u8], depth: Depth, out: &mut String) -> Result<usize> {
        let Items { count, bytes: items, used } = self.items(of, bytes)?;
        let depth = depth.into_list()?;
        if self.nodes[of].fixed == Some(0) {
            // Each of its items has a byte that says nothing.
            self.put_array(std::iter::repeat_n(of, count), &[], depth, out)?;
            return Ok(used);
        }
        let shown = self.put_array(std::iter::repeat_n(of, count), items, depth, out)?;
        if shown == items.len() {
            Ok(used)
        } else {
            Err(DecodeError::Length { claimed: items.len() as u64, have: shown })
        }
    }

    fn put_array(
        &self,
        parts: impl Iterator<Item = usize>,
        bytes: &[u8],
        depth: Depth,
        out: &mut String,
    ) -> Result<usize> {
        let mut used = 0;
        out.push('[');
        for (n, part) in parts.enumerate() {
            if n > 0 {
                out.push(',');
            }
            used += self.put(part, &bytes[used..], depth, out)?;
        }
        out.push(']');
        Ok(used)
    }
}

fn put_number(what: &What, bytes: &[u8], out: &mut String) {
    let negative = matches!(what, What::Signed) && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut wide = [if negative { 0xff } else { 0 }; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    let written = match (what, bytes.len()) {
        (What::Float, 4) => return put_float(f32::from_bits(u32_of(&wide)), out),
        (What::Float, _) => return put_float(f64::from_bits(u64_of(&wide)), out),
        (What::Signed, _) => write!(out, "{}", i128::from_le_bytes(wide)),
        _ => write!(out, "{}", u128::from_le_bytes(wide)),
    };
    debug_assert!(written.is_ok(), "a text takes whatever is written");
}

fn u32_of(bytes: &[u8]) -> u32 {
    take(bytes).map_or(0, |(word, _)| u32::from_le_bytes(*word))
}

fn u64_of(bytes: &[u8]) -> u64 {
    take(bytes).map_or(0, |(word, _)| u64::from_le_bytes(*word))
}

/// The fewest digits that are read as this number again.
fn put_float(number: impl Into<f64> + std::fmt::Debug + Copy, out: &mut String) {
    let quote = if number.into().is_finite() { "" } else { "\"" };
    let written = write!(out, "{quote}{number:?}{quote}");
    debug_assert!(written.is_ok(), "a text takes whatever is written");
}

/// A text with its quotes.
fn put_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                // The last control character is U+009F.
                let written = write!(out, "\\u{:04x}", u32::from(c));
                debug_assert!(written.is_ok(), "a text takes whatever is written");
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn put_bytes(bytes: &[u8], out: &mut String) {
    match std::str::from_utf8(bytes) {
        Ok(text) => put_text(text, out),
        Err(_) => {
            out.push_str("{\"hex\":\"");
            for byte in bytes {
                let digit = |n: u8| char::from_digit(n.into(), 16).unwrap_or('0');
                out.extend([digit(byte >> 4), digit(byte & 15)]);
            }
            out.push_str("\"}");
        }
    }
}

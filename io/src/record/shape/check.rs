//! Whether bytes begin with a value of a shape, and how many of them it takes.

use super::{Shape, What};
use crate::record::DecodeError;

/// How deeply lists may be nested in a record, as in [`trusted`](crate::record::trusted).
const LISTS: usize = 128;

/// How deeply anything may be nested: beyond what 128 lists of types with eight levels each are.
const LEVELS: usize = 2048;

type Result<T> = std::result::Result<T, DecodeError>;

/// How deep a value is.
#[derive(Clone, Copy, Default)]
pub(super) struct Depth {
    levels: usize,
    lists: usize,
}

impl Depth {
    pub fn down(self) -> Result<Self> {
        if self.levels == LEVELS {
            Err(DecodeError::Depth)
        } else {
            Ok(Self { levels: self.levels + 1, ..self })
        }
    }

    pub fn into_list(self) -> Result<Self> {
        if self.lists == LISTS {
            Err(DecodeError::Depth)
        } else {
            Ok(Self { lists: self.lists + 1, ..self.down()? })
        }
    }
}

/// The items of a list: how many, their bytes, and what the list takes.
pub(super) struct Items<'a> {
    pub count: usize,
    pub bytes: &'a [u8],
    pub used: usize,
}

pub(super) fn take<const N: usize>(bytes: &[u8]) -> Result<(&[u8; N], &[u8])> {
    bytes.split_first_chunk().ok_or(DecodeError::Truncated { need: N, have: bytes.len() })
}

pub(super) fn number(bytes: &[u8]) -> Result<(usize, &[u8])> {
    let (number, rest) = take::<4>(bytes)?;
    Ok((u32::from_le_bytes(*number) as usize, rest))
}

/// A length, and as many bytes.
pub(super) fn content(bytes: &[u8]) -> Result<&[u8]> {
    let (length, rest) = number(bytes)?;
    rest.get(..length).ok_or(DecodeError::Length { claimed: length as u64, have: rest.len() })
}

pub(super) fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(content(bytes)?).map_err(|_| DecodeError::Utf8)
}

pub(super) fn char_of(bytes: &[u8]) -> Result<char> {
    let value = u32::from_le_bytes(*take::<4>(bytes)?.0);
    char::from_u32(value).ok_or(DecodeError::Char(value))
}

pub(super) fn bool_of(bytes: &[u8]) -> Result<bool> {
    match take::<1>(bytes)?.0[0] {
        0 => Ok(false),
        1 => Ok(true),
        tag => Err(DecodeError::Tag { tag, what: "bool" }),
    }
}

/// The alternative that a tag names, of so many.
pub(super) fn tag(bytes: &[u8], of: usize) -> Result<usize> {
    let tag = take::<1>(bytes)?.0[0];
    if usize::from(tag) < of {
        Ok(tag.into())
    } else {
        Err(DecodeError::Tag { tag, what: "an option or enum" })
    }
}

impl Shape {
    /// How many bytes the value takes that the bytes begin with.
    ///
    /// # Errors
    /// They do not begin with a value of this type.
    pub fn check(&self, bytes: &[u8]) -> Result<usize> {
        self.size_of(self.root, bytes, Depth::default())
    }

    /// Items of a list: those without bytes take one each.
    pub(super) fn items<'a>(&self, of: usize, bytes: &'a [u8]) -> Result<Items<'a>> {
        let (first, rest) = number(bytes)?;
        let (header, count, size, rest) = match self.nodes[of].fixed {
            Some(stride) => (4, first, first.saturating_mul(stride.max(1)), rest),
            None => {
                let (count, rest) = number(rest)?;
                (8, count, first, rest)
            }
        };
        let items = rest.get(..size).ok_or(DecodeError::Length { claimed: size as u64, have: rest.len() })?;
        if self.nodes[of].fixed == Some(0)
            && let Some(tag) = items.iter().find(|byte| **byte != 0)
        {
            return Err(DecodeError::Tag { tag: *tag, what: "an item without bytes" });
        }
        Ok(Items { count, bytes: items, used: header + size })
    }

    fn size_of(&self, node: usize, bytes: &[u8], depth: Depth) -> Result<usize> {
        let node = &self.nodes[node];
        if let (Some(size), true) = (node.fixed, node.any) {
            return if bytes.len() < size {
                Err(DecodeError::Truncated { need: size, have: bytes.len() })
            } else {
                Ok(size)
            };
        }
        match &node.what {
            What::Unsigned | What::Signed | What::Float => unreachable!("any bytes are a number"),
            What::Bool => bool_of(bytes).map(|_| 1),
            What::Char => char_of(bytes).map(|_| 4),
            What::Text => Ok(4 + text(bytes)?.len()),
            What::Bytes => Ok(4 + content(bytes)?.len()),
            What::Option(of) => match tag(bytes, 2)? {
                0 => Ok(1),
                _ => Ok(1 + self.size_of(*of, &bytes[1..], depth.down()?)?),
            },
            What::List(of) => {
                let Items { count, bytes: items, used } = self.items(*of, bytes)?;
                let depth = depth.into_list()?;
                if self.nodes[*of].any {
                    return Ok(used);
                }
                let mut at = 0;
                for _ in 0..count {
                    at += self.size_of(*of, &items[at..], depth)?;
                }
                if at == items.len() {
                    Ok(used)
                } else {
                    Err(DecodeError::Length { claimed: items.len() as u64, have: at })
                }
            }
            What::Array(of, length) => self.sizes_of(std::iter::repeat_n(*of, *length), bytes, depth.down()?),
            What::Tuple(parts) => self.sizes_of(parts.iter().copied(), bytes, depth.down()?),
            What::Struct(fields) => {
                self.sizes_of(fields.iter().map(|(_, field)| *field), bytes, depth.down()?)
            }
            What::Enum(cases) => {
                let case = tag(bytes, cases.len())?;
                Ok(1 + self.size_of(cases[case].1, &bytes[1..], depth.down()?)?)
            }
        }
    }

    fn sizes_of(&self, parts: impl Iterator<Item = usize>, bytes: &[u8], depth: Depth) -> Result<usize> {
        let mut used = 0;
        for part in parts {
            used += self.size_of(part, &bytes[used..], depth)?;
        }
        Ok(used)
    }
}

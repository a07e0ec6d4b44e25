//! The stable byte form of a schema: what a snapshot stores.
//!
//! A node is one byte that says what it is, then its parts. Numbers are little-endian: counts and lengths of names
//! `u32`, array lengths and levels `u64`. A name is its length and its UTF-8 bytes.
//!
//! | byte | node | parts |
//! |---|---|---|
//! | 0 | primitive | name |
//! | 1 | option | node |
//! | 2 | list | node |
//! | 3 | array | length, node |
//! | 4 | tuple | count, nodes |
//! | 5 | struct | name, fields: count, then name and node of each |
//! | 6 | enum | name, count, then name and fields of each variant |
//! | 7 | outer | levels |

use super::{Field, Schema, Variant};
use std::borrow::Cow;
use thiserror::Error;

/// Levels of nodes inside one another.
const DEPTH: usize = 256;
/// Bytes of a schema.
const SIZE: usize = 1 << 20;

/// Bytes are not a schema, or a schema cannot be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The bytes end inside the schema.
    #[error("the bytes end inside a schema")]
    Truncated,
    /// A byte that names a kind of type has no meaning.
    #[error("{0} names no kind of type in a schema")]
    Kind(u8),
    /// A name is not UTF-8.
    #[error("a name in a schema is not valid UTF-8")]
    Name,
    /// A reference to an enclosing type that is not there.
    #[error("a schema refers {0} types outwards, where fewer enclose it")]
    Outer(u64),
    /// Types are nested too deeply.
    #[error("types in a schema are nested deeper than 256 levels; give the record type a flatter shape")]
    Depth,
    /// The schema is too large.
    #[error("a schema takes more than 1 MiB; split the record type into several")]
    Size,
    /// Bytes remain after the schema.
    #[error("{0} bytes remain after the schema")]
    Trailing(usize),
}

impl Schema {
    /// The schema's bytes, stable over releases.
    ///
    /// # Errors
    /// [`SchemaError::Depth`] and [`SchemaError::Size`], so that what is stored can always be read back.
    pub fn encode(&self) -> Result<Vec<u8>, SchemaError> {
        let mut out = Vec::new();
        put_node(self, DEPTH, &mut out)?;
        Ok(out)
    }

    /// Reads untrusted bytes that hold exactly one schema.
    ///
    /// # Errors
    /// [`SchemaError`] says what is wrong. Takes memory in proportion to the bytes, and bounded stack.
    pub fn parse(bytes: &[u8]) -> Result<Self, SchemaError> {
        if bytes.len() > SIZE {
            return Err(SchemaError::Size);
        }
        let mut reader = Reader { bytes };
        let schema = reader.node(DEPTH, 0)?;
        if reader.bytes.is_empty() { Ok(schema) } else { Err(SchemaError::Trailing(reader.bytes.len())) }
    }
}

fn put_node(schema: &Schema, depth: usize, out: &mut Vec<u8>) -> Result<(), SchemaError> {
    let inner = depth.checked_sub(1).ok_or(SchemaError::Depth)?;
    match schema {
        Schema::Primitive(name) => {
            out.push(0);
            put_name(name, out);
        }
        Schema::Option(of) => {
            out.push(1);
            put_node(of, inner, out)?;
        }
        Schema::List(of) => {
            out.push(2);
            put_node(of, inner, out)?;
        }
        Schema::Array(of, length) => {
            out.push(3);
            out.extend(length.to_le_bytes());
            put_node(of, inner, out)?;
        }
        Schema::Tuple(parts) => {
            out.push(4);
            put_count(parts.len(), out);
            parts.iter().try_for_each(|part| put_node(part, inner, out))?;
        }
        Schema::Struct { name, fields } => {
            out.push(5);
            put_name(name, out);
            put_fields(fields, inner, out)?;
        }
        Schema::Enum { name, variants } => {
            out.push(6);
            put_name(name, out);
            put_count(variants.len(), out);
            for Variant { name, fields } in variants {
                put_name(name, out);
                put_fields(fields, inner, out)?;
            }
        }
        Schema::Outer(levels) => {
            out.push(7);
            out.extend(levels.to_le_bytes());
        }
    }
    if out.len() > SIZE { Err(SchemaError::Size) } else { Ok(()) }
}

fn put_fields(fields: &[Field], depth: usize, out: &mut Vec<u8>) -> Result<(), SchemaError> {
    put_count(fields.len(), out);
    fields.iter().try_for_each(|field| {
        put_name(&field.name, out);
        put_node(&field.schema, depth, out)
    })
}

fn put_name(name: &str, out: &mut Vec<u8>) {
    put_count(name.len(), out);
    out.extend(name.as_bytes());
}

/// A count or length. One that does not fit is that of a schema beyond [`SIZE`], which the caller then refuses.
fn put_count(count: usize, out: &mut Vec<u8>) {
    out.extend(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    /// A node below which so many more levels may follow, and which stands inside so many structs and enums.
    fn node(&mut self, depth: usize, enclosing: u64) -> Result<Schema, SchemaError> {
        let inner = depth.checked_sub(1).ok_or(SchemaError::Depth)?;
        Ok(match self.array::<1>()?[0] {
            0 => Schema::Primitive(self.name()?),
            1 => Schema::Option(Box::new(self.node(inner, enclosing)?)),
            2 => Schema::List(Box::new(self.node(inner, enclosing)?)),
            3 => {
                let length = u64::from_le_bytes(self.array()?);
                Schema::Array(Box::new(self.node(inner, enclosing)?), length)
            }
            4 => Schema::Tuple(self.several(|reader| reader.node(inner, enclosing))?),
            5 => Schema::Struct { name: self.name()?, fields: self.fields(inner, enclosing + 1)? },
            6 => Schema::Enum {
                name: self.name()?,
                variants: self.several(|reader| {
                    Ok(Variant { name: reader.name()?, fields: reader.fields(inner, enclosing + 1)? })
                })?,
            },
            7 => match u64::from_le_bytes(self.array()?) {
                levels if levels < enclosing => Schema::Outer(levels),
                levels => return Err(SchemaError::Outer(levels)),
            },
            kind => return Err(SchemaError::Kind(kind)),
        })
    }

    fn fields(&mut self, depth: usize, enclosing: u64) -> Result<Vec<Field>, SchemaError> {
        self.several(|reader| Ok(Field { name: reader.name()?, schema: reader.node(depth, enclosing)? }))
    }

    /// A count and so many items. Each item takes bytes, so the memory is bounded by the bytes, not by the count.
    fn several<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, SchemaError>,
    ) -> Result<Vec<T>, SchemaError> {
        let count = u32::from_le_bytes(self.array()?);
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn name(&mut self) -> Result<Cow<'static, str>, SchemaError> {
        let length = u32::from_le_bytes(self.array()?) as usize;
        let (name, rest) = self.bytes.split_at_checked(length).ok_or(SchemaError::Truncated)?;
        self.bytes = rest;
        let name = std::str::from_utf8(name).map_err(|_| SchemaError::Name)?;
        Ok(Cow::Owned(name.to_owned()))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], SchemaError> {
        let (array, rest) = self.bytes.split_first_chunk::<N>().ok_or(SchemaError::Truncated)?;
        self.bytes = rest;
        Ok(*array)
    }
}

//! How the bytes of a record are read where its type is known by its [`Schema`] alone: by whoever looks into a snapshot
//! without the program that wrote it.
//!
//! A schema is compiled once: what a struct refers to outwards becomes a number, and what takes the same bytes whatever is in it is
//! known to. The encoding is that of the types of [`trusted`](super::trusted), which the tests compare it with.

mod check;
mod compile;
mod json;
#[cfg(test)]
mod tests;

use super::Schema;
use super::hash::{hash_bytes, hash_word};
use thiserror::Error;

/// A type that is known by its schema: its rows can be told apart, checked, hashed as keys, and shown.
///
/// ```
/// use millstream_io::record::{Key, Record, Shape};
///
/// let shape = Shape::new(&<(u64, String)>::schema())?;
/// let mut bytes = <(u64, String)>::encode((7, "seven"));
/// let used = bytes.len();
/// bytes.extend(b"something behind it");
/// assert_eq!(shape.check(&bytes), Ok(used));
/// let mut text = String::new();
/// shape.show(&bytes, &mut text)?;
/// assert_eq!(text, r#"[7,"seven"]"#);
/// assert_eq!(shape.hash(&bytes[..used]), <(u64, String)>::hash((7, "seven")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Shape {
    nodes: Vec<Node>,
    root: usize,
}

/// Why rows of a type cannot be read without the program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A type of a name that means nothing here.
    #[error("the type {0:?} is not known here")]
    Unknown(String),
    /// A type that stands inside of itself with no list in between, or more alternatives or empty items than can be.
    #[error("no record can be of this type: {0}")]
    Impossible(&'static str),
}

/// A type, and what it consists of, by number.
#[derive(Clone, Debug)]
struct Node {
    what: What,
    /// Bytes that each of its values takes, where all take as many.
    fixed: Option<usize>,
    /// Whether any bytes are a value, so that as many as it takes need no look.
    any: bool,
}

#[derive(Clone, Debug)]
enum What {
    /// Of so many bytes.
    Unsigned,
    Signed,
    Float,
    Bool,
    Char,
    Text,
    Bytes,
    Option(usize),
    List(usize),
    Array(usize, usize),
    /// A tuple, or a struct whose fields have no names.
    Tuple(Vec<usize>),
    Struct(Vec<(String, usize)>),
    /// The name of each alternative, and its fields, which are a tuple or a struct.
    Enum(Vec<(String, usize)>),
}

impl Shape {
    /// The shape of a type.
    ///
    /// # Errors
    /// Nothing is known of a type in it, or no record can be of it.
    pub fn new(schema: &Schema) -> Result<Self, ShapeError> {
        compile::shape(schema)
    }

    /// Bytes that each value takes, where all take as many.
    pub fn fixed(&self) -> Option<usize> {
        self.nodes[self.root].fixed
    }

    /// Whether keys of this type are words: of one to eight bytes, all as many.
    pub fn is_word(&self) -> bool {
        matches!(self.fixed(), Some(1..=8))
    }

    /// The hash of a key, as [`Key::hash`](super::Key::hash) has it. The bytes are its whole row, and were
    /// [checked](Self::check).
    pub fn hash(&self, row: &[u8]) -> u64 {
        if self.is_word() {
            let mut word = [0; 8];
            word[..row.len().min(8)].copy_from_slice(&row[..row.len().min(8)]);
            return hash_word(u64::from_le_bytes(word));
        }
        match self.nodes[self.root].what {
            What::Text | What::Bytes => hash_bytes(row.get(4..).unwrap_or_default()),
            _ => hash_bytes(row),
        }
    }
}

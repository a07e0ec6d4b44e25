//! What a record type looks like, as data: stored with snapshots, so that a later program can tell what it reads.

/// The shape of a record type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Schema {
    /// A built-in type without parts: `u64`, `bool`, `string`, `bytes`, …
    Primitive(&'static str),
    /// A value or nothing.
    Option(Box<Schema>),
    /// Any number of values.
    List(Box<Schema>),
    /// A fixed number of values.
    Array(Box<Schema>, usize),
    /// Unnamed parts in order.
    Tuple(Vec<Schema>),
    /// Named parts in order.
    Struct {
        /// The type's name.
        name: &'static str,
        /// Its fields.
        fields: Vec<Field>,
    },
    /// One of several alternatives.
    Enum {
        /// The type's name.
        name: &'static str,
        /// Its alternatives, in tag order.
        variants: Vec<Variant>,
    },
}

/// A named part of a struct or of an enum's variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The field's name (`0`, `1`, … when it has none).
    pub name: &'static str,
    /// Its type.
    pub schema: Schema,
}

/// One alternative of an enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The variant's name.
    pub name: &'static str,
    /// Its fields.
    pub fields: Vec<Field>,
}

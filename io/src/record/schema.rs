//! What a record type looks like, as data: stored with snapshots, so that a later program can tell what it reads.

mod display;
mod encoding;
#[cfg(test)]
mod tests;

pub use encoding::SchemaError;

use std::any::TypeId;
use std::borrow::Cow;

/// The shape of a record type.
///
/// Two types with equal schemas have the same encoding. Shown as text it reads like a type:
///
/// ```
/// use millstream_io::record::Record;
/// assert_eq!(<(u64, Option<String>, Vec<u8>, [bool; 2])>::schema().to_string(), "(u64, option<string>, bytes, [bool; 2])");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Schema {
    /// A built-in type without parts: `u64`, `bool`, `char`, `string`, …
    Primitive(Cow<'static, str>),
    /// A value or nothing.
    Option(Box<Schema>),
    /// Any number of values. A list of `u8` is what a byte string is.
    List(Box<Schema>),
    /// A fixed number of values.
    Array(Box<Schema>, u64),
    /// Unnamed parts in order.
    Tuple(Vec<Schema>),
    /// Named parts in order.
    Struct {
        /// The type's name.
        name: Cow<'static, str>,
        /// Its fields.
        fields: Vec<Field>,
    },
    /// One of several alternatives.
    Enum {
        /// The type's name.
        name: Cow<'static, str>,
        /// Its alternatives, in tag order.
        variants: Vec<Variant>,
    },
    /// In a recursive type: the struct or enum so many levels further out (0 is the one that this stands in).
    Outer(u64),
}

/// A named part of a struct or of an enum's variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The field's name (`0`, `1`, … when it has none).
    pub name: Cow<'static, str>,
    /// Its type.
    pub schema: Schema,
}

/// One alternative of an enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The variant's name.
    pub name: Cow<'static, str>,
    /// Its fields.
    pub fields: Vec<Field>,
}

impl Field {
    /// A field of type `T`.
    pub fn of<T: super::Record>(name: &'static str, outer: &mut Outer) -> Self {
        Self { name: Cow::Borrowed(name), schema: T::describe(outer) }
    }
}

/// The structs and enums that a type is described inside of: how a recursive type's description comes to an end.
#[derive(Debug, Default)]
pub struct Outer(Vec<TypeId>);

impl Outer {
    /// Describes the struct `T`; `fields` describes its fields. Inside of itself it is a [`Schema::Outer`].
    pub fn record<T: 'static>(
        &mut self,
        name: &'static str,
        fields: impl FnOnce(&mut Self) -> Vec<Field>,
    ) -> Schema {
        self.inside::<T>(|outer| Schema::Struct { name: Cow::Borrowed(name), fields: fields(outer) })
    }

    /// Describes the enum `T`; `variants` describes its variants. Inside of itself it is a [`Schema::Outer`].
    pub fn choice<T: 'static>(
        &mut self,
        name: &'static str,
        variants: impl FnOnce(&mut Self) -> Vec<Variant>,
    ) -> Schema {
        self.inside::<T>(|outer| Schema::Enum { name: Cow::Borrowed(name), variants: variants(outer) })
    }

    fn inside<T: 'static>(&mut self, describe: impl FnOnce(&mut Self) -> Schema) -> Schema {
        let id = TypeId::of::<T>();
        if let Some(levels) = self.0.iter().rev().position(|outer| *outer == id) {
            return Schema::Outer(levels as u64);
        }
        self.0.push(id);
        let schema = describe(self);
        self.0.pop();
        schema
    }
}

//! A schema as text: `{user: u64, url: string}`.

use super::{Field, Schema, Variant};
use std::fmt::{self, Display, Formatter};

impl Display for Schema {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Text { schema: self, outer: None }.fmt(f)
    }
}

/// A schema, and what it stands inside of.
struct Text<'a> {
    schema: &'a Schema,
    outer: Option<&'a Outer<'a>>,
}

/// An enclosing struct or enum, and what encloses that.
struct Outer<'a> {
    name: &'a str,
    outer: Option<&'a Outer<'a>>,
}

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let inner = |schema| Text { schema, outer: self.outer };
        match self.schema {
            Schema::Primitive(name) => f.write_str(name),
            Schema::Option(of) => write!(f, "option<{}>", inner(of)),
            Schema::List(of) if matches!(&**of, Schema::Primitive(name) if name == "u8") => {
                f.write_str("bytes")
            }
            Schema::List(of) => write!(f, "[{}]", inner(of)),
            Schema::Array(of, length) => write!(f, "[{}; {length}]", inner(of)),
            Schema::Tuple(parts) => separated(f, "(", parts, ")", |f, part| inner(part).fmt(f)),
            Schema::Struct { name, fields } => {
                self.name_where_referred_to(f, name, fields.iter().any(|field| refers(&field.schema, 0)))?;
                parts(f, fields, &Outer { name, outer: self.outer }, "{}")
            }
            Schema::Enum { name, variants } => {
                let mut fields = variants.iter().flat_map(|variant| &variant.fields);
                self.name_where_referred_to(f, name, fields.any(|field| refers(&field.schema, 0)))?;
                let outer = Outer { name, outer: self.outer };
                separated(f, "<", variants, ">", |f, Variant { name, fields }| {
                    f.write_str(name)?;
                    parts(f, fields, &outer, "")
                })
            }
            Schema::Outer(levels) => {
                let named = (0..*levels).try_fold(self.outer, |outer, _| outer.map(|outer| outer.outer));
                f.write_str(named.flatten().map_or("?", |outer| outer.name))
            }
        }
    }
}

impl Text<'_> {
    fn name_where_referred_to(&self, f: &mut Formatter<'_>, name: &str, referred: bool) -> fmt::Result {
        if referred { write!(f, "{name} ") } else { Ok(()) }
    }
}

/// Whether something inside `schema` refers to the struct or enum `levels` around it.
fn refers(schema: &Schema, levels: u64) -> bool {
    match schema {
        Schema::Primitive(_) => false,
        Schema::Option(of) | Schema::List(of) | Schema::Array(of, _) => refers(of, levels),
        Schema::Tuple(parts) => parts.iter().any(|part| refers(part, levels)),
        Schema::Struct { fields, .. } => fields.iter().any(|field| refers(&field.schema, levels + 1)),
        Schema::Enum { variants, .. } => {
            variants.iter().flat_map(|variant| &variant.fields).any(|field| refers(&field.schema, levels + 1))
        }
        Schema::Outer(to) => *to == levels,
    }
}

/// Fields in braces, or in parentheses when they have no names, or `none` when there are none.
fn parts(f: &mut Formatter<'_>, fields: &[Field], outer: &Outer<'_>, none: &str) -> fmt::Result {
    let outer = Some(outer);
    match fields.first() {
        None => f.write_str(none),
        Some(first) if first.name == "0" => {
            separated(f, "(", fields, ")", |f, field| Text { schema: &field.schema, outer }.fmt(f))
        }
        Some(_) => separated(f, "{", fields, "}", |f, Field { name, schema }| {
            write!(f, "{name}: {}", Text { schema, outer })
        }),
    }
}

fn separated<'t, T>(
    f: &mut Formatter<'_>,
    open: &str,
    items: &'t [T],
    close: &str,
    mut item: impl FnMut(&mut Formatter<'_>, &'t T) -> fmt::Result,
) -> fmt::Result {
    f.write_str(open)?;
    for (index, each) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        item(f, each)?;
    }
    f.write_str(close)
}

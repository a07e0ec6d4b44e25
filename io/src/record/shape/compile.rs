//! From a schema to a shape.

use super::{Node, Shape, ShapeError, What};
use crate::record::schema::{Field, Schema};

/// The most alternatives: a tag is one byte.
const ALTERNATIVES: usize = 256;

/// The most values without bytes that one value may consist of: nothing in a file says how many there are.
const EMPTY: u64 = 1 << 12;

type Result<T> = std::result::Result<T, ShapeError>;

pub(super) fn shape(schema: &Schema) -> Result<Shape> {
    let mut compiler = Compiler { nodes: Vec::new(), enclosing: Vec::new(), lists: 0 };
    let root = compiler.node(schema)?;
    Ok(Shape { nodes: compiler.nodes, root })
}

struct Compiler {
    nodes: Vec<Node>,
    /// Structs and enums around, the outermost first, and how many lists are around each.
    enclosing: Vec<(usize, usize)>,
    lists: usize,
}

fn scalar(what: What, size: usize) -> Node {
    let any = !matches!(what, What::Bool | What::Char);
    Node { what, fixed: Some(size), any }
}

fn open(what: What) -> Node {
    Node { what, fixed: None, any: false }
}

impl Compiler {
    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn node(&mut self, schema: &Schema) -> Result<usize> {
        let node = match schema {
            Schema::Primitive(name) => primitive(name)?,
            Schema::Option(of) => {
                let of = self.node(of)?;
                let fixed = self.nodes[of].fixed.filter(|size| *size == 0).map(|_| 1);
                Node { what: What::Option(of), fixed, any: false }
            }
            Schema::List(of) if matches!(&**of, Schema::Primitive(name) if name == "u8") => open(What::Bytes),
            Schema::List(of) => {
                self.lists += 1;
                let of = self.node(of)?;
                self.lists -= 1;
                open(What::List(of))
            }
            Schema::Array(of, length) => self.array(of, *length)?,
            Schema::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.node(part)).collect::<Result<Vec<_>>>()?;
                self.product(What::Tuple(parts.clone()), &parts)
            }
            Schema::Struct { fields, .. } => {
                return self.inside(|compiler| compiler.fields(fields));
            }
            Schema::Enum { variants, .. } => {
                return self.inside(|compiler| {
                    if variants.len() > ALTERNATIVES {
                        return Err(ShapeError::Impossible("it has more than 256 alternatives"));
                    }
                    let mut cases = Vec::with_capacity(variants.len());
                    for variant in variants {
                        let fields = compiler.fields(&variant.fields)?;
                        cases.push((variant.name.to_string(), compiler.add(fields)));
                    }
                    let mut sizes = cases.iter().map(|(_, fields)| compiler.nodes[*fields].fixed);
                    let first = sizes.next().flatten();
                    let fixed = first.filter(|_| sizes.all(|size| size == first)).map(|size| size + 1);
                    Ok(Node { what: What::Enum(cases), fixed, any: false })
                });
            }
            Schema::Outer(levels) => return self.outer(*levels),
        };
        Ok(self.add(node))
    }

    /// A struct or enum, which what is in it may refer to.
    fn inside(&mut self, make: impl FnOnce(&mut Self) -> Result<Node>) -> Result<usize> {
        let index = self.add(open(What::Tuple(Vec::new())));
        self.enclosing.push((index, self.lists));
        let node = make(self)?;
        self.enclosing.pop();
        self.nodes[index] = node;
        Ok(index)
    }

    fn outer(&self, levels: u64) -> Result<usize> {
        let place = usize::try_from(levels).ok().and_then(|levels| self.enclosing.iter().rev().nth(levels));
        match place {
            // Behind a list there may be nothing, so that it comes to an end.
            Some((index, lists)) if *lists < self.lists => Ok(*index),
            Some(_) => Err(ShapeError::Impossible("it stands inside of itself with no list in between")),
            None => Err(ShapeError::Impossible("it refers to a type that is not around it")),
        }
    }

    fn fields(&mut self, fields: &[Field]) -> Result<Node> {
        let unnamed = fields.iter().enumerate().all(|(n, field)| field.name == n.to_string());
        let mut named = Vec::with_capacity(fields.len());
        for field in fields {
            named.push((field.name.to_string(), self.node(&field.schema)?));
        }
        let parts: Vec<_> = named.iter().map(|(_, part)| *part).collect();
        let what = if unnamed { What::Tuple(parts.clone()) } else { What::Struct(named) };
        Ok(self.product(what, &parts))
    }

    fn product(&self, what: What, parts: &[usize]) -> Node {
        let sizes = parts.iter().map(|part| self.nodes[*part].fixed);
        let fixed = sizes.sum::<Option<usize>>();
        let any = fixed.is_some() && parts.iter().all(|part| self.nodes[*part].any);
        Node { what, fixed, any }
    }

    fn array(&mut self, of: &Schema, length: u64) -> Result<Node> {
        const LONG: ShapeError = ShapeError::Impossible("an array in it is longer than can be");
        let of = self.node(of)?;
        let Node { fixed, any, .. } = self.nodes[of];
        if fixed == Some(0) && self.values(of).saturating_mul(length) > EMPTY {
            return Err(LONG);
        }
        let length = usize::try_from(length).map_err(|_| LONG)?;
        let fixed = match fixed {
            _ if length == 0 => Some(0),
            Some(size) => Some(size.checked_mul(length).ok_or(LONG)?),
            None => None,
        };
        Ok(Node { what: What::Array(of, length), fixed, any: any && fixed.is_some() })
    }

    /// Of how many values one without bytes consists.
    fn values(&self, of: usize) -> u64 {
        match &self.nodes[of].what {
            What::Array(of, length) => self.values(*of).saturating_mul(*length as u64),
            What::Tuple(parts) => parts.iter().map(|part| self.values(*part)).fold(1, u64::saturating_add),
            What::Struct(fields) => {
                fields.iter().map(|(_, part)| self.values(*part)).fold(1, u64::saturating_add)
            }
            _ => 1,
        }
    }
}

fn primitive(name: &str) -> Result<Node> {
    Ok(match name {
        "u8" => scalar(What::Unsigned, 1),
        "u16" => scalar(What::Unsigned, 2),
        "u32" => scalar(What::Unsigned, 4),
        "u64" => scalar(What::Unsigned, 8),
        "u128" => scalar(What::Unsigned, 16),
        "i8" => scalar(What::Signed, 1),
        "i16" => scalar(What::Signed, 2),
        "i32" => scalar(What::Signed, 4),
        "i64" => scalar(What::Signed, 8),
        "i128" => scalar(What::Signed, 16),
        "f32" => scalar(What::Float, 4),
        "f64" => scalar(What::Float, 8),
        "bool" => scalar(What::Bool, 1),
        "char" => scalar(What::Char, 4),
        "()" => scalar(What::Tuple(Vec::new()), 0),
        "string" => open(What::Text),
        other => return Err(ShapeError::Unknown(other.to_owned())),
    })
}

//! The attributes `#[record(..)]`.

use syn::{Attribute, Ident, LitStr, Path, parse_quote};

/// What `#[record(..)]` says about a type.
pub struct Options {
    /// The module of the trait.
    pub module: Path,
    /// The name of the view, when it is not the default one.
    pub view: Option<Ident>,
}

impl Options {
    /// Reads the attributes of a type.
    pub fn read(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut module = None;
        let mut view = None;
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("record")) {
            attribute.parse_nested_meta(|meta| {
                let set_twice = || meta.error("this is set twice");
                if meta.path.is_ident("crate") {
                    let path: Path = meta.value()?.parse::<LitStr>()?.parse()?;
                    if module.replace(path).is_some() { Err(set_twice()) } else { Ok(()) }
                } else if meta.path.is_ident("view") {
                    let name: Ident = meta.value()?.parse::<LitStr>()?.parse()?;
                    if view.replace(name).is_some() { Err(set_twice()) } else { Ok(()) }
                } else {
                    Err(meta.error("unknown; `record` takes `view = \"Name\"` and `crate = \"path\"`"))
                }
            })?;
        }
        Ok(Self { module: module.unwrap_or_else(|| parse_quote!(::millstream::record)), view })
    }
}

/// Refuses `#[record(..)]` where it has no meaning.
pub fn refuse(attributes: &[Attribute], place: &str) -> syn::Result<()> {
    match attributes.iter().find(|attribute| attribute.path().is_ident("record")) {
        Some(attribute) => Err(syn::Error::new_spanned(
            attribute,
            format!("`record` says nothing about a {place}; put it on the type"),
        )),
        None => Ok(()),
    }
}

/// The attributes that the view takes over: documentation and silenced lints.
pub fn kept(attributes: &[Attribute]) -> Vec<Attribute> {
    let keep =
        |attribute: &&Attribute| attribute.path().is_ident("doc") || attribute.path().is_ident("allow");
    attributes.iter().filter(keep).cloned().collect()
}

/// Whether there is a doc comment.
pub fn documented(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("doc"))
}

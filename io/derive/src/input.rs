//! The item that a record is derived for, in the form in which the rest of the crate needs it.

use crate::attributes::{self, Options};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Fields, GenericParam, Generics, Ident, Lifetime, Member, Path, Type,
    Visibility, parse_quote,
};

/// Variants that one tag byte can tell apart.
const MOST_VARIANTS: usize = 256;

/// A struct or enum whose parts are to be records.
pub struct Input {
    /// The module of the trait.
    pub module: Path,
    /// The type.
    pub name: Ident,
    /// The view.
    pub view: Ident,
    /// The type's visibility.
    pub visibility: Visibility,
    /// The type's documentation and silenced lints.
    pub attributes: Vec<Attribute>,
    /// The type's parameters, each type bounded by `Record`, without defaults.
    pub generics: Generics,
    /// The view's parameters: those of the type, and a lifetime where there are fields.
    pub view_generics: Generics,
    /// Whether the type is a struct or an enum.
    pub kind: Kind,
    /// The only shape of a struct, or the variants of an enum.
    pub shapes: Vec<Shape>,
}

/// What an item is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Struct,
    Enum,
}

/// A struct, or a variant of an enum.
pub struct Shape {
    /// The variant's name, none for a struct.
    pub variant: Option<Ident>,
    pub attributes: Vec<Attribute>,
    pub style: Style,
    pub fields: Vec<Part>,
}

/// How fields are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Named,
    Tuple,
    Unit,
}

/// A field.
pub struct Part {
    pub member: Member,
    /// The local variable that holds it in generated code.
    pub local: Ident,
    pub visibility: Visibility,
    pub attributes: Vec<Attribute>,
    pub ty: Type,
}

impl Input {
    /// Reads an item.
    ///
    /// # Errors
    /// When no record can be derived for it.
    pub fn read(item: &DeriveInput) -> syn::Result<Self> {
        let Options { module, view } = Options::read(&item.attrs)?;
        let (kind, shapes) = match &item.data {
            Data::Struct(data) => (Kind::Struct, vec![Shape::read(None, &[], &data.fields)?]),
            Data::Enum(data) => {
                let count = data.variants.len();
                if count == 0 {
                    return Err(Error::new_spanned(
                        &item.ident,
                        "an enum without variants has no value to record",
                    ));
                }
                if let Some(beyond) = data.variants.iter().nth(MOST_VARIANTS) {
                    let message = format!(
                        "the tag of a variant is one byte: {count} variants, {MOST_VARIANTS} allowed"
                    );
                    return Err(Error::new_spanned(&beyond.ident, message));
                }
                let shapes = data.variants.iter().map(|variant| {
                    attributes::refuse(&variant.attrs, "variant")?;
                    Shape::read(Some(variant.ident.clone()), &variant.attrs, &variant.fields)
                });
                (Kind::Enum, shapes.collect::<syn::Result<_>>()?)
            }
            Data::Union(data) => {
                let message =
                    "a union cannot be a record: nothing says which of its fields holds; use an enum";
                return Err(Error::new(data.union_token.span(), message));
            }
        };
        let generics = bounded(&item.generics, &module)?;
        let view_generics = with_lifetime(&generics, &shapes);
        Ok(Self {
            module,
            view: view.unwrap_or_else(|| format_ident!("{}Ref", item.ident.unraw())),
            name: item.ident.clone(),
            visibility: item.vis.clone(),
            attributes: item.attrs.clone(),
            generics,
            view_generics,
            kind,
            shapes,
        })
    }
}

impl Input {
    /// The view's arguments with another lifetime, none where the view has no lifetime.
    pub fn view_arguments(&self, lifetime: &str) -> Option<TokenStream> {
        let lifetime = Lifetime::new(&format!("'{lifetime}"), Span::call_site());
        let arguments = self.view_generics.params.iter().map(|parameter| match parameter {
            GenericParam::Lifetime(_) => quote!(#lifetime),
            GenericParam::Type(ty) => ty.ident.to_token_stream(),
            GenericParam::Const(value) => value.ident.to_token_stream(),
        });
        self.view_generics.lifetimes().next().map(|_| quote!(<#(#arguments),*>))
    }
}

impl Shape {
    fn read(variant: Option<Ident>, attributes: &[Attribute], fields: &Fields) -> syn::Result<Self> {
        let style = match fields {
            Fields::Named(_) => Style::Named,
            Fields::Unnamed(_) => Style::Tuple,
            Fields::Unit => Style::Unit,
        };
        let parts = fields.iter().zip(fields.members()).enumerate().map(|(index, (field, member))| {
            attributes::refuse(&field.attrs, "field")?;
            Ok(Part {
                member,
                local: Ident::new(&format!("__part_{index}"), Span::mixed_site()),
                visibility: field.vis.clone(),
                attributes: field.attrs.clone(),
                ty: field.ty.clone(),
            })
        });
        Ok(Self {
            variant,
            attributes: attributes.to_vec(),
            style,
            fields: parts.collect::<syn::Result<_>>()?,
        })
    }
}

/// The item's parameters with the bound that a derived record needs.
fn bounded(generics: &Generics, module: &Path) -> syn::Result<Generics> {
    let mut generics = generics.clone();
    for parameter in &mut generics.params {
        match parameter {
            GenericParam::Lifetime(lifetime) => {
                let message = "a record owns what it holds: lifetime parameters are not possible; use `String`, `Vec<u8>` \
                               and the like, which are seen through borrowing views anyway";
                return Err(Error::new_spanned(lifetime, message));
            }
            GenericParam::Type(parameter) => {
                parameter.bounds.push(parse_quote!(#module::Record));
                parameter.default = None;
            }
            GenericParam::Const(parameter) => {
                parameter.default = None;
            }
        }
    }
    Ok(generics)
}

/// The view's parameters.
fn with_lifetime(generics: &Generics, shapes: &[Shape]) -> Generics {
    let mut generics = generics.clone();
    if shapes.iter().any(|shape| !shape.fields.is_empty()) {
        generics.params.insert(0, parse_quote!('a));
    }
    generics
}

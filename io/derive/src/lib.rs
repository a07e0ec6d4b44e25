//! The derive macro of `Record`.
//!
//! It expands to safe code only: a view type, and conversions between the type, its view and a composition of the
//! built-in encodings. What is generated is written down at [`Record`](macro@Record).

mod attributes;
mod description;
mod input;
mod part;
mod record;
mod tree;
mod view;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `Record` for a struct or an enum whose parts are records.
///
/// For a type `Bid` this also makes its view, `BidRef<'a>`: a type of the same shape and visibility, whose fields are
/// the views of `Bid`'s fields. It is `Copy`, `Debug` and `PartialEq`. (The view of a type without any field has no
/// lifetime.) The compiler shortens the life of a view by itself where the fields are numbers, texts, byte strings, and
/// options, tuples, arrays and lists of such, one of them borrowed; for other views there is `shorten`. `String`, `Vec`
/// and `Option` are known by these names: a type of yours that is called so has to be named by a path, as
/// `crate::String`. Type parameters are bounded by `Record`; a type may contain itself inside a `Vec`.
///
/// The encoding is that of the fields one behind the other, in the order of declaration; in front of an enum's fields
/// stands one byte with the number of the variant, counted from 0 in the order of declaration (discriminants do not
/// matter). So a struct with one field is encoded like that field.
///
/// Attributes of the type:
/// - `#[record(view = "Name")]` names the view;
/// - `#[record(crate = "path")]` says where the trait's module is, when that is not `::millstream::record`.
///
/// Every field's type must be at least as visible as the type, because the encoding of the type names it.
///
/// Unions, types with lifetime parameters, enums without variants and enums of more than 256 variants are refused.
#[proc_macro_derive(Record, attributes(record))]
pub fn derive_record(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    expand(&item).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// The generated code, or what is wrong with the item.
fn expand(item: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    let input = input::Input::read(item)?;
    let view = view::define(&input);
    let record = record::implement(&input);
    Ok(quote::quote! { #view #record })
}

#[cfg(test)]
mod tests;

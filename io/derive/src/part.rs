//! The types of a view's fields.
//!
//! `<T as Record>::Ref<'a>` is right for every `T`, but the compiler does not look through it when it asks whether a
//! view may stand in for one of a shorter life, and then refuses programs that are fine. So the views of the common types
//! are written out. A macro knows types by name only: what hides `String`, `Vec` or `Option` behind a type of its own has
//! to name that type by a path, as `crate::String`.

use crate::input::Input;
use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::{GenericArgument, GenericParam, Ident, PathArguments, Type};

const NUMBERS: [&str; 14] =
    ["u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128", "f32", "f64", "bool", "char"];

/// The views of all fields of the item, shape by shape.
pub fn views(input: &Input) -> Vec<Vec<TokenStream>> {
    let general = |ty: &Type| {
        let module = &input.module;
        quote!(<#ty as #module::Record>::Ref<'a>)
    };
    let written = |ty: &Type| written_out(input, ty).unwrap_or_else(|| general(ty));
    let types = input.shapes.iter().map(|shape| shape.fields.iter().map(|part| &part.ty));
    let mut views: Vec<Vec<_>> = types.clone().map(|types| types.map(written).collect()).collect();
    if !views.iter().flatten().any(borrows) {
        // A lifetime that stands in no field is an error, and a view has one as soon as there are fields.
        let first = types.flatten().map(general).next();
        if let (Some(view), Some(first)) = (views.iter_mut().flatten().next(), first) {
            *view = first;
        }
    }
    views
}

/// Whether a lifetime stands in a view's type.
fn borrows(view: &TokenStream) -> bool {
    view.clone().into_iter().any(|token| match token {
        TokenTree::Group(group) => borrows(&group.stream()),
        TokenTree::Punct(punct) => punct.as_char() == '\'',
        TokenTree::Ident(_) | TokenTree::Literal(_) => false,
    })
}

/// The view of a type that is known by its name, or made of such types.
fn written_out(input: &Input, ty: &Type) -> Option<TokenStream> {
    match ty {
        Type::Group(group) => written_out(input, &group.elem),
        Type::Paren(paren) => written_out(input, &paren.elem),
        Type::Tuple(tuple) => {
            let parts =
                tuple.elems.iter().map(|part| written_out(input, part)).collect::<Option<Vec<_>>>()?;
            Some(quote!((#(#parts,)*)))
        }
        Type::Array(array) => {
            let (item, len) = (written_out(input, &array.elem)?, &array.len);
            Some(quote!([#item; #len]))
        }
        _ => {
            let (name, argument) = named(input, ty)?;
            match (name.to_string().as_str(), argument) {
                ("String", None) => Some(quote!(&'a ::core::primitive::str)),
                ("Vec", Some(item)) => list(input, item),
                ("Option", Some(value)) => {
                    let value = written_out(input, value)?;
                    Some(quote!(::core::option::Option<#value>))
                }
                (number, None) if NUMBERS.contains(&number) => Some(quote!(::core::primitive::#name)),
                _ => None,
            }
        }
    }
}

fn list(input: &Input, item: &Type) -> Option<TokenStream> {
    let module = &input.module;
    written_out(input, item)?;
    match named(input, item) {
        Some((name, _)) if name == "u8" => Some(quote!(&'a [::core::primitive::u8])),
        _ => Some(quote!(#module::ListRef<'a, #item>)),
    }
}

/// A type of one name and at most one type argument that is no parameter of the item.
fn named<'a>(input: &Input, ty: &'a Type) -> Option<(&'a Ident, Option<&'a Type>)> {
    let ty = match ty {
        Type::Group(group) => return named(input, &group.elem),
        Type::Paren(paren) => return named(input, &paren.elem),
        Type::Path(path) if path.qself.is_none() && path.path.leading_colon.is_none() => &path.path,
        _ => return None,
    };
    let segment = ty.segments.first().filter(|_| ty.segments.len() == 1)?;
    let is_parameter =
        |parameter: &GenericParam| matches!(parameter, GenericParam::Type(ty) if ty.ident == segment.ident);
    if input.generics.params.iter().any(is_parameter) {
        return None;
    }
    let argument = match &segment.arguments {
        PathArguments::None => None,
        PathArguments::AngleBracketed(list) if list.args.len() == 1 => match &list.args[0] {
            GenericArgument::Type(ty) => Some(ty),
            _ => return None,
        },
        _ => return None,
    };
    Some((&segment.ident, argument))
}

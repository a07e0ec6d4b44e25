//! The record's schema.

use crate::input::{Input, Kind, Shape};
use crate::view::member_name;
use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;

/// The body of `Record::describe`.
pub fn describe(input: &Input) -> TokenStream {
    let module = &input.module;
    let name = input.name.unraw().to_string();
    match input.kind {
        Kind::Struct => {
            let fields = fields(input, &input.shapes[0]);
            quote!(outer.record::<Self>(#name, |outer| #fields))
        }
        Kind::Enum => {
            let variants = input.shapes.iter().map(|shape| {
                let name = shape.variant.as_ref().map(|variant| variant.unraw().to_string());
                let fields = fields(input, shape);
                quote!(#module::Variant { name: ::std::convert::From::from(#name), fields: #fields })
            });
            quote!(outer.choice::<Self>(#name, |outer| ::std::vec![#(#variants),*]))
        }
    }
}

fn fields(input: &Input, shape: &Shape) -> TokenStream {
    let module = &input.module;
    let fields = shape.fields.iter().map(|part| {
        let (name, ty) = (member_name(&part.member), &part.ty);
        quote!(#module::Field::of::<#ty>(#name, outer))
    });
    quote!(::std::vec![#(#fields),*])
}

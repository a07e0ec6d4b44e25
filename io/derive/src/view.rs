//! The view type: same shape and visibility as the type, fields that are views.

use crate::attributes::{documented, kept};
use crate::input::{Input, Kind, Shape, Style};
use crate::part;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{Attribute, Member};

/// The definition of the view and its `Clone`, `Copy`, `Debug` and `PartialEq`.
pub fn define(input: &Input) -> TokenStream {
    let definition = definition(input);
    let Input { view, view_generics, .. } = input;
    let (parameters, arguments, conditions) = view_generics.split_for_impl();
    let formatted = input.shapes.iter().map(|shape| format_arm(input, shape));
    let equal = equal(input);
    let shorten = shorten(input);
    quote! {
        #definition
        #shorten

        #[automatically_derived]
        impl #parameters ::core::clone::Clone for #view #arguments #conditions {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        #[automatically_derived]
        impl #parameters ::core::marker::Copy for #view #arguments #conditions {}

        #[automatically_derived]
        impl #parameters ::core::fmt::Debug for #view #arguments #conditions {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self { #(#formatted)* }
            }
        }

        #[automatically_derived]
        impl #parameters ::core::cmp::PartialEq for #view #arguments #conditions {
            fn eq(&self, other: &Self) -> bool {
                #equal
            }
        }
    }
}

fn definition(input: &Input) -> TokenStream {
    let Input { name, view, visibility, attributes, view_generics, .. } = input;
    let conditions = &view_generics.where_clause;
    let summary = format!("The view of a [`{}`].", name.unraw());
    let kept = kept(attributes);
    let separator = documented(attributes).then(|| quote!(#[doc = ""]));
    let head = quote! {
        #[doc = #summary]
        #separator
        #(#kept)*
    };
    let views = part::views(input);
    match input.kind {
        Kind::Struct => {
            let shape = &input.shapes[0];
            let fields = fields(shape, &views[0], name.unraw().to_string());
            let (before, after) = match shape.style {
                Style::Named => (Some(conditions), quote!()),
                Style::Tuple | Style::Unit => (None, quote!(#conditions;)),
            };
            quote! { #head #visibility struct #view #view_generics #before #fields #after }
        }
        Kind::Enum => {
            let variants = input.shapes.iter().zip(&views).map(|(shape, views)| {
                let variant = shape.variant.as_ref();
                let owner = format!(
                    "{}::{}",
                    name.unraw(),
                    variant.map(IdentExt::unraw).expect("a variant has a name")
                );
                let documentation = documentation(&shape.attributes, || format!("The view of [`{owner}`]."));
                let fields = fields(shape, views, owner);
                quote! { #documentation #variant #fields }
            });
            quote! { #head #visibility enum #view #view_generics #conditions { #(#variants),* } }
        }
    }
}

/// The fields of the view, in braces or parentheses.
fn fields(shape: &Shape, views: &[TokenStream], owner: String) -> TokenStream {
    let fields = shape.fields.iter().zip(views).map(|(part, view)| {
        let name = member_name(&part.member);
        let documentation =
            documentation(&part.attributes, || format!("The view of `{name}` of [`{owner}`]."));
        let visibility = &part.visibility;
        let label = match &part.member {
            Member::Named(name) => Some(quote!(#name:)),
            Member::Unnamed(_) => None,
        };
        quote! { #documentation #visibility #label #view }
    });
    match shape.style {
        Style::Named => quote!({ #(#fields),* }),
        Style::Tuple => quote!(( #(#fields),* )),
        Style::Unit => quote!(),
    }
}

fn documentation(attributes: &[Attribute], default: impl FnOnce() -> String) -> TokenStream {
    let kept = kept(attributes);
    let default = (!documented(attributes)).then(|| {
        let text = default();
        quote!(#[doc = #text])
    });
    quote!(#default #(#kept)*)
}

/// The view's own `shorten`, where it has a lifetime.
fn shorten(input: &Input) -> Option<TokenStream> {
    let Input { module, name, view, visibility, generics, view_generics, .. } = input;
    let (parameters, arguments, conditions) = view_generics.split_for_impl();
    let (_, type_arguments, _) = generics.split_for_impl();
    let shortened = input.view_arguments("short")?;
    Some(quote! {
        #[automatically_derived]
        impl #parameters #view #arguments #conditions {
            /// The same view, for a shorter time.
            #[allow(dead_code)]
            #[inline(always)]
            #visibility fn shorten<'short>(self) -> #view #shortened
            where
                'a: 'short,
            {
                <#name #type_arguments as #module::Record>::shorten(self)
            }
        }
    })
}

fn format_arm(input: &Input, shape: &Shape) -> TokenStream {
    let pattern = input.view_pattern(shape);
    let locals = shape.fields.iter().map(|part| &part.local);
    let label = shape.variant.as_ref().unwrap_or(&input.view).unraw().to_string();
    let written = match shape.style {
        Style::Named => {
            let names = shape.fields.iter().map(|part| member_name(&part.member));
            quote!(formatter.debug_struct(#label) #(.field(#names, #locals))* .finish())
        }
        Style::Tuple => quote!(formatter.debug_tuple(#label) #(.field(#locals))* .finish()),
        Style::Unit => quote!(formatter.write_str(#label)),
    };
    quote! { #pattern => #written, }
}

fn equal(input: &Input) -> TokenStream {
    let arms = input.shapes.iter().map(|shape| {
        let others: Vec<_> = shape.fields.iter().map(|part| format_ident!("__other{}", part.local)).collect();
        let mine = input.view_pattern(shape);
        let view = &input.view;
        let theirs =
            shape.braces(quote!(#view), &others.iter().map(|other| quote!(#other)).collect::<Vec<_>>());
        let locals = shape.fields.iter().map(|part| &part.local);
        quote! { (#mine, #theirs) => true #(&& *#locals == *#others)*, }
    });
    let otherwise = (input.shapes.len() > 1).then(|| quote!(_ => false,));
    quote! { match (self, other) { #(#arms)* #otherwise } }
}

/// The name of a field, a number where it has none.
pub fn member_name(member: &Member) -> String {
    match member {
        Member::Named(name) => name.unraw().to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

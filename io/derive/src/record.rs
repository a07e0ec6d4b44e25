//! The implementation of `Record`: conversions between the type, its view and its encoding.

use crate::input::{Input, Kind, Shape};
use crate::{description, tree};
use proc_macro2::TokenStream;
use quote::quote;

/// `impl Record for ..`.
pub fn implement(input: &Input) -> TokenStream {
    let Input { module, name, view, generics, view_generics, .. } = input;
    let (parameters, arguments, conditions) = generics.split_for_impl();
    let (_, view_arguments, _) = view_generics.split_for_impl();
    let wire = wire(input);
    let viewed = input.shapes.iter().map(|shape| {
        let (from, to) = (input.type_pattern(shape), input.view_value(shape, "view"));
        quote!(#from => #to,)
    });
    let owned = input.shapes.iter().map(|shape| {
        let (from, to) = (input.view_pattern(shape), input.type_value(shape, "own"));
        quote!(#from => #to,)
    });
    let encoded = input.shapes.iter().enumerate().map(|(index, shape)| {
        let from = input.view_pattern(shape);
        let to = wire_of(input, index, &converted(input, shape, "to_wire"));
        quote!(#from => #to,)
    });
    let decoded = input.shapes.iter().enumerate().map(|(index, shape)| {
        let locals: Vec<_> =
            shape.fields.iter().map(|part| &part.local).map(|local| quote!(#local)).collect();
        let (from, to) = (wire_of(input, index, &locals), input.view_value(shape, "from_wire"));
        quote!(#from => #to,)
    });
    let shortened = input.shapes.iter().map(|shape| {
        let (from, to) = (input.view_pattern(shape), input.view_value(shape, "shorten"));
        quote!(#from => #to,)
    });
    let description = description::describe(input);
    quote! {
        #[automatically_derived]
        impl #parameters #module::Record for #name #arguments #conditions {
            type Ref<'a> = #view #view_arguments;
            type Wire = #wire;
            type List = #module::trusted::List<Self>;
            #[inline(always)]
            fn view(&self) -> Self::Ref<'_> {
                match self { #(#viewed)* }
            }
            #[inline]
            fn own(view: Self::Ref<'_>) -> Self {
                match view { #(#owned)* }
            }
            #[inline(always)]
            fn shorten<'short, 'long: 'short>(view: Self::Ref<'long>) -> Self::Ref<'short> {
                match view { #(#shortened)* }
            }
            #[inline(always)]
            fn to_wire(view: Self::Ref<'_>) -> #module::WireView<'_, Self> {
                match view { #(#encoded)* }
            }
            #[inline(always)]
            fn from_wire(wire: #module::WireView<'_, Self>) -> Self::Ref<'_> {
                match wire { #(#decoded)* }
            }
            fn describe(outer: &mut #module::Outer) -> #module::Schema {
                #description
            }
        }
    }
}

/// The encoding.
fn wire(input: &Input) -> TokenStream {
    let module = &input.module;
    let wires: Vec<_> = input
        .shapes
        .iter()
        .map(|shape| {
            let parts: Vec<_> = shape.fields.iter().map(|part| &part.ty).collect();
            let parts: Vec<_> = parts.iter().map(|ty| quote!(<#ty as #module::Record>::Wire)).collect();
            tree::wire(module, &parts)
        })
        .collect();
    match input.kind {
        Kind::Struct => quote!(#(#wires)*),
        Kind::Enum => {
            let cases = tree::cases(module, &wires);
            quote!(#module::trusted::Tagged<#cases>)
        }
    }
}

/// The encoding's view of shape `index`, made of the views of its fields; as a value or as a pattern.
fn wire_of(input: &Input, index: usize, fields: &[TokenStream]) -> TokenStream {
    tree::case(&input.module, index, input.shapes.len(), &tree::value(fields))
}

/// Each field's local variable, given to a function of its `Record`.
fn converted(input: &Input, shape: &Shape, function: &str) -> Vec<TokenStream> {
    let module = &input.module;
    let function = syn::Ident::new(function, proc_macro2::Span::call_site());
    let convert = |part: &crate::input::Part| {
        let (ty, local) = (&part.ty, &part.local);
        quote!(<#ty as #module::Record>::#function(#local))
    };
    shape.fields.iter().map(convert).collect()
}

impl Input {
    /// The pattern of a shape of the type: its fields in their local variables.
    fn type_pattern(&self, shape: &Shape) -> TokenStream {
        let name = &self.name;
        let locals: Vec<_> =
            shape.fields.iter().map(|part| &part.local).map(|local| quote!(#local)).collect();
        shape.braces(quote!(#name), &locals)
    }

    /// The pattern of a shape of the view: its fields in their local variables.
    pub fn view_pattern(&self, shape: &Shape) -> TokenStream {
        let view = &self.view;
        let locals: Vec<_> =
            shape.fields.iter().map(|part| &part.local).map(|local| quote!(#local)).collect();
        shape.braces(quote!(#view), &locals)
    }

    /// A shape of the type, each field made by a function from the local variable.
    fn type_value(&self, shape: &Shape, function: &str) -> TokenStream {
        let name = &self.name;
        shape.braces(quote!(#name), &converted(self, shape, function))
    }

    /// A shape of the view, each field made by a function from the local variable.
    fn view_value(&self, shape: &Shape, function: &str) -> TokenStream {
        let view = &self.view;
        shape.braces(quote!(#view), &converted(self, shape, function))
    }
}

impl Shape {
    /// `Type { a: .., b: .. }` or `Type::Variant { 0: .. }`: a form that fits every style of fields.
    pub fn braces(&self, owner: TokenStream, values: &[TokenStream]) -> TokenStream {
        let variant = self.variant.as_ref().map(|variant| quote!(::#variant));
        let members = self.fields.iter().map(|part| &part.member);
        quote!(#owner #variant { #(#members: #values),* })
    }
}

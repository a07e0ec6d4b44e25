//! Many things as a balanced tree of pairs: the compiler follows types only so deep, so that chains of hundreds of
//! fields or variants would not compile.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Path;

/// The fields' encodings as one: nothing, the only one, or pairs of pairs.
pub fn wire(module: &Path, wires: &[TokenStream]) -> TokenStream {
    fold(wires, &quote!(#module::trusted::Nil), &|a, b| quote!(#module::trusted::Cons<#a, #b>))
}

/// The fields' values in the form in which [`wire`] takes them. Also the pattern that takes them apart.
pub fn value(values: &[TokenStream]) -> TokenStream {
    fold(values, &quote!(()), &|a, b| quote!((#a, #b)))
}

/// The alternatives' encodings as one.
pub fn cases(module: &Path, wires: &[TokenStream]) -> TokenStream {
    let leaves: Vec<_> = wires.iter().map(|wire| quote!(#module::trusted::Case<#wire>)).collect();
    fold(&leaves, &quote!(), &|a, b| quote!(#module::trusted::Or<#a, #b>))
}

/// The value (or pattern) of alternative `index` of `count`, in the form in which [`cases`] takes it.
pub fn case(module: &Path, index: usize, count: usize, value: &TokenStream) -> TokenStream {
    if count == 1 {
        return value.clone();
    }
    let half = count / 2;
    if index < half {
        let inner = case(module, index, half, value);
        quote!(#module::trusted::Either::Left(#inner))
    } else {
        let inner = case(module, index - half, count - half, value);
        quote!(#module::trusted::Either::Right(#inner))
    }
}

fn fold(
    leaves: &[TokenStream],
    nothing: &TokenStream,
    pair: &dyn Fn(TokenStream, TokenStream) -> TokenStream,
) -> TokenStream {
    match leaves {
        [] => nothing.clone(),
        [leaf] => leaf.clone(),
        _ => {
            let (first, second) = leaves.split_at(leaves.len() / 2);
            pair(fold(first, nothing, pair), fold(second, nothing, pair))
        }
    }
}

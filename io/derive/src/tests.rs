use super::*;
use syn::parse_quote;

fn refusal(item: DeriveInput) -> String {
    expand(&item).expect_err("an item that is no record").to_string()
}

#[test]
fn what_cannot_be_a_record_is_refused_with_a_reason() {
    let cases: [(DeriveInput, &str); 5] = [
        (
            parse_quote!(union U { a: u8 }),
            "a union cannot be a record: nothing says which of its fields holds; use an enum",
        ),
        (
            parse_quote!(
                enum Never {}
            ),
            "an enum without variants has no value to record",
        ),
        (
            parse_quote!(
                struct Borrowed<'x> {
                    a: &'x str,
                }
            ),
            "a record owns what it holds: lifetime parameters are not possible; use `String`, `Vec<u8>` and the like, \
             which are seen through borrowing views anyway",
        ),
        (
            parse_quote!(
                struct Field {
                    #[record(skip)]
                    a: u8,
                }
            ),
            "`record` says nothing about a field; put it on the type",
        ),
        (
            parse_quote!(
                enum Of {
                    #[record]
                    Variant,
                }
            ),
            "`record` says nothing about a variant; put it on the type",
        ),
    ];
    for (item, reason) in cases {
        assert_eq!(refusal(item), reason);
    }
}

#[test]
fn wrong_attributes_are_refused() {
    let unknown = "unknown; `record` takes `view = \"Name\"` and `crate = \"path\"`";
    assert_eq!(
        refusal(parse_quote!(
            #[record(name = "X")]
            struct A;
        )),
        unknown
    );
    assert_eq!(
        refusal(parse_quote!(
            #[record(view = "X", view = "Y")]
            struct A;
        )),
        "this is set twice"
    );
    assert_eq!(
        refusal(parse_quote!(
            #[record(crate = "a")]
            #[record(crate = "b")]
            struct A;
        )),
        "this is set twice"
    );
    assert!(
        expand(&parse_quote!(
            #[record(view = "not a name")]
            struct A;
        ))
        .is_err()
    );
    assert!(
        expand(&parse_quote!(
            #[record(crate = "1::2")]
            struct A;
        ))
        .is_err()
    );
    assert!(
        expand(&parse_quote!(
            #[record(view)]
            struct A;
        ))
        .is_err()
    );
    assert!(
        expand(&parse_quote!(
            #[record]
            struct A;
        ))
        .is_err()
    );
    assert!(
        expand(&parse_quote!(
            #[serde(skip)]
            struct A;
        ))
        .is_ok(),
        "attributes of others are left alone"
    );
}

#[test]
fn a_tag_has_room_for_256_variants() {
    let with = |count: usize| -> DeriveInput {
        let variants = (0..count).map(|index| quote::format_ident!("V{index}"));
        parse_quote!(enum Many { #(#variants),* })
    };
    assert!(expand(&with(256)).is_ok());
    assert_eq!(refusal(with(257)), "the tag of a variant is one byte: 257 variants, 256 allowed");
}

#[test]
fn the_expansion_names_the_module_of_the_trait_and_needs_no_unsafe_code() {
    let item: DeriveInput = parse_quote!(
        #[record(crate = "some::place")]
        pub enum E<T> {
            A(T),
            B { x: Vec<u8> },
        }
    );
    let code = expand(&item).unwrap().to_string();
    assert!(code.contains("some :: place :: Record") && !code.contains("millstream"), "{code}");
    assert!(!code.contains("unsafe"), "{code}");
    let code = expand(&parse_quote!(
        struct S(u8);
    ))
    .unwrap()
    .to_string();
    assert!(code.contains(":: millstream :: record :: Record"), "{code}");
    syn::parse_str::<syn::File>(&code).expect("the expansion is Rust");
}

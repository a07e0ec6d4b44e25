use super::*;
use syn::parse_quote;

fn refusal(item: DeriveInput) -> String {
    expand(&item).unwrap_err().to_string()
}

#[test]
fn what_cannot_be_a_record_is_refused_with_a_reason() {
    assert!(refusal(parse_quote!(union U { a: u8 })).contains("use an enum"));
    assert!(
        refusal(parse_quote!(
            enum Never {}
        ))
        .contains("without variants")
    );
    assert!(
        refusal(parse_quote!(
            struct Borrowed<'x> {
                a: &'x str,
            }
        ))
        .contains("lifetime")
    );
}

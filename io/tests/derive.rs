//! Derived records, as a user's crate sees them.
#![forbid(unsafe_code)]
#![deny(missing_docs, unreachable_pub, unused, nonstandard_style)]

use millstream_io::record::{DecodeError, Key, Record, Row};

/// Asserts the bytes of a value, and that the value comes back from them.
fn assert_bytes<T: Record + PartialEq + std::fmt::Debug>(value: &T, bytes: &[u8]) {
    assert_eq!(T::encode(value.view()), bytes);
    let row = Row::<T>::parse(bytes).unwrap();
    assert_eq!(row.view(), Row::<T>::parse(&T::encode(value.view())).unwrap().view());
    assert_eq!(&T::own(row.view()), value);
}

mod bids {
    use super::Record;

    /// A bid.
    #[derive(Clone, Debug, PartialEq, Record)]
    #[record(crate = "millstream_io::record")]
    pub(crate) struct Bid {
        /// The auction.
        pub(crate) auction: u64,
        pub(super) url: String,
        pub(super) tags: Vec<String>,
        pub(super) r#type: Option<u8>,
    }
}
use bids::{Bid, BidRef};

#[test]
fn a_struct_is_its_fields_in_order() {
    let bid = Bid { auction: 7, url: "u".into(), tags: vec![], r#type: Some(9) };
    let bytes = [7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'u', 0, 0, 0, 0, 0, 0, 0, 0, 1, 9];
    assert_bytes(&bid, &bytes);
    let view: BidRef<'_> = Row::<Bid>::parse(&bytes).unwrap().view();
    assert_eq!((view.auction, view.url, view.tags.len(), view.r#type), (7, "u", 0, Some(9)));
    let copy = view;
    assert_eq!(copy, bid.view());
    assert_ne!(copy, BidRef { auction: 8, ..copy });
    assert_eq!(format!("{view:?}"), "BidRef { auction: 7, url: \"u\", tags: [], type: Some(9) }");
}

#[derive(Debug, PartialEq, Record)]
#[record(crate = "millstream_io::record")]
struct Unit;

#[derive(Debug, PartialEq, Record)]
#[record(crate = "millstream_io::record", view = "UrlView")]
struct Url(String);

#[derive(Debug, PartialEq, Record)]
#[record(crate = "millstream_io::record")]
struct Pair(u16, Unit, Url);

#[derive(Debug, PartialEq, Record)]
#[record(crate = "millstream_io::record")]
struct Empty {}

#[test]
fn tuple_and_unit_structs() {
    assert_bytes(&Unit, &[]);
    assert_bytes(&Empty {}, &[]);
    assert_bytes(&Pair(1, Unit, Url("x".into())), &[1, 0, 1, 0, 0, 0, b'x']);
    let _: (UnitRef, EmptyRef) = (UnitRef, EmptyRef {});
    assert_eq!(UrlView("x"), Url("x".into()).view());
    assert_eq!(format!("{:?}", Pair(1, Unit, Url("x".into())).view()), "PairRef(1, UnitRef, UrlView(\"x\"))");
}

#[test]
fn a_struct_with_one_field_is_that_field_also_as_a_key() {
    assert_eq!(Url::hash(UrlView("some/path")), String::hash("some/path"));
    assert_eq!(Url::encode(UrlView("a")), String::encode("a"));
}

/// Something that happened.
#[derive(Debug, PartialEq, Record)]
#[record(crate = "millstream_io::record")]
pub enum Event {
    /// A click.
    Click {
        /// Who.
        user: u64,
        /// Where.
        r#where: String,
    },
    /// Time passed.
    Tick,
    /// A move.
    Moved(i8, i8),
    /// Nothing.
    Nothing {},
}

#[test]
fn an_enum_is_a_tag_and_the_fields_of_its_variant() {
    let click = Event::Click { user: 3, r#where: "top".into() };
    assert_bytes(&click, &[0, 3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, b't', b'o', b'p']);
    assert_bytes(&Event::Tick, &[1]);
    assert_bytes(&Event::Moved(-1, 2), &[2, 255, 2]);
    assert_bytes(&Event::Nothing {}, &[3]);
    assert!(matches!(Event::parse(&[4]), Err(DecodeError::Tag { tag: 4, .. })));
    assert_eq!(Event::parse(&[2, 255]).unwrap_err(), DecodeError::Truncated { need: 1, have: 0 });
    assert!(matches!(click.view(), EventRef::Click { user: 3, r#where: "top" }));
    assert_ne!(Event::Tick.view(), Event::Nothing {}.view());
    assert_eq!(format!("{:?}", click.view()), "Click { user: 3, where: \"top\" }");
}

#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[record(crate = "millstream_io::record")]
enum Color {
    Red = 7,
    Green = 3,
}

#[derive(Debug, PartialEq, Record)]
#[record(crate = "millstream_io::record")]
enum Only {
    One(u8),
}

#[test]
fn enums_of_one_kind_of_payload_have_a_fixed_size() {
    use millstream_io::record::{KeyWire, Wire};
    assert_bytes(&Color::Green, &[1]);
    assert_bytes(&[Color::Red, Color::Green], &[0, 1]);
    assert_bytes(&Only::One(5), &[0, 5]);
    assert_eq!(<<(Color, Only) as Record>::Wire as Wire>::FIXED, Some(3));
    const { assert!(<<Color as Record>::Wire as KeyWire>::WORD, "an enum without fields is a word key") };
    let _: ColorRef = ColorRef::Red;
}

/// Some of `T`, with whatever else generic types may have.
#[derive(Debug, PartialEq, Record)]
#[record(crate = "millstream_io::record")]
struct Page<T: Clone, K = String, const N: usize = 2>
where
    K: PartialOrd,
{
    items: Vec<T>,
    keys: [K; N],
    both: Option<(T, K)>,
}

#[derive(Debug, PartialEq, Record)]
#[record(crate = "millstream_io::record")]
enum Either<A, B> {
    Left(A),
    Right { it: B },
}

#[derive(Debug, PartialEq, Record)]
#[record(crate = "millstream_io::record")]
struct Wrapped<T>(T)
where
    T: Copy;

#[test]
fn generic_types_are_generic_records() {
    let page =
        Page { items: vec![1u8, 2], keys: ["a".to_owned(), "b".to_owned()], both: Some((3, String::new())) };
    assert_bytes(&page, &[2, 0, 0, 0, 1, 2, 1, 0, 0, 0, b'a', 1, 0, 0, 0, b'b', 1, 3, 0, 0, 0, 0]);
    assert_eq!(page.view().items, [1, 2]);
    let page = Page::<(), u8, 0> { items: vec![()], keys: [], both: None };
    assert_bytes(&page, &[1, 0, 0, 0, 0, 0]);
    assert_bytes(&Either::<u8, Wrapped<bool>>::Right { it: Wrapped(true) }, &[1, 1]);
    assert_bytes(&Either::<Vec<u8>, ()>::Left(vec![9]), &[0, 1, 0, 0, 0, 9]);
}

#[derive(Clone, Debug, Default, PartialEq, Record)]
#[record(crate = "millstream_io::record")]
struct Tree<T> {
    value: T,
    kids: Vec<Tree<T>>,
}

fn chain(levels: usize) -> Tree<u8> {
    (1..levels).fold(Tree::default(), |tree, _| Tree { value: 1, kids: vec![tree] })
}

#[test]
fn a_type_may_contain_itself_in_a_list() {
    let leaf = |value| Tree { value, kids: vec![] };
    let tree = Tree { value: 1u8, kids: vec![leaf(2), Tree { value: 3, kids: vec![leaf(4)] }] };
    let bytes = [
        vec![1, 27, 0, 0, 0, 2, 0, 0, 0],
        vec![2, 0, 0, 0, 0, 0, 0, 0, 0],
        vec![3, 9, 0, 0, 0, 1, 0, 0, 0],
        vec![4, 0, 0, 0, 0, 0, 0, 0, 0],
    ];
    assert_bytes(&tree, &bytes.concat());
}

#[test]
fn recursion_is_bounded_when_writing_and_when_reading() {
    let deepest = chain(128);
    assert_eq!(Tree::own(Row::<Tree<u8>>::parse(&Tree::encode(deepest.view())).unwrap().view()), deepest);
    let deeper = std::panic::catch_unwind(|| Tree::encode(chain(129).view()));
    assert!(deeper.is_err(), "a record that could not be read back is not written");
    // A hundred thousand levels, as a damaged or forged file could claim.
    let levels = (0..100_000u32)
        .rev()
        .map(|inside| [&[1][..], &(inside * 9).to_le_bytes(), &1u32.to_le_bytes()].concat());
    let bytes = levels.collect::<Vec<_>>().concat();
    assert_eq!(Tree::<u8>::parse(&bytes).unwrap_err(), DecodeError::Depth);
}

/// A view for the life of both of its parts.
fn longer<'v>(a: EventRef<'v>, b: EventRef<'v>) -> EventRef<'v> {
    if format!("{a:?}").len() > format!("{b:?}").len() { a } else { b }
}

#[test]
fn views_of_texts_and_numbers_are_shortened_by_the_compiler_and_others_on_request() {
    fn texts<'short>(long: EventRef<'static>, _: &'short str) -> EventRef<'short> {
        long
    }
    fn bids<'short>(long: BidRef<'static>, _: &'short str) -> BidRef<'short> {
        long
    }
    fn nested<'short>(
        long: EitherRef<'static, Bid, Tree<u8>>,
        _: &'short str,
    ) -> EitherRef<'short, Bid, Tree<u8>> {
        long.shorten()
    }
    let text = String::from("here");
    let click = EventRef::Click { user: 1, r#where: "everywhere" };
    assert_eq!(texts(click, &text), click);
    assert_eq!(longer(click, EventRef::Click { user: 1, r#where: &text }), click);
    let tags: &[String] = &[];
    let bid = BidRef { auction: 1, url: "u", tags: tags.into(), r#type: None };
    assert_eq!(bids(bid, &text), bid);
    let kids: &[Tree<u8>] = &[];
    let tree = EitherRef::Right { it: TreeRef { value: 1, kids: kids.into() } };
    assert_eq!(nested(tree, &text), tree.shorten());
    assert_eq!(nested(EitherRef::Left(bid), &text), EitherRef::Left(bid));
    assert_eq!(<(u8, Option<[Vec<u8>; 1]>)>::shorten((1, Some([b"x"]))), (1, Some([&b"x"[..]])));
}

/// Names that generated code must not stumble over.
mod shadowed {
    #![allow(dead_code, non_camel_case_types, non_upper_case_globals, reason = "the names are the point")]
    #[derive(PartialEq, Debug)]
    struct Vec;
    struct String;
    struct Option;
    struct Some;
    struct Result;
    struct Ok;
    struct Clone;
    struct Copy;
    const part_0: u8 = 0;

    #[derive(millstream_io::Record)]
    #[record(crate = "millstream_io::record")]
    #[allow(non_snake_case, reason = "the view takes this over")]
    pub(super) struct Odd {
        pub(super) self_: u8,
        pub(super) view: u8,
        pub(super) wire: u8,
        pub(super) outer: u8,
        pub(super) formatter: u8,
        pub(super) other: u8,
        pub(super) Upper: u8,
        pub(super) r#fn: u8,
    }

    /// A type parameter hides what is called like it.
    #[derive(millstream_io::Record)]
    #[record(crate = "millstream_io::record")]
    pub(super) struct Hidden<String>(pub(super) String, pub(super) std::vec::Vec<String>);

    #[derive(millstream_io::Record)]
    #[record(crate = "millstream_io::record")]
    pub(super) enum r#match {
        r#if(u8),
        Self_,
    }
}

#[test]
fn generated_code_is_not_disturbed_by_names_in_scope() {
    use millstream_io::Record as _;
    use shadowed::{Hidden, Odd, r#match};
    assert_eq!(
        Hidden::encode(Hidden("a".to_owned(), vec![]).view()),
        [1, 0, 0, 0, b'a', 0, 0, 0, 0, 0, 0, 0, 0]
    );
    let odd = Odd { self_: 1, view: 2, wire: 3, outer: 4, formatter: 5, other: 6, Upper: 7, r#fn: 8 };
    assert_eq!(Odd::encode(odd.view()), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(r#match::encode(r#match::r#if(3).view()), [0, 3]);
    assert_eq!(r#match::encode(r#match::Self_.view()), [1]);
    assert_eq!(
        Odd::schema().to_string(),
        "{self_: u8, view: u8, wire: u8, outer: u8, formatter: u8, other: u8, Upper: u8, fn: u8}"
    );
    assert_eq!(r#match::schema().to_string(), "<if(u8), Self_>");
}

macro_rules! large {
    ($type:ident: $($field:ident)*; $($variant:ident)*) => {
        #[derive(Debug, Record)]
        #[record(crate = "millstream_io::record")]
        struct $type { $($field: (u8, u16)),* }
        #[derive(Debug, Record)]
        #[record(crate = "millstream_io::record")]
        enum Many { $($variant(u8)),* }
        #[test]
        fn hundreds_of_fields_and_256_variants() {
            let large = $type { $($field: (1, 2)),* };
            assert_eq!($type::encode(large.view()), [1, 2, 0].repeat([$(stringify!($field)),*].len()));
            let many = [$(Many::$variant(9)),*];
            for (tag, many) in many.iter().enumerate() {
                let bytes = [u8::try_from(tag).unwrap(), 9];
                assert_eq!(Many::encode(many.view()), bytes);
                assert_eq!(Many::parse(&bytes).unwrap(), (many.view(), 2));
            }
            assert_eq!(many.len(), 256);
        }
    };
}

large!(Large:
    f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12 f13 f14 f15 f16 f17 f18 f19 f20 f21 f22 f23 f24 f25 f26 f27 f28 f29 f30
    f31 f32 f33 f34 f35 f36 f37 f38 f39 f40 f41 f42 f43 f44 f45 f46 f47 f48 f49 f50 f51 f52 f53 f54 f55 f56 f57 f58
    f59 f60 f61 f62 f63 f64 f65 f66 f67 f68 f69 f70 f71 f72 f73 f74 f75 f76 f77 f78 f79 f80 f81 f82 f83 f84 f85 f86
    f87 f88 f89 f90 f91 f92 f93 f94 f95 f96 f97 f98 f99 f100 f101 f102 f103 f104 f105 f106 f107 f108 f109 f110 f111
    f112 f113 f114 f115 f116 f117 f118 f119 f120 f121 f122 f123 f124 f125 f126 f127 f128 f129 f130 f131 f132 f133 f134
    f135 f136 f137 f138 f139 f140 f141 f142 f143 f144 f145 f146 f147 f148 f149 f150 f151 f152 f153 f154 f155 f156 f157
    f158 f159 f160 f161 f162 f163 f164 f165 f166 f167 f168 f169 f170 f171 f172 f173 f174 f175 f176 f177 f178 f179 f180
    f181 f182 f183 f184 f185 f186 f187 f188 f189 f190 f191 f192 f193 f194 f195 f196 f197 f198 f199;
    V0 V1 V2 V3 V4 V5 V6 V7 V8 V9 V10 V11 V12 V13 V14 V15 V16 V17 V18 V19 V20 V21 V22 V23 V24 V25 V26 V27 V28 V29 V30
    V31 V32 V33 V34 V35 V36 V37 V38 V39 V40 V41 V42 V43 V44 V45 V46 V47 V48 V49 V50 V51 V52 V53 V54 V55 V56 V57 V58
    V59 V60 V61 V62 V63 V64 V65 V66 V67 V68 V69 V70 V71 V72 V73 V74 V75 V76 V77 V78 V79 V80 V81 V82 V83 V84 V85 V86
    V87 V88 V89 V90 V91 V92 V93 V94 V95 V96 V97 V98 V99 V100 V101 V102 V103 V104 V105 V106 V107 V108 V109 V110 V111
    V112 V113 V114 V115 V116 V117 V118 V119 V120 V121 V122 V123 V124 V125 V126 V127 V128 V129 V130 V131 V132 V133 V134
    V135 V136 V137 V138 V139 V140 V141 V142 V143 V144 V145 V146 V147 V148 V149 V150 V151 V152 V153 V154 V155 V156 V157
    V158 V159 V160 V161 V162 V163 V164 V165 V166 V167 V168 V169 V170 V171 V172 V173 V174 V175 V176 V177 V178 V179 V180
    V181 V182 V183 V184 V185 V186 V187 V188 V189 V190 V191 V192 V193 V194 V195 V196 V197 V198 V199 V200 V201 V202 V203
    V204 V205 V206 V207 V208 V209 V210 V211 V212 V213 V214 V215 V216 V217 V218 V219 V220 V221 V222 V223 V224 V225 V226
    V227 V228 V229 V230 V231 V232 V233 V234 V235 V236 V237 V238 V239 V240 V241 V242 V243 V244 V245 V246 V247 V248 V249
    V250 V251 V252 V253 V254 V255
);

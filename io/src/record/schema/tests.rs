use super::*;
use crate::record::Record;
use proptest::prelude::*;

#[derive(Record)]
#[record(crate = "crate::record")]
struct Click {
    user: u64,
    url: String,
}

#[derive(Record)]
#[record(crate = "crate::record")]
enum Tree {
    Leaf,
    Pair(u8, Click),
    Node { kids: Vec<Tree>, more: Option<Wrapped> },
}

#[derive(Record)]
#[record(crate = "crate::record")]
struct Wrapped([Vec<Tree>; 2]);

fn field(name: &'static str, schema: Schema) -> Field {
    Field { name: name.into(), schema }
}

fn primitive(name: &'static str) -> Schema {
    Schema::Primitive(name.into())
}

#[test]
fn derived_schemas_name_their_parts() {
    let click = Schema::Struct {
        name: "Click".into(),
        fields: vec![field("user", primitive("u64")), field("url", primitive("string"))],
    };
    assert_eq!(Click::schema(), click);
    let inner = Schema::Array(Box::new(Schema::List(Box::new(Schema::Outer(1)))), 2);
    let wrapped = Schema::Struct { name: "Wrapped".into(), fields: vec![field("0", inner)] };
    let node = vec![
        field("kids", Schema::List(Box::new(Schema::Outer(0)))),
        field("more", Schema::Option(Box::new(wrapped))),
    ];
    let tree = Schema::Enum {
        name: "Tree".into(),
        variants: vec![
            Variant { name: "Leaf".into(), fields: vec![] },
            Variant { name: "Pair".into(), fields: vec![field("0", primitive("u8")), field("1", click)] },
            Variant { name: "Node".into(), fields: node },
        ],
    };
    assert_eq!(Tree::schema(), tree);
}

#[test]
fn a_schema_reads_like_a_type() {
    assert_eq!(Click::schema().to_string(), "{user: u64, url: string}");
    assert_eq!(
        Tree::schema().to_string(),
        "Tree <Leaf, Pair(u8, {user: u64, url: string}), Node{kids: [Tree], more: option<([[Tree]; 2])>}>"
    );
    assert_eq!(<(Vec<u8>, Vec<i8>, ())>::schema().to_string(), "(bytes, [i8], ())");
    assert_eq!(Schema::Outer(3).to_string(), "?");
}

#[test]
fn the_bytes_of_a_schema() {
    let bytes = b"\x05\x05\0\0\0Click\x02\0\0\0\x04\0\0\0user\0\x03\0\0\0u64\x03\0\0\0url\0\x06\0\0\0string";
    assert_eq!(Click::schema().encode().unwrap(), bytes);
    assert_eq!(Schema::parse(bytes).unwrap(), Click::schema());
    for cut in 0..bytes.len() {
        assert_eq!(Schema::parse(&bytes[..cut]), Err(SchemaError::Truncated));
    }
    assert_eq!(
        Schema::parse(b"\x02\x02\x03\x02\0\0\0\0\0\0\0\x00\x01\0\0\0x?"),
        Err(SchemaError::Trailing(1))
    );
    assert_eq!(Schema::parse(b"\x08"), Err(SchemaError::Kind(8)));
    assert_eq!(Schema::parse(b"\0\x01\0\0\0\xff"), Err(SchemaError::Name));
    assert_eq!(Schema::parse(b"\x07\0\0\0\0\0\0\0\0"), Err(SchemaError::Outer(0)));
    assert_eq!(Schema::parse(b"\x04\xff\xff\xff\xff"), Err(SchemaError::Truncated));
}

#[test]
fn depth_and_size_are_bounded_on_both_sides() {
    let nested = |levels| (0..levels).fold(primitive("u8"), |inner, _| Schema::Option(Box::new(inner)));
    let deepest = nested(255);
    assert_eq!(Schema::parse(&deepest.encode().unwrap()), Ok(deepest));
    assert_eq!(nested(256).encode(), Err(SchemaError::Depth));
    assert_eq!(Schema::parse(&vec![1; 100_000]), Err(SchemaError::Depth));
    assert_eq!(Schema::parse(&vec![1; (1 << 20) + 1]), Err(SchemaError::Size));
    assert_eq!(Schema::Tuple(vec![primitive("u8"); 150_000]).encode(), Err(SchemaError::Size));
}

/// Any schema, references outwards included.
fn any_schema() -> impl Strategy<Value = Schema> {
    let name = || "[a-z0-9é]{0,5}".prop_map(Cow::Owned);
    let leaf = prop_oneof![name().prop_map(Schema::Primitive), Just(Schema::Tuple(vec![]))];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        let fields = prop::collection::vec((name(), inner.clone()), 0..4).prop_map(|fields| {
            fields.into_iter().map(|(name, schema)| Field { name, schema }).collect::<Vec<_>>()
        });
        let variant = (name(), fields.clone()).prop_map(|(name, fields)| Variant { name, fields });
        prop_oneof![
            inner.clone().prop_map(|of| Schema::Option(Box::new(of))),
            inner.clone().prop_map(|of| Schema::List(Box::new(of))),
            (inner.clone(), any::<u64>()).prop_map(|(of, length)| Schema::Array(Box::new(of), length)),
            prop::collection::vec(inner, 0..4).prop_map(Schema::Tuple),
            (name(), fields, any::<bool>()).prop_map(|(name, mut fields, recursive)| {
                if recursive {
                    fields.push(Field { name: "me".into(), schema: Schema::Outer(0) });
                }
                Schema::Struct { name, fields }
            }),
            (name(), prop::collection::vec(variant, 0..4))
                .prop_map(|(name, variants)| Schema::Enum { name, variants }),
        ]
    })
}

proptest! {
    #[test]
    fn every_schema_comes_back(schema in any_schema()) {
        let bytes = schema.encode().unwrap();
        prop_assert_eq!(Schema::parse(&bytes), Ok(schema.clone()));
        let _ = schema.to_string();
    }

    #[test]
    fn damaged_schemas_are_refused_or_mean_what_they_say(
        schema in any_schema(), at in any::<prop::sample::Index>(), to in any::<u8>(),
    ) {
        let mut bytes = schema.encode().unwrap();
        let at = at.index(bytes.len());
        bytes[at] = to;
        if let Ok(other) = Schema::parse(&bytes) {
            prop_assert_eq!(other.encode().unwrap(), bytes);
        }
    }
}

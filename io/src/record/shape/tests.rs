//! A shape reads what the types themselves write, and refuses what they refuse.

use super::*;
use crate::record::{DecodeError, Field, Key, Record, Variant};
use proptest::prelude::*;

#[derive(Clone, Debug, PartialEq, Record)]
#[record(crate = "crate::record")]
struct Bid {
    auction: u64,
    price: f32,
    note: Option<String>,
    tags: Vec<(bool, char)>,
}

#[derive(Clone, Debug, PartialEq, Record)]
#[record(crate = "crate::record")]
enum Event {
    Nothing,
    Bid(Bid, i8),
    Person { name: String, friends: Vec<Event> },
}

#[derive(Clone, Debug, PartialEq, Record)]
#[record(crate = "crate::record")]
enum Small {
    Low(u16),
    High { of: i16 },
}

fn shape<T: Record>() -> Shape {
    Shape::new(&T::schema()).unwrap()
}

fn shown<T: Record>(value: &T) -> String {
    let (bytes, mut text) = (T::encode(value.view()), String::new());
    assert_eq!(shape::<T>().show(&bytes, &mut text), Ok(bytes.len()));
    assert_eq!(shape::<T>().check(&bytes), Ok(bytes.len()));
    text
}

#[test]
fn pa_01_values_are_shown_as_json() {
    assert_eq!(shown(&u64::MAX), "18446744073709551615");
    assert_eq!(shown(&i128::MIN), "-170141183460469231731687303715884105728");
    assert_eq!(shown(&-5i8), "-5");
    assert_eq!(shown(&(0.1f32, 1.0f64, f64::NAN, f32::NEG_INFINITY)), r#"[0.1,1.0,"NaN","-inf"]"#);
    assert_eq!(shown(&(true, 'é', ())), r#"[true,"é",null]"#);
    assert_eq!(shown(&"a\"\\\n\u{1}".to_owned()), r#""a\"\\\n\u0001""#);
    assert_eq!(shown(&b"text".to_vec()), r#""text""#);
    assert_eq!(shown(&vec![0u8, 0xff]), r#"{"hex":"00ff"}"#);
    assert_eq!(shown(&vec![(), ()]), "[null,null]");
    assert_eq!(shown(&[Some(1u8), None]), "[1,null]");
    let bid = Bid { auction: 7, price: 1.5, note: None, tags: vec![(true, 'x')] };
    let json = r#"{"auction":7,"price":1.5,"note":null,"tags":[[true,"x"]]}"#;
    assert_eq!(shown(&bid), json);
    let person = Event::Person { name: "a".to_owned(), friends: vec![Event::Nothing, Event::Bid(bid, -1)] };
    let expected = format!(r#"{{"Person":{{"name":"a","friends":["Nothing",{{"Bid":[{json},-1]}}]}}}}"#);
    assert_eq!(shown(&person), expected);
}

/// KG-02: a key has the group that the program gives it.
#[test]
fn kg_02_keys_are_hashed_as_the_program_does() {
    fn same<K: Key>(key: &K) {
        let row = K::encode(key.view());
        assert_eq!(shape::<K>().hash(&row), K::hash(key.view()));
    }
    same(&0u64);
    same(&-1i32);
    same(&true);
    same(&(1u8, 2u16));
    same(&(1u64, 2u64));
    same(&Small::Low(3));
    same(&Small::High { of: -3 });
    same(&());
    for text in
        ["", "a", "four", "twelve bytes", "a text of more than sixteen bytes, and of thirty-two as well"]
    {
        same(&text.to_owned());
        same(&text.as_bytes().to_vec());
        same(&(text.to_owned(), 5u32));
        same(&Some(text.to_owned()));
        same(&vec![text.to_owned()]);
    }
}

fn sizes<T: Record>() -> (Option<usize>, Option<usize>) {
    use crate::record::Wire;
    (shape::<T>().fixed(), T::Wire::FIXED)
}

#[test]
fn what_is_of_one_size_is_known_to_be() {
    for (shape, wire) in [
        sizes::<u16>(),
        sizes::<()>(),
        sizes::<(u8, i128)>(),
        sizes::<[char; 3]>(),
        sizes::<[String; 0]>(),
        sizes::<[String; 2]>(),
        sizes::<Option<u8>>(),
        sizes::<Option<()>>(),
        sizes::<Small>(),
        sizes::<Event>(),
        sizes::<Vec<u8>>(),
    ] {
        assert_eq!(shape, wire);
    }
}

#[test]
fn types_that_cannot_be_are_refused() {
    let field = |schema| vec![Field { name: "a".into(), schema }];
    let inside = |schema| Schema::Struct { name: "S".into(), fields: field(schema) };
    let refused = |schema: &Schema| Shape::new(schema).unwrap_err();
    assert_eq!(refused(&Schema::Primitive("uuid".into())), ShapeError::Unknown("uuid".to_owned()));
    for schema in [
        inside(Schema::Outer(0)),
        inside(Schema::Option(Box::new(Schema::Outer(0)))),
        inside(Schema::Outer(1)),
        Schema::Array(Box::new(Schema::Primitive("()".into())), 1 << 40),
        Schema::Array(Box::new(Schema::Primitive("u64".into())), u64::MAX),
        Schema::Enum {
            name: "E".into(),
            variants: (0..257).map(|_| Variant { name: "V".into(), fields: Vec::new() }).collect(),
        },
    ] {
        assert!(matches!(refused(&schema), ShapeError::Impossible(_)), "{schema}");
    }
    assert!(Shape::new(&inside(Schema::List(Box::new(Schema::Outer(0))))).is_ok());
}

/// A list in a list, and so on, as deep as it may be and one deeper: the same answer as the type's, and no overflow.
#[test]
fn ms_073_depth_is_limited() {
    #[derive(Debug, Record)]
    #[record(crate = "crate::record")]
    struct Deep(Vec<Deep>);
    for depth in [1, 127, 128, 129, 1000] {
        let mut bytes = vec![0; 8];
        for _ in 1..depth {
            let mut outer = (bytes.len() as u32).to_le_bytes().to_vec();
            outer.extend(1u32.to_le_bytes());
            outer.append(&mut bytes);
            bytes = outer;
        }
        let wire = Deep::parse(&bytes).map(|(_, used)| used);
        assert_eq!(shape::<Deep>().check(&bytes), wire, "{depth}");
        assert_eq!(wire == Err(DecodeError::Depth), depth > 128);
    }
}

fn agree<T: Record>(bytes: &[u8]) -> Result<(), TestCaseError> {
    let (shape, wire) = (shape::<T>(), T::parse(bytes).map(|(_, used)| used));
    prop_assert_eq!(shape.check(bytes).ok(), wire.ok());
    prop_assert_eq!(shape.show(bytes, &mut String::new()).ok(), wire.ok());
    Ok(())
}

proptest! {
    /// MS-073: whatever the bytes are, the answer is that of the type.
    #[test]
    fn ms_073_any_bytes_are_read_as_the_type_reads_them(bytes in prop::collection::vec(prop_oneof![3 => 0..4u8, 1 => any::<u8>()], 0..64)) {
        agree::<Bid>(&bytes)?;
        agree::<Event>(&bytes)?;
        agree::<Small>(&bytes)?;
        agree::<(bool, Option<char>)>(&bytes)?;
        agree::<Vec<()>>(&bytes)?;
        agree::<Vec<(u16, bool)>>(&bytes)?;
        agree::<[Vec<u32>; 2]>(&bytes)?;
        agree::<Vec<String>>(&bytes)?;
    }
}

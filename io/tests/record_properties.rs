//! What holds for every record: values come back from their bytes, and any bytes are either refused or are exactly the
//! encoding of what was read from them.
#![forbid(unsafe_code)]

use millstream_io::record::{DecodeError, Record, Row, Wire};
use proptest::collection::vec;
use proptest::prelude::*;
use std::fmt::Debug;

#[derive(Clone, Debug, PartialEq, Record)]
#[record(crate = "millstream_io::record")]
enum Shape<T> {
    Empty,
    Line(T, T),
    Path { name: String, points: Vec<(T, T)> },
}

#[derive(Clone, Debug, PartialEq, Record)]
#[record(crate = "millstream_io::record")]
struct Tree<T> {
    value: Option<T>,
    kids: Vec<Tree<T>>,
}

#[derive(Clone, Debug, PartialEq, Record)]
#[record(crate = "millstream_io::record")]
struct Everything {
    numbers: (u8, u16, u32, u64, u128, i8, i16, i32, i64, i128),
    floats: (f32, f64),
    flags: (bool, char, ()),
    text: String,
    bytes: Vec<u8>,
    texts: Vec<String>,
    numbers_in_lists: (Vec<u16>, Vec<bool>, Vec<char>, Vec<f64>),
    nothings: Vec<()>,
    nested: Vec<Vec<Option<(u16, String)>>>,
    array: [Option<String>; 3],
    shape: Shape<i16>,
    shapes: Vec<Shape<String>>,
    tree: Tree<bool>,
}

fn shape<T: Strategy + 'static>(inner: fn() -> T) -> impl Strategy<Value = Shape<T::Value>>
where
    T::Value: Clone + 'static,
{
    prop_oneof![
        Just(Shape::Empty),
        (inner(), inner()).prop_map(|(a, b)| Shape::Line(a, b)),
        (".{0,6}", vec((inner(), inner()), 0..4)).prop_map(|(name, points)| Shape::Path { name, points }),
    ]
}

fn tree() -> impl Strategy<Value = Tree<bool>> {
    let leaf = any::<Option<bool>>().prop_map(|value| Tree { value, kids: vec![] });
    leaf.prop_recursive(6, 20, 4, |inner| {
        (any::<Option<bool>>(), vec(inner, 0..4)).prop_map(|(value, kids)| Tree { value, kids })
    })
}

fn everything() -> impl Strategy<Value = Everything> {
    let lists = (
        vec(any::<u16>(), 0..4),
        vec(any::<bool>(), 0..4),
        vec(any::<char>(), 0..4),
        vec(any::<f64>(), 0..4),
    );
    (
        any::<(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128)>(),
        any::<(f32, f64)>(),
        any::<(bool, char, ())>(),
        (".{0,9}", vec(any::<u8>(), 0..9), vec(".{0,3}", 0..4)),
        lists,
        vec(Just(()), 0..4),
        vec(vec(proptest::option::of((any::<u16>(), ".{0,3}")), 0..3), 0..4),
        [proptest::option::of(".{0,3}"), proptest::option::of(".{0,3}"), proptest::option::of(".{0,3}")],
        shape(any::<i16>),
        vec(shape(|| ".{0,3}"), 0..3),
        tree(),
    )
        .prop_map(
            |(
                numbers,
                floats,
                flags,
                (text, bytes, texts),
                numbers_in_lists,
                nothings,
                nested,
                array,
                shape,
                shapes,
                tree,
            )| {
                Everything {
                    numbers,
                    floats,
                    flags,
                    text,
                    bytes,
                    texts,
                    numbers_in_lists,
                    nothings,
                    nested,
                    array,
                    shape,
                    shapes,
                    tree,
                }
            },
        )
}

/// A value comes back from its bytes; no shorter bytes are accepted, and no longer ones as one record.
fn comes_back<T: Record + PartialEq + Debug>(value: &T) -> Result<(), TestCaseError> {
    let mut bytes = T::encode(value.view());
    prop_assert_eq!(T::Wire::size(T::to_wire(value.view())), bytes.len());
    prop_assert!(T::Wire::FIXED.is_none_or(|size| size == bytes.len()));
    let row = Row::<T>::parse(&bytes).unwrap();
    prop_assert_eq!(&T::own(row.view()), value);
    prop_assert_eq!(row.view(), Row::<T>::parse(&bytes).unwrap().view());
    prop_assert_eq!(T::encode(row.view()), &bytes[..]);
    for cut in 0..bytes.len() {
        prop_assert!(T::parse(&bytes[..cut]).is_err());
    }
    bytes.push(1);
    prop_assert_eq!(Row::<T>::parse(&bytes).err(), Some(DecodeError::Trailing(1)));
    Ok(())
}

/// Bytes are refused, or are the encoding of what was read.
fn is_refused_or_exact<T: Record>(bytes: &[u8]) -> Result<(), TestCaseError> {
    if let Ok((view, used)) = T::parse(bytes) {
        prop_assert_eq!(&T::encode(view), &bytes[..used]);
        let row = Row::<T>::parse(&bytes[..used]).unwrap();
        prop_assert_eq!(&T::encode(row.view()), &bytes[..used]);
        prop_assert_eq!(&T::encode(T::own(row.view()).view()), &bytes[..used]);
        let _ = format!("{view:?}");
    }
    Ok(())
}

/// Some damage to bytes: replaced, removed, inserted, or a length set to something else.
#[derive(Clone, Debug)]
enum Damage {
    Replace(prop::sample::Index, u8),
    Remove(prop::sample::Index),
    Insert(prop::sample::Index, u8),
    Number(prop::sample::Index, u32),
}

fn damage() -> impl Strategy<Value = Damage> {
    let byte = || prop_oneof![any::<u8>(), 0..4u8];
    prop_oneof![
        (any::<prop::sample::Index>(), byte()).prop_map(|(at, to)| Damage::Replace(at, to)),
        any::<prop::sample::Index>().prop_map(Damage::Remove),
        (any::<prop::sample::Index>(), byte()).prop_map(|(at, to)| Damage::Insert(at, to)),
        (any::<prop::sample::Index>(), prop_oneof![any::<u32>(), 0..50u32])
            .prop_map(|(at, to)| Damage::Number(at, to)),
    ]
}

fn apply(damage: &[Damage], bytes: &mut Vec<u8>) {
    for damage in damage {
        if bytes.is_empty() {
            return;
        }
        match *damage {
            Damage::Replace(at, to) => {
                let at = at.index(bytes.len());
                bytes[at] = to;
            }
            Damage::Remove(at) => {
                bytes.remove(at.index(bytes.len()));
            }
            Damage::Insert(at, byte) => bytes.insert(at.index(bytes.len()), byte),
            Damage::Number(at, to) => {
                let at = at.index(bytes.len());
                let end = bytes.len().min(at + 4);
                bytes[at..end].copy_from_slice(&to.to_le_bytes()[..end - at]);
            }
        }
    }
}

proptest! {
    #[test]
    fn every_value_comes_back(value in everything()) {
        comes_back(&value)?;
        comes_back(&value.numbers)?;
        comes_back(&value.nested)?;
        comes_back(&value.array)?;
        comes_back(&value.shapes)?;
        comes_back(&value.tree)?;
        comes_back(&Some([(value.text, value.bytes)]))?;
    }

    #[test]
    fn damaged_bytes_are_refused_or_exact(value in everything(), damage in vec(damage(), 1..4)) {
        let mut bytes = Everything::encode(value.view());
        apply(&damage, &mut bytes);
        is_refused_or_exact::<Everything>(&bytes)?;
        let mut bytes = <Vec<Tree<bool>>>::encode(value.tree.kids.view());
        apply(&damage, &mut bytes);
        is_refused_or_exact::<Vec<Tree<bool>>>(&bytes)?;
        let mut bytes = <Vec<Shape<String>>>::encode(value.shapes.view());
        apply(&damage, &mut bytes);
        is_refused_or_exact::<Vec<Shape<String>>>(&bytes)?;
    }

    #[test]
    fn any_bytes_are_refused_or_exact(bytes in vec(prop_oneof![3 => 0..3u8, 1 => any::<u8>()], 0..64)) {
        is_refused_or_exact::<Everything>(&bytes)?;
        is_refused_or_exact::<Tree<u8>>(&bytes)?;
        is_refused_or_exact::<Vec<Shape<bool>>>(&bytes)?;
        is_refused_or_exact::<(Option<char>, [bool; 3], Vec<()>, Vec<u8>)>(&bytes)?;
        is_refused_or_exact::<Vec<Vec<Vec<String>>>>(&bytes)?;
        is_refused_or_exact::<Vec<[char; 1]>>(&bytes)?;
    }
}

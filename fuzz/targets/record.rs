//! Any bytes are refused, or are exactly the encoding of what was read from them; and so for schemas.
#![no_main]
#![expect(clippy::disallowed_methods, reason = "the fuzzer's macro writes files of its own")]

use libfuzzer_sys::fuzz_target;
use millstream_io::record::{Key, Record, Row, Schema};

#[derive(Record)]
#[record(crate = "millstream_io::record")]
enum Shape<T> {
    Empty,
    Line(T, T),
    Path { name: String, points: Vec<(T, T)> },
}

#[derive(Record)]
#[record(crate = "millstream_io::record")]
struct Tree<T> {
    value: T,
    kids: Vec<Tree<T>>,
}

#[derive(Record)]
#[record(crate = "millstream_io::record")]
struct Everything {
    flags: (bool, char, Option<u16>),
    text: String,
    bytes: Vec<u8>,
    nothings: Vec<()>,
    nested: Vec<Vec<Option<String>>>,
    array: [Option<char>; 3],
    shapes: Vec<Shape<f32>>,
    tree: Tree<bool>,
}

fn refused_or_exact<T: Record>(bytes: &[u8]) {
    let Ok((view, used)) = T::parse(bytes) else { return };
    assert_eq!(T::encode(view), &bytes[..used]);
    let row = Row::<T>::parse(&bytes[..used]).expect("accepted before");
    let owned = T::own(row.view());
    assert_eq!(T::encode(owned.view()), row.bytes());
    assert!(!format!("{view:?}").is_empty());
}

fn hashed<T: Key>(bytes: &[u8]) {
    refused_or_exact::<T>(bytes);
    if let Ok((view, _)) = T::parse(bytes) {
        assert_eq!(T::hash(view), T::hash(T::own(view).view()));
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&kind, bytes)) = input.split_first() else { return };
    match kind % 8 {
        0 => refused_or_exact::<Everything>(bytes),
        1 => hashed::<Vec<Vec<String>>>(bytes),
        2 => refused_or_exact::<Tree<String>>(bytes),
        3 => hashed::<Vec<Shape<char>>>(bytes),
        4 => hashed::<(u64, String, Option<bool>, [char; 2], Vec<u8>)>(bytes),
        5 => refused_or_exact::<Vec<(f64, Option<f32>)>>(bytes),
        6 => hashed::<Vec<Option<()>>>(bytes),
        _ => {
            if let Ok(schema) = Schema::parse(bytes) {
                assert_eq!(schema.encode().as_deref(), Ok(bytes));
                assert!(!schema.to_string().is_empty() || bytes == [0, 0, 0, 0, 0]);
            }
        }
    }
});

use super::*;
use std::cell::Cell;

fn round_trip<T: Record>(value: &T, bytes: &[u8]) {
    let encoded = T::encode(value.view());
    assert_eq!(encoded, bytes);
    let row = Row::<T>::parse(&encoded).unwrap();
    assert_eq!(T::encode(row.view()), bytes);
    assert_eq!(T::encode(T::own(row.view()).view()), bytes);
    for cut in 0..encoded.len() {
        assert!(T::parse(&encoded[..cut]).is_err(), "{cut} of {} bytes", encoded.len());
    }
}

#[test]
fn bytes_of_each_built_in_type() {
    round_trip(&true, &[1]);
    round_trip(&'é', &[0xe9, 0, 0, 0]);
    round_trip(&-2i16, &[0xfe, 0xff]);
    round_trip(&(), &[]);
    round_trip(&1.5f64, &[0, 0, 0, 0, 0, 0, 0xf8, 0x3f]);
    round_trip(&"ab".to_owned(), &[2, 0, 0, 0, b'a', b'b']);
    round_trip(&vec![7u8, 8], &[2, 0, 0, 0, 7, 8]);
    round_trip(&vec![7u16, 8], &[2, 0, 0, 0, 7, 0, 8, 0]);
    round_trip(&vec![(), ()], &[2, 0, 0, 0, 0, 0]);
    round_trip(&vec!["a".to_owned(), String::new()], &[9, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, b'a', 0, 0, 0, 0]);
    round_trip(&None::<u16>, &[0]);
    round_trip(&Some(3u16), &[1, 3, 0]);
    round_trip(&Some(None::<()>), &[1, 0]);
    round_trip(&[1u16, 2], &[1, 0, 2, 0]);
    round_trip(&[Some(true), None], &[1, 1, 0]);
    round_trip(&(1u8, "x".to_owned(), [vec![1u8]; 1]), &[1, 1, 0, 0, 0, b'x', 1, 0, 0, 0, 1]);
}

/// A text whose view says another length each time it is asked, from `last` on by `step`.
struct Fickle {
    last: Cell<usize>,
    step: isize,
}

impl Record for Fickle {
    type Ref<'a> = &'a str;
    type Wire = trusted::Text;
    type List = trusted::List<Self>;
    fn view(&self) -> &str {
        self.last.set(self.last.get().checked_add_signed(self.step).unwrap());
        &"0123456789abcdefghijklmnopqrstuvwxyz"[..self.last.get()]
    }
    fn own(view: &str) -> Self {
        Self { last: Cell::new(view.len()), step: 0 }
    }
    fn shorten<'short, 'long: 'short>(view: Self::Ref<'long>) -> Self::Ref<'short> {
        view
    }
    fn to_wire(view: Self::Ref<'_>) -> WireView<'_, Self> {
        view
    }
    fn from_wire(wire: WireView<'_, Self>) -> Self::Ref<'_> {
        wire
    }
    fn describe(_: &mut Outer) -> Schema {
        Schema::Primitive("fickle".into())
    }
}

fn fickle(last: usize, step: isize) -> Vec<Fickle> {
    vec![Fickle { last: Cell::new(last), step }]
}

#[test]
#[should_panic(expected = "a record's view changed while it was written")]
fn a_view_that_grows_after_its_size_was_taken_cannot_leave_its_room() {
    let _ = <Vec<Fickle>>::encode(fickle(0, 1).view());
}

#[test]
#[should_panic(expected = "a record's view changed while it was written")]
fn a_view_that_shrinks_after_its_size_was_taken_leaves_no_byte_unwritten() {
    let _ = <Vec<Fickle>>::encode(fickle(9, -1).view());
}

#[test]
#[should_panic(expected = "a record's view changed while it was written")]
fn what_follows_a_view_that_grows_cannot_leave_its_room_either() {
    let _ = <(Vec<Fickle>, u64, String)>::encode((fickle(0, 1).view(), 7, ""));
}

#[test]
fn a_view_that_stays_is_written() {
    assert_eq!(<Vec<Fickle>>::encode(fickle(2, 0).view()), [6, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, b'0', b'1']);
}

/// A record whose own way of reading accepts everything.
#[derive(Debug)]
struct Gullible;

impl Record for Gullible {
    type Ref<'a> = &'a str;
    type Wire = trusted::Text;
    type List = trusted::List<Self>;
    fn view(&self) -> &str {
        ""
    }
    fn own(_: &str) -> Self {
        Self
    }
    fn shorten<'short, 'long: 'short>(view: Self::Ref<'long>) -> Self::Ref<'short> {
        view
    }
    fn to_wire(view: Self::Ref<'_>) -> WireView<'_, Self> {
        view
    }
    fn from_wire(wire: WireView<'_, Self>) -> Self::Ref<'_> {
        wire
    }
    fn describe(_: &mut Outer) -> Schema {
        Schema::Primitive("gullible".into())
    }
    fn parse(bytes: &[u8]) -> Result<(Self::Ref<'_>, usize), DecodeError> {
        Ok(("", bytes.len()))
    }
}

#[test]
fn a_row_is_checked_whatever_the_record_says() {
    assert_eq!(
        Row::<Gullible>::parse(&[9, 0, 0, 0]).unwrap_err(),
        DecodeError::Length { claimed: 9, have: 0 }
    );
}

/// A tree that is kept as its encoding: an owned value with an encoded list for a view.
struct Kept(Vec<u8>);

#[derive(Record)]
#[record(crate = "crate::record")]
struct Tree {
    kids: Vec<Tree>,
}

impl Record for Kept {
    type Ref<'a> = TreeRef<'a>;
    type Wire = <Tree as Record>::Wire;
    type List = trusted::List<Self>;
    fn view(&self) -> TreeRef<'_> {
        Row::<Tree>::parse(&self.0).unwrap().view()
    }
    fn own(view: TreeRef<'_>) -> Self {
        Self(Tree::encode(view))
    }
    fn shorten<'short, 'long: 'short>(view: Self::Ref<'long>) -> Self::Ref<'short> {
        Tree::shorten(view)
    }
    fn to_wire(view: Self::Ref<'_>) -> WireView<'_, Self> {
        Tree::to_wire(view)
    }
    fn from_wire(wire: WireView<'_, Self>) -> Self::Ref<'_> {
        Tree::from_wire(wire)
    }
    fn describe(outer: &mut Outer) -> Schema {
        Tree::describe(outer)
    }
}

#[test]
fn an_encoded_list_inside_an_owned_one_counts_as_deep_as_it_stands() {
    let kept = |levels| {
        let tree = (1..levels).fold(Tree { kids: vec![] }, |tree, _| Tree { kids: vec![tree] });
        vec![Kept(Tree::encode(tree.view()))]
    };
    let bytes = <Vec<Kept>>::encode(kept(127).view());
    assert_eq!(<Vec<Kept>>::parse(&bytes).unwrap().1, bytes.len());
    let deeper = std::panic::catch_unwind(|| <Vec<Kept>>::encode(kept(128).view()));
    assert!(deeper.is_err(), "a record that could not be read back is not written");
}

#[test]
fn malformed_bytes_are_refused_with_what_is_wrong() {
    assert_eq!(bool::parse(&[2]), Err(DecodeError::Tag { tag: 2, what: "bool" }));
    assert_eq!(char::parse(&[0, 0xd8, 0, 0]), Err(DecodeError::Char(0xd800)));
    assert_eq!(u64::parse(&[1, 2, 3]), Err(DecodeError::Truncated { need: 8, have: 3 }));
    assert_eq!(String::parse(&[1, 0, 0, 0, 0xff]), Err(DecodeError::Utf8));
    assert_eq!(String::parse(&[9, 0, 0, 0, b'a']), Err(DecodeError::Length { claimed: 9, have: 1 }));
    assert!(matches!(<Option<u8>>::parse(&[2, 0]), Err(DecodeError::Tag { tag: 2, .. })));
    assert_eq!(<Vec<u16>>::parse(&[255; 8]), Err(DecodeError::Length { claimed: 2 * 0xffff_ffff, have: 4 }));
    assert_eq!(
        <Vec<()>>::parse(&[255, 255, 255, 255]),
        Err(DecodeError::Length { claimed: 0xffff_ffff, have: 0 })
    );
    assert!(matches!(<Vec<()>>::parse(&[1, 0, 0, 0, 7]), Err(DecodeError::Tag { tag: 7, .. })));
    // One item of eight bytes in nine, and two in eight.
    let list = |size, count| [[size, 0, 0, 0, count, 0, 0, 0, 4, 0, 0, 0], *b"abcde\0\0\0\0\0\0\0"].concat();
    assert_eq!(<Vec<String>>::parse(&list(9, 1)), Err(DecodeError::Length { claimed: 9, have: 8 }));
    assert_eq!(<Vec<String>>::parse(&list(8, 2)), Err(DecodeError::Truncated { need: 4, have: 0 }));
    assert_eq!(<Vec<String>>::parse(&list(8, 1)).unwrap().0.to_vec(), ["abcd"]);
}

#[test]
fn a_list_gives_its_items_owned_or_encoded() {
    fn look<T: Record<List = trusted::List<T>> + PartialEq + Debug>(items: &[T]) {
        let owned = ListRef::from(items);
        let bytes = <Vec<T>>::encode(owned);
        let encoded = Row::<Vec<T>>::parse(&bytes).unwrap().view();
        for list in [owned, encoded] {
            assert_eq!((list.len(), list.is_empty()), (items.len(), items.is_empty()));
            assert_eq!(list.iter().len(), items.len());
            assert_eq!(list.to_vec(), items);
            assert!(list.into_iter().eq(items.iter().map(T::view)));
            assert!((0..=items.len()).all(|index| list.get(index) == items.get(index).map(T::view)));
        }
        assert_eq!(owned, encoded);
        assert_eq!(format!("{encoded:?}"), format!("{items:?}"));
        if let [rest @ .., _] = items {
            assert_ne!(encoded, ListRef::from(rest));
        }
    }
    look::<u16>(&[]);
    look(&[1u16, 2, 3]);
    look(&[(), ()]);
    look(&["a".to_owned(), String::new(), "bc".to_owned()]);
    look(&[vec![true], vec![], vec![false, true]]);
}

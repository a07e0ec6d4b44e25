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

/// Says another length each time it is asked.
struct Fickle(Cell<usize>);

impl Record for Fickle {
    type Ref<'a> = &'a str;
    type Wire = trusted::Text;
    type List = trusted::List<Self>;
    fn view(&self) -> &str {
        self.0.set(self.0.get() + 1);
        &"0123456789abcdefghijklmnopqrstuvwxyz"[..self.0.get()]
    }
    fn own(view: &str) -> Self {
        Self(Cell::new(view.len()))
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

#[test]
#[should_panic(expected = "a record's view changed while it was written")]
fn a_view_that_grows_between_size_and_write_cannot_leave_its_room() {
    let _ = <Vec<Fickle>>::encode(vec![Fickle(Cell::new(0))].view());
}

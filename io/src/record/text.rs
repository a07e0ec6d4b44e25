//! Texts as records: the view of a `String` is a `&str`.

use super::{Outer, Record, Schema, WireView, trusted};

impl Record for String {
    type Ref<'a> = &'a str;
    type Wire = trusted::Text;
    type List = trusted::List<Self>;
    #[inline(always)]
    fn view(&self) -> Self::Ref<'_> {
        self
    }
    fn own(view: Self::Ref<'_>) -> String {
        view.to_owned()
    }
    #[inline(always)]
    fn shorten<'short, 'long: 'short>(view: Self::Ref<'long>) -> Self::Ref<'short> {
        view
    }
    #[inline(always)]
    fn to_wire(view: Self::Ref<'_>) -> WireView<'_, Self> {
        view
    }
    #[inline(always)]
    fn from_wire(wire: WireView<'_, Self>) -> Self::Ref<'_> {
        wire
    }
    fn describe(_: &mut Outer) -> Schema {
        Schema::Primitive("string".into())
    }
}

//! Vectors, arrays and options of records.

use super::trusted::{Array, Case, Either, List, ListWire, Nil, Or, Tagged, Wire};
use super::{Outer, Record, Schema, WireView};

/// The view of a `Vec<T>` is a [`ListRef<T>`](super::ListRef), that of a `Vec<u8>` a `&[u8]`.
impl<T: Record> Record for Vec<T> {
    type Ref<'a> = <T::List as Wire>::View<'a>;
    type Wire = T::List;
    type List = List<Self>;
    #[inline(always)]
    fn view(&self) -> Self::Ref<'_> {
        T::List::of(self)
    }
    #[inline]
    fn own(view: Self::Ref<'_>) -> Self {
        T::List::to_vec(view)
    }
    #[inline(always)]
    fn shorten<'short, 'long: 'short>(view: Self::Ref<'long>) -> Self::Ref<'short> {
        T::List::shorten(view)
    }
    #[inline(always)]
    fn to_wire(view: Self::Ref<'_>) -> WireView<'_, Self> {
        view
    }
    #[inline(always)]
    fn from_wire(wire: WireView<'_, Self>) -> Self::Ref<'_> {
        wire
    }
    fn describe(outer: &mut Outer) -> Schema {
        Schema::List(Box::new(T::describe(outer)))
    }
}

/// The view of an array is the array of the items' views.
impl<T: Record, const N: usize> Record for [T; N] {
    type Ref<'a> = [T::Ref<'a>; N];
    type Wire = Array<T::Wire, N>;
    type List = List<Self>;
    #[inline(always)]
    fn view(&self) -> Self::Ref<'_> {
        std::array::from_fn(|index| self[index].view())
    }
    #[inline]
    fn own(view: Self::Ref<'_>) -> Self {
        view.map(T::own)
    }
    #[inline(always)]
    fn shorten<'short, 'long: 'short>(view: Self::Ref<'long>) -> Self::Ref<'short> {
        view.map(T::shorten)
    }
    #[inline(always)]
    fn to_wire(view: Self::Ref<'_>) -> WireView<'_, Self> {
        view.map(T::to_wire)
    }
    #[inline(always)]
    fn from_wire(wire: WireView<'_, Self>) -> Self::Ref<'_> {
        wire.map(T::from_wire)
    }
    fn describe(outer: &mut Outer) -> Schema {
        Schema::Array(Box::new(T::describe(outer)), N as u64)
    }
}

/// The view of an option is the option of the value's view.
impl<T: Record> Record for Option<T> {
    type Ref<'a> = Option<T::Ref<'a>>;
    type Wire = Tagged<Or<Case<Nil>, Case<T::Wire>>>;
    type List = List<Self>;
    #[inline(always)]
    fn view(&self) -> Self::Ref<'_> {
        self.as_ref().map(T::view)
    }
    #[inline]
    fn own(view: Self::Ref<'_>) -> Self {
        view.map(T::own)
    }
    #[inline(always)]
    fn shorten<'short, 'long: 'short>(view: Self::Ref<'long>) -> Self::Ref<'short> {
        view.map(T::shorten)
    }
    #[inline(always)]
    fn to_wire(view: Self::Ref<'_>) -> WireView<'_, Self> {
        match view {
            None => Either::Left(()),
            Some(value) => Either::Right(T::to_wire(value)),
        }
    }
    #[inline(always)]
    fn from_wire(wire: WireView<'_, Self>) -> Self::Ref<'_> {
        match wire {
            Either::Left(()) => None,
            Either::Right(value) => Some(T::from_wire(value)),
        }
    }
    fn describe(outer: &mut Outer) -> Schema {
        Schema::Option(Box::new(T::describe(outer)))
    }
}

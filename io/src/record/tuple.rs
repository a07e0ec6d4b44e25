//! Tuples as records: the view of a tuple is the tuple of the views.

use super::trusted::{Cons, List, Nil};
use super::{Outer, Record, Schema, WireView};

macro_rules! chain {
    () => { Nil };
    ($head:ident $($tail:ident)*) => { Cons<<$head as Record>::Wire, chain!($($tail)*)> };
}

macro_rules! wire {
    () => { () };
    ($head:ident $head_value:ident $($tail:ident $tail_value:ident)*) => {
        ($head::to_wire($head_value), wire!($($tail $tail_value)*))
    };
}

macro_rules! pattern {
    () => { () };
    ($head:ident $($tail:ident)*) => { ($head, pattern!($($tail)*)) };
}

macro_rules! tuple {
    ($($part:ident $value:ident $index:tt),*) => {
        impl<$($part: Record),*> Record for ($($part,)*) {
            type Ref<'a> = ($($part::Ref<'a>,)*);
            type Wire = chain!($($part)*);
            type List = List<Self>;
            #[inline(always)]
            fn view(&self) -> Self::Ref<'_> {
                ($(self.$index.view(),)*)
            }
            #[inline(always)]
            fn own(view: Self::Ref<'_>) -> Self {
                ($($part::own(view.$index),)*)
            }
            #[inline(always)]
            fn shorten<'short, 'long: 'short>(view: Self::Ref<'long>) -> Self::Ref<'short> {
                ($($part::shorten(view.$index),)*)
            }
            #[inline(always)]
            fn to_wire(($($value,)*): Self::Ref<'_>) -> WireView<'_, Self> {
                wire!($($part $value)*)
            }
            #[inline(always)]
            fn from_wire(pattern!($($value)*): WireView<'_, Self>) -> Self::Ref<'_> {
                ($($part::from_wire($value),)*)
            }
            fn describe(outer: &mut Outer) -> Schema {
                Schema::Tuple(vec![$($part::describe(outer)),*])
            }
        }
    };
}

tuple!(A a 0);
tuple!(A a 0, B b 1);
tuple!(A a 0, B b 1, C c 2);
tuple!(A a 0, B b 1, C c 2, D d 3);
tuple!(A a 0, B b 1, C c 2, D d 3, E e 4);
tuple!(A a 0, B b 1, C c 2, D d 3, E e 4, F f 5);
tuple!(A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6);
tuple!(A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6, H h 7);
tuple!(A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6, H h 7, I i 8);
tuple!(A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6, H h 7, I i 8, J j 9);
tuple!(A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6, H h 7, I i 8, J j 9, K k 10);
tuple!(A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6, H h 7, I i 8, J j 9, K k 10, L l 11);

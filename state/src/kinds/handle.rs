//! Handles: what a program has of a state that it declared, without a key.

use std::fmt;
use std::marker::PhantomData;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident<$($of:ident),+>;)*) => {
        $(
            $(#[$doc])*
            ///
            /// `N` is the type of its namespaces. A handle belongs to the function that declared it; with the states of
            /// another one it panics or finds what is not its own.
            pub struct $name<$($of,)+ N = ()> {
                pub(super) index: u16,
                of: PhantomData<fn() -> ($($of,)+ N)>,
            }

            impl<$($of,)+ N> $name<$($of,)+ N> {
                pub(super) fn new(index: u16) -> Self {
                    Self { index, of: PhantomData }
                }
            }

            impl<$($of,)+ N> Clone for $name<$($of,)+ N> {
                fn clone(&self) -> Self {
                    *self
                }
            }

            impl<$($of,)+ N> Copy for $name<$($of,)+ N> {}

            impl<$($of,)+ N> fmt::Debug for $name<$($of,)+ N> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    write!(f, concat!(stringify!($name), "({})"), self.index)
                }
            }
        )*
    };
}

handles! {
    /// A value for each key: see [`ValueView`](super::ValueView).
    Value<V>;
    /// A list for each key: see [`ListView`](super::ListView).
    List<T>;
    /// A map for each key: see [`MapView`](super::MapView).
    Map<MK, MV>;
    /// A value for each key that others are folded into: see [`ReducingView`](super::ReducingView).
    Reducing<R>;
    /// An accumulator for each key: see [`AggregatingView`](super::AggregatingView).
    Aggregating<A>;
}

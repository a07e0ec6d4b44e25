//! Numbers, truth values and characters as records: the view of a number is the number.

use super::trusted::{self, List};
use super::{Outer, Record, Schema, WireView};

macro_rules! scalar {
    ($($type:ty => $wire:ident, $list:ty, $label:literal);*) => { $(
        impl Record for $type {
            type Ref<'a> = $type;
            type Wire = trusted::$wire;
            type List = $list;
            #[inline(always)]
            fn view(&self) -> Self::Ref<'_> {
                *self
            }
            #[inline(always)]
            fn own(view: Self::Ref<'_>) -> Self {
                view
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
                Schema::Primitive($label.into())
            }
        }
    )* };
}

scalar!(u8 => U8, trusted::Blob, "u8"; u16 => U16, List<u16>, "u16"; u32 => U32, List<u32>, "u32";
        u64 => U64, List<u64>, "u64"; u128 => U128, List<u128>, "u128"; i8 => I8, List<i8>, "i8";
        i16 => I16, List<i16>, "i16"; i32 => I32, List<i32>, "i32"; i64 => I64, List<i64>, "i64";
        i128 => I128, List<i128>, "i128"; f32 => F32, List<f32>, "f32"; f64 => F64, List<f64>, "f64";
        bool => Bool, List<bool>, "bool"; char => Char, List<char>, "char"; () => Nil, List<()>, "()");

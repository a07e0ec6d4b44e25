//! Numbers as records: the view of a number is the number.

use super::{Record, Schema, WireView, trusted};

macro_rules! scalar {
    ($($type:ty => $wire:ident, $label:literal);*) => { $(
        impl Record for $type {
            type Ref<'a> = $type;
            type Wire = trusted::$wire;
            #[inline(always)]
            fn view(&self) -> Self::Ref<'_> {
                *self
            }
            #[inline(always)]
            fn own(view: Self::Ref<'_>) -> Self {
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
            fn schema() -> Schema {
                Schema::Primitive($label)
            }
        }
    )* };
}

scalar!(u8 => U8, "u8"; u16 => U16, "u16"; u32 => U32, "u32"; u64 => U64, "u64"; u128 => U128, "u128";
        i8 => I8, "i8"; i16 => I16, "i16"; i32 => I32, "i32"; i64 => I64, "i64"; i128 => I128, "i128";
        f32 => F32, "f32"; f64 => F64, "f64"; () => Nil, "()");

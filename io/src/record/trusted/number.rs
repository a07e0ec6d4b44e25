//! Numbers, truth values and characters.

use super::{DecodeError, KeyWire, Levels, Room, Sealed, Trust, Wire, need};

/// Numbers of `N` bytes, little-endian. Any bytes are valid.
macro_rules! number {
    ($($name:ident $type:ty, $label:literal);*) => { $(
        #[doc = concat!("The encoding of `", $label, "`: its little-endian bytes.")]
        #[derive(Debug)]
        pub struct $name;
        impl Sealed for $name {}
        impl Wire for $name {
            type View<'a> = $type;
            const FIXED: Option<usize> = Some(size_of::<$type>());
            const NAME: &'static str = $label;
            #[inline(always)]
            fn measure(_: Self::View<'_>, _: Levels) -> usize {
                size_of::<$type>()
            }
            #[inline(always)]
            fn write(view: Self::View<'_>, room: &mut Room<'_>) {
                room.put(&view.to_le_bytes());
            }
            #[inline(always)]
            unsafe fn read<'a>(at: *const u8, _: Trust) -> (Self::View<'a>, usize) {
                // SAFETY: the caller gives the number's bytes; any bytes are a number.
                let bytes = unsafe { at.cast::<[u8; size_of::<$type>()]>().read_unaligned() };
                (<$type>::from_le_bytes(bytes), size_of::<$type>())
            }
            #[inline]
            fn check(bytes: &[u8], _: Levels) -> Result<usize, DecodeError> {
                need(bytes, size_of::<$type>())?;
                Ok(size_of::<$type>())
            }
            #[inline(always)]
            fn write_array<const N: usize>(view: [Self::View<'_>; N], room: &mut Room<'_>) {
                room.put(view.map(|item| item.to_le_bytes()).as_flattened());
            }
            #[inline]
            fn check_array<const N: usize>(bytes: &[u8], _: Levels) -> Result<usize, DecodeError> {
                need(bytes, size_of::<$type>() * N)?;
                Ok(size_of::<$type>() * N)
            }
        }
    )* };
}

number!(U8 u8, "u8"; U16 u16, "u16"; U32 u32, "u32"; U64 u64, "u64"; U128 u128, "u128";
        I8 i8, "i8"; I16 i16, "i16"; I32 i32, "i32"; I64 i64, "i64"; I128 i128, "i128";
        F32 f32, "f32"; F64 f64, "f64");

impl KeyWire for U8 {}
impl KeyWire for U16 {}
impl KeyWire for U32 {}
impl KeyWire for U64 {}
impl KeyWire for U128 {}
impl KeyWire for I8 {}
impl KeyWire for I16 {}
impl KeyWire for I32 {}
impl KeyWire for I64 {}
impl KeyWire for I128 {}

/// The encoding of `bool`: a byte, 0 or 1.
#[derive(Debug)]
pub struct Bool;
impl Sealed for Bool {}
impl Wire for Bool {
    type View<'a> = bool;
    const FIXED: Option<usize> = Some(1);
    const NAME: &'static str = "bool";
    #[inline(always)]
    fn measure(_: Self::View<'_>, _: Levels) -> usize {
        1
    }
    #[inline(always)]
    fn write(view: Self::View<'_>, room: &mut Room<'_>) {
        room.put(&[u8::from(view)]);
    }
    #[inline(always)]
    unsafe fn read<'a>(at: *const u8, _: Trust) -> (Self::View<'a>, usize) {
        // SAFETY: the caller gives the byte.
        (unsafe { at.read() } != 0, 1)
    }
    #[inline]
    fn check(bytes: &[u8], _: Levels) -> Result<usize, DecodeError> {
        need(bytes, 1)?;
        if bytes[0] > 1 { Err(DecodeError::Tag { tag: bytes[0], what: Self::NAME }) } else { Ok(1) }
    }
}
impl KeyWire for Bool {}

/// The encoding of `char`: its scalar value as a little-endian `u32`.
#[derive(Debug)]
pub struct Char;
impl Sealed for Char {}
impl Wire for Char {
    type View<'a> = char;
    const FIXED: Option<usize> = Some(4);
    const NAME: &'static str = "char";
    #[inline(always)]
    fn measure(_: Self::View<'_>, _: Levels) -> usize {
        4
    }
    #[inline(always)]
    fn write(view: Self::View<'_>, room: &mut Room<'_>) {
        room.put(&u32::from(view).to_le_bytes());
    }
    #[inline(always)]
    unsafe fn read<'a>(at: *const u8, _: Trust) -> (Self::View<'a>, usize) {
        // SAFETY: `write` put a scalar value there, and `check` accepts nothing else.
        unsafe {
            let value = u32::from_le_bytes(at.cast::<[u8; 4]>().read_unaligned());
            (char::from_u32_unchecked(value), 4)
        }
    }
    #[inline]
    fn check(bytes: &[u8], _: Levels) -> Result<usize, DecodeError> {
        let (value, _) =
            bytes.split_first_chunk().ok_or(DecodeError::Truncated { need: 4, have: bytes.len() })?;
        let value = u32::from_le_bytes(*value);
        if char::from_u32(value).is_some() { Ok(4) } else { Err(DecodeError::Char(value)) }
    }
}
impl KeyWire for Char {}

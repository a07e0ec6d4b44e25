//! Trusted decoding: the only place that turns raw pointers into views of records.
//!
//! [`Wire`] types are sealed: every one is defined here, and every [`Record`] is mapped to a composition of them by
//! safe code. So the invariant that all unsafe code below rests on can be checked in this file alone:
//!
//! > `write(v, p)` writes exactly `size(v)` bytes at `p`; `read(p)` at bytes written by `write(v, ..)`, or accepted by
//! > `parse`, returns a view equal to `v` and the number of bytes `size(v)`, and looks at no byte beyond them.
//!
//! [`Trust`] cannot be made outside this crate, so the unsafe methods are out of reach for users even in `unsafe` code.
#![expect(unsafe_code, reason = "trusted decoding is one of the four places the architecture names")]

use super::{DecodeError, Record, Row, WireView, hash};
use std::marker::PhantomData;

/// Proof that the caller is this crate.
#[derive(Clone, Copy, Debug)]
pub struct Trust(());

impl Trust {
    pub(crate) const YES: Self = Self(());
}

mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;

/// A built-in encoding. Sealed; see the module page.
pub trait Wire: Sealed + Sized + Send + 'static {
    /// What is written and read: a `Copy` view.
    type View<'a>: Copy;

    /// Bytes that every value takes, or `None` where values differ.
    const FIXED: Option<usize>;

    /// The type's name in error messages.
    const NAME: &'static str;

    /// Bytes that `view` takes.
    fn size(view: Self::View<'_>) -> usize;

    /// Writes exactly [`Wire::size`] bytes.
    ///
    /// # Safety
    /// `at` must be valid for writes of `size(view)` bytes.
    unsafe fn write(view: Self::View<'_>, at: *mut u8, trust: Trust);

    /// Reads a value without checks.
    ///
    /// # Safety
    /// `at` must point to bytes written by [`Wire::write`] or accepted by [`Wire::parse`] of this type, valid for `'a`.
    unsafe fn read<'a>(at: *const u8, trust: Trust) -> (Self::View<'a>, usize);

    /// Reads a value from the front of untrusted bytes.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes are no encoding of this type.
    fn parse(bytes: &[u8]) -> Result<(Self::View<'_>, usize), DecodeError>;
}

/// A built-in encoding whose values may be keys.
pub trait KeyWire: Wire {
    /// Whether a key is a word: of a fixed size of at most eight bytes.
    const WORD: bool = matches!(Self::FIXED, Some(1..=8));

    /// The key as a zero-extended little-endian word. Only where [`KeyWire::WORD`].
    #[inline(always)]
    fn word(view: Self::View<'_>) -> u64 {
        assert!(Self::WORD, "{} is no word key", Self::NAME);
        let mut bytes = [0u8; 8];
        // SAFETY: a word key takes at most the eight bytes of the array.
        unsafe { Self::write(view, bytes.as_mut_ptr(), Trust::YES) };
        u64::from_le_bytes(bytes)
    }

    /// The bytes that are hashed and compared: the content of a text or byte string, the encoding of anything else.
    #[inline(always)]
    fn with_bytes<R>(view: Self::View<'_>, f: impl FnOnce(&[u8]) -> R) -> R {
        let size = Self::size(view);
        let mut small = [0u8; 64];
        if size <= small.len() {
            // SAFETY: `size` bytes fit the array.
            unsafe { Self::write(view, small.as_mut_ptr(), Trust::YES) };
            f(&small[..size])
        } else {
            let mut large = Vec::new();
            append::<Self>(view, &mut large);
            f(&large)
        }
    }

    /// The view of bytes that [`KeyWire::with_bytes`] gave.
    ///
    /// # Safety
    /// The bytes must come from `with_bytes` of this type.
    unsafe fn from_key_bytes(bytes: &[u8], trust: Trust) -> Self::View<'_>;

    /// The view of bytes that [`KeyWire::with_bytes`] gave, checked.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes are no key of this type.
    fn parse_key_bytes(bytes: &[u8]) -> Result<Self::View<'_>, DecodeError> {
        let (view, used) = Self::parse(bytes)?;
        if used == bytes.len() { Ok(view) } else { Err(DecodeError::Trailing(bytes.len() - used)) }
    }

    /// Appends the encoding of the key whose [`KeyWire::with_bytes`] gave `bytes`.
    #[inline]
    fn append_key_bytes(bytes: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(bytes);
    }

    /// The fixed hash of a key.
    #[inline(always)]
    fn hash(view: Self::View<'_>) -> u64 {
        if Self::WORD { hash::hash_word(Self::word(view)) } else { Self::with_bytes(view, hash::hash_bytes) }
    }
}

/// Appends the encoding of `view` to `out`.
#[inline]
pub(crate) fn append<W: Wire>(view: W::View<'_>, out: &mut Vec<u8>) {
    let size = W::size(view);
    out.reserve(size);
    let used = out.len();
    // SAFETY: `reserve` made room for `size` bytes behind the used ones, and `write` initialises exactly those.
    unsafe {
        W::write(view, out.as_mut_ptr().add(used), Trust::YES);
        out.set_len(used + size);
    }
}

/// The view of a row's bytes.
#[inline(always)]
pub(crate) fn view_of_row<T: Record>(row: Row<'_, T>) -> WireView<'_, T> {
    // SAFETY: a `Row<T>` holds the encoding of exactly one `T`: see its constructors.
    unsafe { T::Wire::read(row.bytes().as_ptr(), Trust::YES).0 }
}

fn need(bytes: &[u8], n: usize) -> Result<(), DecodeError> {
    if bytes.len() < n { Err(DecodeError::Truncated { need: n, have: bytes.len() }) } else { Ok(()) }
}

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
            fn size(_: Self::View<'_>) -> usize {
                size_of::<$type>()
            }
            #[inline(always)]
            unsafe fn write(view: Self::View<'_>, at: *mut u8, _: Trust) {
                // SAFETY: the caller gives room for the number's bytes.
                unsafe { at.cast::<[u8; size_of::<$type>()]>().write_unaligned(view.to_le_bytes()) }
            }
            #[inline(always)]
            unsafe fn read<'a>(at: *const u8, _: Trust) -> (Self::View<'a>, usize) {
                // SAFETY: the caller gives the number's bytes; any bytes are a number.
                let bytes = unsafe { at.cast::<[u8; size_of::<$type>()]>().read_unaligned() };
                (<$type>::from_le_bytes(bytes), size_of::<$type>())
            }
            #[inline]
            fn parse(bytes: &[u8]) -> Result<(Self::View<'_>, usize), DecodeError> {
                need(bytes, size_of::<$type>())?;
                // SAFETY: the bytes are there, and any bytes are a number.
                Ok(unsafe { Self::read(bytes.as_ptr(), Trust::YES) })
            }
        }
    )* };
}

number!(U8 u8, "u8"; U16 u16, "u16"; U32 u32, "u32"; U64 u64, "u64"; U128 u128, "u128";
        I8 i8, "i8"; I16 i16, "i16"; I32 i32, "i32"; I64 i64, "i64"; I128 i128, "i128";
        F32 f32, "f32"; F64 f64, "f64");

/// Keys that are their encoding.
macro_rules! encoded_key {
    ($($name:ident),*) => { $(
        impl KeyWire for $name {
            #[inline(always)]
            unsafe fn from_key_bytes(bytes: &[u8], trust: Trust) -> Self::View<'_> {
                // SAFETY: the key bytes of this type are its encoding.
                unsafe { Self::read(bytes.as_ptr(), trust).0 }
            }
        }
    )* };
}

encoded_key!(U8, U16, U32, U64, U128, I8, I16, I32, I64, I128, Nil);

/// The encoding of nothing: no bytes.
#[derive(Debug)]
pub struct Nil;
impl Sealed for Nil {}
impl Wire for Nil {
    type View<'a> = ();
    const FIXED: Option<usize> = Some(0);
    const NAME: &'static str = "()";
    #[inline(always)]
    fn size(_: Self::View<'_>) -> usize {
        0
    }
    #[inline(always)]
    unsafe fn write(_: Self::View<'_>, _: *mut u8, _: Trust) {}
    #[inline(always)]
    unsafe fn read<'a>(_: *const u8, _: Trust) -> (Self::View<'a>, usize) {
        ((), 0)
    }
    #[inline]
    fn parse(_: &[u8]) -> Result<(Self::View<'_>, usize), DecodeError> {
        Ok(((), 0))
    }
}

/// One part followed by the rest: tuples and structs are chains of these that end in [`Nil`].
#[derive(Debug)]
pub struct Cons<A, B>(PhantomData<fn() -> (A, B)>);
impl<A, B> Sealed for Cons<A, B> {}
impl<A: Wire, B: Wire> Wire for Cons<A, B> {
    type View<'a> = (A::View<'a>, B::View<'a>);
    const FIXED: Option<usize> = match (A::FIXED, B::FIXED) {
        (Some(a), Some(b)) => Some(a + b),
        _ => None,
    };
    const NAME: &'static str = "tuple";
    #[inline(always)]
    fn size((a, b): Self::View<'_>) -> usize {
        A::size(a) + B::size(b)
    }
    #[inline(always)]
    unsafe fn write((a, b): Self::View<'_>, at: *mut u8, trust: Trust) {
        // SAFETY: the caller gives room for both parts, one behind the other.
        unsafe {
            A::write(a, at, trust);
            B::write(b, at.add(A::size(a)), trust);
        }
    }
    #[inline(always)]
    unsafe fn read<'a>(at: *const u8, trust: Trust) -> (Self::View<'a>, usize) {
        // SAFETY: `write` put both parts one behind the other.
        unsafe {
            let (a, size_a) = A::read(at, trust);
            let (b, size_b) = B::read(at.add(size_a), trust);
            ((a, b), size_a + size_b)
        }
    }
    #[inline]
    fn parse(bytes: &[u8]) -> Result<(Self::View<'_>, usize), DecodeError> {
        let (a, size_a) = A::parse(bytes)?;
        let (b, size_b) = B::parse(&bytes[size_a..])?;
        Ok(((a, b), size_a + size_b))
    }
}
impl<A: KeyWire, B: KeyWire> KeyWire for Cons<A, B> {
    #[inline(always)]
    unsafe fn from_key_bytes(bytes: &[u8], trust: Trust) -> Self::View<'_> {
        // SAFETY: the key bytes of this type are its encoding.
        unsafe { Self::read(bytes.as_ptr(), trust).0 }
    }
}

/// Byte strings: length as a little-endian `u32`, then the bytes.
#[derive(Debug)]
pub struct Blob;
impl Sealed for Blob {}

/// Bytes of the length in front of a text or byte string.
const LENGTH: usize = 4;

impl Wire for Blob {
    type View<'a> = &'a [u8];
    const FIXED: Option<usize> = None;
    const NAME: &'static str = "bytes";
    #[inline(always)]
    fn size(view: Self::View<'_>) -> usize {
        LENGTH + view.len()
    }
    #[inline(always)]
    unsafe fn write(view: Self::View<'_>, at: *mut u8, _: Trust) {
        let length = u32::try_from(view.len()).expect("a text or byte string is shorter than 4 GiB");
        // SAFETY: the caller gives room for the length and the bytes; fresh room overlaps no live view.
        unsafe {
            at.cast::<[u8; LENGTH]>().write_unaligned(length.to_le_bytes());
            std::ptr::copy_nonoverlapping(view.as_ptr(), at.add(LENGTH), view.len());
        }
    }
    #[inline(always)]
    unsafe fn read<'a>(at: *const u8, _: Trust) -> (Self::View<'a>, usize) {
        // SAFETY: `write` put a length and so many bytes behind it; the caller keeps them for `'a`.
        unsafe {
            let length = u32::from_le_bytes(at.cast::<[u8; LENGTH]>().read_unaligned()) as usize;
            (std::slice::from_raw_parts(at.add(LENGTH), length), LENGTH + length)
        }
    }
    #[inline]
    fn parse(bytes: &[u8]) -> Result<(Self::View<'_>, usize), DecodeError> {
        let (length, rest) = bytes
            .split_first_chunk::<LENGTH>()
            .ok_or(DecodeError::Truncated { need: LENGTH, have: bytes.len() })?;
        let length = u32::from_le_bytes(*length) as usize;
        let content =
            rest.get(..length).ok_or(DecodeError::Length { claimed: length as u64, have: rest.len() })?;
        Ok((content, LENGTH + length))
    }
}
impl KeyWire for Blob {
    #[inline(always)]
    fn with_bytes<R>(view: Self::View<'_>, f: impl FnOnce(&[u8]) -> R) -> R {
        f(view)
    }
    #[inline(always)]
    unsafe fn from_key_bytes(bytes: &[u8], _: Trust) -> Self::View<'_> {
        bytes
    }
    fn parse_key_bytes(bytes: &[u8]) -> Result<Self::View<'_>, DecodeError> {
        Ok(bytes)
    }
    #[inline]
    fn append_key_bytes(bytes: &[u8], out: &mut Vec<u8>) {
        append::<Self>(bytes, out);
    }
}

/// Texts: like [`Blob`], always valid UTF-8.
#[derive(Debug)]
pub struct Text;
impl Sealed for Text {}
impl Wire for Text {
    type View<'a> = &'a str;
    const FIXED: Option<usize> = None;
    const NAME: &'static str = "string";
    #[inline(always)]
    fn size(view: Self::View<'_>) -> usize {
        LENGTH + view.len()
    }
    #[inline(always)]
    unsafe fn write(view: Self::View<'_>, at: *mut u8, trust: Trust) {
        // SAFETY: as the caller promises for this call.
        unsafe { Blob::write(view.as_bytes(), at, trust) }
    }
    #[inline(always)]
    unsafe fn read<'a>(at: *const u8, trust: Trust) -> (Self::View<'a>, usize) {
        // SAFETY: `write` put valid UTF-8 there, and `parse` accepts nothing else.
        unsafe {
            let (bytes, size) = Blob::read(at, trust);
            (std::str::from_utf8_unchecked(bytes), size)
        }
    }
    #[inline]
    fn parse(bytes: &[u8]) -> Result<(Self::View<'_>, usize), DecodeError> {
        let (content, used) = Blob::parse(bytes)?;
        Ok((std::str::from_utf8(content).map_err(|_| DecodeError::Utf8)?, used))
    }
}
impl KeyWire for Text {
    #[inline(always)]
    fn with_bytes<R>(view: Self::View<'_>, f: impl FnOnce(&[u8]) -> R) -> R {
        f(view.as_bytes())
    }
    #[inline(always)]
    unsafe fn from_key_bytes(bytes: &[u8], _: Trust) -> Self::View<'_> {
        // SAFETY: the key bytes of a text are its content, which is valid UTF-8.
        unsafe { std::str::from_utf8_unchecked(bytes) }
    }
    fn parse_key_bytes(bytes: &[u8]) -> Result<Self::View<'_>, DecodeError> {
        std::str::from_utf8(bytes).map_err(|_| DecodeError::Utf8)
    }
    #[inline]
    fn append_key_bytes(bytes: &[u8], out: &mut Vec<u8>) {
        Blob::append_key_bytes(bytes, out);
    }
}

//! Parts one behind the other: tuples, structs and arrays.

use super::{DecodeError, KeyWire, Levels, Room, Sealed, Trust, Wire};
use std::marker::PhantomData;

/// The encoding of nothing: no bytes.
#[derive(Debug)]
pub struct Nil;
impl Sealed for Nil {}
impl Wire for Nil {
    type View<'a> = ();
    const FIXED: Option<usize> = Some(0);
    const NAME: &'static str = "()";
    #[inline(always)]
    fn measure(_: Self::View<'_>, _: Levels) -> usize {
        0
    }
    #[inline(always)]
    fn write(_: Self::View<'_>, _: &mut Room<'_>) {}
    #[inline(always)]
    unsafe fn read<'a>(_: *const u8, _: Trust) -> (Self::View<'a>, usize) {
        ((), 0)
    }
    #[inline(always)]
    fn check(_: &[u8], _: Levels) -> Result<usize, DecodeError> {
        Ok(0)
    }
}
impl KeyWire for Nil {}

/// One part followed by another: tuples and structs are trees of these. The shape of the tree leaves no trace in the
/// bytes.
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
    fn measure((a, b): Self::View<'_>, levels: Levels) -> usize {
        A::measure(a, levels) + B::measure(b, levels)
    }
    #[inline(always)]
    fn write((a, b): Self::View<'_>, room: &mut Room<'_>) {
        A::write(a, room);
        B::write(b, room);
    }
    #[inline(always)]
    unsafe fn read<'a>(at: *const u8, trust: Trust) -> (Self::View<'a>, usize) {
        // SAFETY: `write` put both parts one behind the other, and `check` found them so.
        unsafe {
            let (a, size_a) = A::read(at, trust);
            let (b, size_b) = B::read(at.add(size_a), trust);
            ((a, b), size_a + size_b)
        }
    }
    #[inline]
    fn check(bytes: &[u8], levels: Levels) -> Result<usize, DecodeError> {
        let a = A::check(bytes, levels)?;
        Ok(a + B::check(&bytes[a..], levels)?)
    }
}
impl<A: KeyWire, B: KeyWire> KeyWire for Cons<A, B> {}

/// `N` values one behind the other.
#[derive(Debug)]
pub struct Array<W, const N: usize>(PhantomData<fn() -> W>);
impl<W, const N: usize> Sealed for Array<W, N> {}
impl<W: Wire, const N: usize> Wire for Array<W, N> {
    type View<'a> = [W::View<'a>; N];
    const FIXED: Option<usize> = match W::FIXED {
        Some(size) => Some(size * N),
        None if N == 0 => Some(0),
        None => None,
    };
    const NAME: &'static str = "array";
    #[inline(always)]
    fn measure(view: Self::View<'_>, levels: Levels) -> usize {
        match Self::FIXED {
            Some(size) => size,
            None => view.into_iter().map(|item| W::measure(item, levels)).sum(),
        }
    }
    #[inline(always)]
    fn write(view: Self::View<'_>, room: &mut Room<'_>) {
        W::write_array(view, room);
    }
    #[inline(always)]
    unsafe fn read<'a>(at: *const u8, trust: Trust) -> (Self::View<'a>, usize) {
        let mut used = 0;
        let items = std::array::from_fn(|_| {
            // SAFETY: `write` put the items one behind the other, and `check` found them so.
            let (item, size) = unsafe { W::read(at.add(used), trust) };
            used += size;
            item
        });
        (items, used)
    }
    #[inline]
    fn check(bytes: &[u8], levels: Levels) -> Result<usize, DecodeError> {
        W::check_array::<N>(bytes, levels)
    }
}
impl<W: KeyWire, const N: usize> KeyWire for Array<W, N> {}

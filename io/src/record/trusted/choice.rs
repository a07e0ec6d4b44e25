//! One of several alternatives: options and enums.

use super::{DecodeError, KeyWire, Levels, Room, Sealed, Trust, Wire, need};
use std::fmt::Debug;
use std::marker::PhantomData;

/// A tag byte (the number of the alternative, counted from 0), then the alternative's value.
///
/// The alternatives are a tree of [`Or`] with a [`Case`] at each leaf; the shape of the tree leaves no trace in the
/// bytes.
#[derive(Debug)]
pub struct Tagged<C>(PhantomData<fn() -> C>);

/// One alternative of a [`Tagged`] encoding.
#[derive(Debug)]
pub struct Case<W>(PhantomData<fn() -> W>);

/// The alternatives of `A`, then those of `B`.
#[derive(Debug)]
pub struct Or<A, B>(PhantomData<fn() -> (A, B)>);

/// The view of an [`Or`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// One of the first alternatives.
    Left(A),
    /// One of those behind them.
    Right(B),
}

/// The alternatives of a [`Tagged`] encoding. Sealed.
pub trait Cases: Sealed + Send + 'static {
    /// What is written and read.
    type View<'a>: Copy + Debug + PartialEq;

    /// How many alternatives there are.
    const COUNT: usize;

    /// Bytes that the value of every alternative takes, or `None` where they differ.
    const FIXED: Option<usize>;

    /// The number of the alternative.
    fn tag(view: Self::View<'_>) -> usize;

    /// As [`Wire::measure`], without the tag.
    fn measure(view: Self::View<'_>, levels: Levels) -> usize;

    /// As [`Wire::write`], without the tag.
    fn write(view: Self::View<'_>, room: &mut Room<'_>);

    /// As [`Wire::read`], behind the tag.
    ///
    /// # Safety
    /// As for [`Wire::read`], with the tag that was in front.
    unsafe fn read<'a>(tag: usize, at: *const u8, trust: Trust) -> (Self::View<'a>, usize);

    /// As [`Wire::check`], behind a tag below [`Cases::COUNT`].
    ///
    /// # Errors
    /// Those of the alternative.
    fn check(tag: usize, bytes: &[u8], levels: Levels) -> Result<usize, DecodeError>;
}

impl<W> Sealed for Case<W> {}
impl<W: Wire> Cases for Case<W> {
    type View<'a> = W::View<'a>;
    const COUNT: usize = 1;
    const FIXED: Option<usize> = W::FIXED;
    #[inline(always)]
    fn tag(_: Self::View<'_>) -> usize {
        0
    }
    #[inline(always)]
    fn measure(view: Self::View<'_>, levels: Levels) -> usize {
        W::measure(view, levels)
    }
    #[inline(always)]
    fn write(view: Self::View<'_>, room: &mut Room<'_>) {
        W::write(view, room);
    }
    #[inline(always)]
    unsafe fn read<'a>(_: usize, at: *const u8, trust: Trust) -> (Self::View<'a>, usize) {
        // SAFETY: as the caller promises; this is the only alternative.
        unsafe { W::read(at, trust) }
    }
    #[inline]
    fn check(_: usize, bytes: &[u8], levels: Levels) -> Result<usize, DecodeError> {
        W::check(bytes, levels)
    }
}

impl<A, B> Sealed for Or<A, B> {}
impl<A: Cases, B: Cases> Cases for Or<A, B> {
    type View<'a> = Either<A::View<'a>, B::View<'a>>;
    const COUNT: usize = A::COUNT + B::COUNT;
    const FIXED: Option<usize> = match (A::FIXED, B::FIXED) {
        (Some(a), Some(b)) if a == b => Some(a),
        _ => None,
    };
    #[inline(always)]
    fn tag(view: Self::View<'_>) -> usize {
        match view {
            Either::Left(view) => A::tag(view),
            Either::Right(view) => A::COUNT + B::tag(view),
        }
    }
    #[inline(always)]
    fn measure(view: Self::View<'_>, levels: Levels) -> usize {
        match view {
            Either::Left(view) => A::measure(view, levels),
            Either::Right(view) => B::measure(view, levels),
        }
    }
    #[inline(always)]
    fn write(view: Self::View<'_>, room: &mut Room<'_>) {
        match view {
            Either::Left(view) => A::write(view, room),
            Either::Right(view) => B::write(view, room),
        }
    }
    #[inline(always)]
    unsafe fn read<'a>(tag: usize, at: *const u8, trust: Trust) -> (Self::View<'a>, usize) {
        // SAFETY: as the caller promises: the tag says which side was written.
        unsafe {
            if tag < A::COUNT {
                let (view, size) = A::read(tag, at, trust);
                (Either::Left(view), size)
            } else {
                let (view, size) = B::read(tag - A::COUNT, at, trust);
                (Either::Right(view), size)
            }
        }
    }
    #[inline]
    fn check(tag: usize, bytes: &[u8], levels: Levels) -> Result<usize, DecodeError> {
        if tag < A::COUNT { A::check(tag, bytes, levels) } else { B::check(tag - A::COUNT, bytes, levels) }
    }
}

impl<C> Sealed for Tagged<C> {}
impl<C: Cases> Wire for Tagged<C> {
    type View<'a> = C::View<'a>;
    const FIXED: Option<usize> = {
        assert!(C::COUNT <= 256, "a tag is one byte: at most 256 alternatives");
        match C::FIXED {
            Some(size) => Some(1 + size),
            None => None,
        }
    };
    const NAME: &'static str = "an option or enum";
    #[inline(always)]
    fn measure(view: Self::View<'_>, levels: Levels) -> usize {
        1 + C::measure(view, levels)
    }
    #[inline(always)]
    fn write(view: Self::View<'_>, room: &mut Room<'_>) {
        room.put(&[C::tag(view) as u8]);
        C::write(view, room);
    }
    #[inline(always)]
    unsafe fn read<'a>(at: *const u8, trust: Trust) -> (Self::View<'a>, usize) {
        // SAFETY: the tag and the value of its alternative are there.
        unsafe {
            let (view, size) = C::read(usize::from(at.read()), at.add(1), trust);
            (view, 1 + size)
        }
    }
    #[inline]
    fn check(bytes: &[u8], levels: Levels) -> Result<usize, DecodeError> {
        need(bytes, 1)?;
        let tag = usize::from(bytes[0]);
        if tag >= C::COUNT {
            return Err(DecodeError::Tag { tag: bytes[0], what: Self::NAME });
        }
        Ok(1 + C::check(tag, &bytes[1..], levels)?)
    }
}

/// Alternatives whose values may be keys. Sealed.
pub trait KeyCases: Cases {}
impl<W: KeyWire> KeyCases for Case<W> {}
impl<A: KeyCases, B: KeyCases> KeyCases for Or<A, B> {}
impl<C: KeyCases> KeyWire for Tagged<C> {}

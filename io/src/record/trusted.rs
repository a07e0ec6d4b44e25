//! Trusted decoding: the only place that turns raw pointers into views of records.
//!
//! [`Wire`] types are sealed: every one is defined here, and every [`Record`] is mapped to a composition of them by
//! safe code. So the invariant that all unsafe code below rests on can be checked in this module alone:
//!
//! > `read(p)` at bytes that `write` completed, or that `check` accepted, returns the view that was written and its
//! > size, and looks at no byte beyond them.
//!
//! # Why writing cannot leave its room
//!
//! The size of a record is asked for before it is written, and between the two calls user code may run: a list of
//! owned values asks each of them for its view, twice, and a view may change its mind (it may hold a `Cell`). So no
//! writer trusts the size that was computed. Everything is written through a [`Room`], which counts what is left and
//! panics before a byte would fall outside; and `write_at` panics when bytes are left over, so that no uninitialised
//! byte is ever taken for a record. For records of fixed size the compiler knows all numbers and removes the tests.
//!
//! [`Trust`] and [`Room`] cannot be made outside this crate, so the unsafe methods are out of reach for users even in
//! `unsafe` code.
#![expect(unsafe_code, reason = "trusted decoding is one of the places that the architecture names")]

mod bytes;
mod choice;
mod key;
mod list;
mod number;
mod product;
mod room;

pub use bytes::{Blob, Text};
pub use choice::{Case, Cases, Either, Or, Tagged};
pub use key::KeyWire;
pub use list::{List, ListIter, ListRef, ListWire};
pub use number::{Bool, Char, F32, F64, I8, I16, I32, I64, I128, U8, U16, U32, U64, U128};
pub use product::{Array, Cons, Nil};
pub use room::Room;

use super::{DecodeError, Record, Row, WireView};
use std::fmt::Debug;

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

/// How many more lists may be nested: bounds the stack that a recursive type takes.
#[derive(Clone, Copy, Debug)]
pub struct Levels(u8);

impl Levels {
    /// The deepest nesting of lists inside one record.
    pub const ALL: Self = Self(128);

    /// One level further down, `None` at the bottom.
    #[inline]
    fn down(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }
}

/// A built-in encoding. Sealed; see the module page.
pub trait Wire: Sealed + Sized + Send + 'static {
    /// What is written and read: a `Copy` view.
    type View<'a>: Copy + Debug + PartialEq;

    /// Bytes that every value takes, or `None` where values differ (then each takes at least one).
    const FIXED: Option<usize>;

    /// The type's name in error messages.
    const NAME: &'static str;

    /// Bytes that `view` takes.
    ///
    /// # Panics
    /// When lists are nested deeper than [`Levels::ALL`]: such a record could not be read back.
    #[inline(always)]
    fn size(view: Self::View<'_>) -> usize {
        Self::measure(view, Levels::ALL)
    }

    /// [`Wire::size`] of a part below which so many levels of lists may follow.
    fn measure(view: Self::View<'_>, levels: Levels) -> usize;

    /// Writes the value. Takes exactly [`Wire::size`] bytes of the room, unless a user's view changed in between.
    ///
    /// # Panics
    /// When the room is too small.
    fn write(view: Self::View<'_>, room: &mut Room<'_>);

    /// Reads a value without checks.
    ///
    /// # Safety
    /// `at` must point to bytes that [`Wire::write`] completed or [`Wire::check`] accepted, valid for `'a`.
    unsafe fn read<'a>(at: *const u8, trust: Trust) -> (Self::View<'a>, usize);

    /// Checks untrusted bytes that begin with a value and returns how many bytes it takes. Allocates nothing.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes do not begin with an encoding of this type.
    fn check(bytes: &[u8], levels: Levels) -> Result<usize, DecodeError>;

    /// [`Wire::write`] of so many values one behind the other.
    #[inline(always)]
    fn write_array<const N: usize>(view: [Self::View<'_>; N], room: &mut Room<'_>) {
        for item in view {
            Self::write(item, room);
        }
    }

    /// [`Wire::check`] of so many values one behind the other.
    ///
    /// # Errors
    /// As for [`Wire::check`].
    #[inline]
    fn check_array<const N: usize>(bytes: &[u8], levels: Levels) -> Result<usize, DecodeError> {
        let mut used = 0;
        for _ in 0..N {
            used += Self::check(&bytes[used..], levels)?;
        }
        Ok(used)
    }

    /// Reads a value from the front of untrusted bytes.
    ///
    /// # Errors
    /// Those of [`Wire::check`].
    #[inline]
    fn parse(bytes: &[u8]) -> Result<(Self::View<'_>, usize), DecodeError> {
        Self::check(bytes, Levels::ALL)?;
        // SAFETY: the bytes were accepted.
        Ok(unsafe { Self::read(bytes.as_ptr(), Trust::YES) })
    }
}

/// Writes `view` to exactly `size` bytes at `at`.
///
/// # Panics
/// When the view takes another number of bytes than `size`; the bytes then are not to be used.
///
/// # Safety
/// `at` must be valid for writes of `size` bytes, and no view may borrow from them.
#[inline(always)]
pub(crate) unsafe fn write_at<W: Wire>(view: W::View<'_>, at: *mut u8, size: usize) {
    // SAFETY: as the caller promises.
    let mut room = unsafe { Room::new(at, size) };
    W::write(view, &mut room);
    room.finish();
}

/// Appends the encoding of `view` to `out`.
#[inline]
pub(crate) fn append<W: Wire>(view: W::View<'_>, out: &mut Vec<u8>) {
    let size = W::size(view);
    out.reserve(size);
    let used = out.len();
    // SAFETY: `reserve` made room for `size` bytes behind the used ones, and `write_at` returns only when it has
    // initialised exactly those.
    unsafe {
        write_at::<W>(view, out.as_mut_ptr().add(used), size);
        out.set_len(used + size);
    }
}

/// Writes `view` to bytes of which it takes all.
///
/// # Panics
/// When it takes fewer or more; the bytes then are not to be used.
#[inline(always)]
pub(crate) fn fill<W: Wire>(view: W::View<'_>, out: &mut [u8]) {
    // SAFETY: the bytes are borrowed for writing, by nobody else.
    unsafe { write_at::<W>(view, out.as_mut_ptr(), out.len()) }
}

/// The view of a row's bytes.
#[inline(always)]
pub(crate) fn view_of_row<T: Record>(row: Row<'_, T>) -> WireView<'_, T> {
    // SAFETY: a `Row<T>` holds the encoding of exactly one `T`: see its constructors.
    unsafe { T::Wire::read(row.bytes().as_ptr(), Trust::YES).0 }
}

#[inline(always)]
fn need(bytes: &[u8], n: usize) -> Result<(), DecodeError> {
    if bytes.len() < n { Err(DecodeError::Truncated { need: n, have: bytes.len() }) } else { Ok(()) }
}

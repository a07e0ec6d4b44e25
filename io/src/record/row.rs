//! The encoded bytes of one record, known to be well-formed.

use super::trusted::{self, Levels, Trust, Wire};
use super::{DecodeError, Record};
use std::fmt;
use std::marker::PhantomData;

/// One record as bytes that are known to be its encoding: written by this process, or checked by [`Row::parse`].
///
/// Because a `Row<T>` can be made in no other way, reading its view needs no checks.
pub struct Row<'a, T: Record> {
    bytes: &'a [u8],
    of: PhantomData<fn() -> T>,
}

impl<T: Record> Clone for Row<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Record> Copy for Row<'_, T> {}

impl<T: Record> fmt::Debug for Row<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}

impl<'a, T: Record> Row<'a, T> {
    /// Checks untrusted bytes that hold exactly one record.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes are no encoding of `T`, or when some are left over.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        // Not `T::parse`: an implementation may replace that one, and reading the view relies on the check.
        let used = T::Wire::check(bytes, Levels::ALL)?;
        if used != bytes.len() {
            return Err(DecodeError::Trailing(bytes.len() - used));
        }
        Ok(Self { bytes, of: PhantomData })
    }

    /// Bytes that this crate wrote as a `T`, exactly one record long.
    #[inline(always)]
    pub(crate) fn trusted(bytes: &'a [u8], _: Trust) -> Self {
        Self { bytes, of: PhantomData }
    }

    /// The encoded bytes.
    #[inline(always)]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The view, read without checks.
    #[inline(always)]
    pub fn view(self) -> T::Ref<'a> {
        T::from_wire(trusted::view_of_row::<T>(self))
    }
}

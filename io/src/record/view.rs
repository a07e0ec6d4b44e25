//! The argument of closures whose result borrows from the record.

use super::Record;
use std::fmt;
use std::ops::Deref;

/// A record's view, wrapped so that a closure's result may borrow from it: `key_by::<String>(|click| click.url)`.
///
/// (A closure `for<'a> FnMut(T::Ref<'a>) -> K::Ref<'a>` is refused by the language, E0582; with the view inside a
/// plain struct the same closure compiles.)
pub struct View<'a, T: Record>(T::Ref<'a>);

impl<'a, T: Record> View<'a, T> {
    /// Wraps a view.
    #[inline(always)]
    pub fn new(view: T::Ref<'a>) -> Self {
        Self(view)
    }

    /// The view itself, with its own lifetime.
    #[inline(always)]
    pub fn get(self) -> T::Ref<'a> {
        self.0
    }
}

impl<T: Record> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Record> Copy for View<'_, T> {}

impl<T: Record> fmt::Debug for View<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Record> PartialEq for View<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<'a, T: Record> Deref for View<'a, T> {
    type Target = T::Ref<'a>;

    #[inline(always)]
    fn deref(&self) -> &T::Ref<'a> {
        &self.0
    }
}

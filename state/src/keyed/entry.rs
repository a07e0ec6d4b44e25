//! The value of one key, while an operator works on it.

use std::ops::{Deref, DerefMut};

/// The value of one key: a `&mut V` that knows whether it was there before, and can be taken away.
#[derive(Debug)]
pub struct Entry<'a, V> {
    value: &'a mut V,
    new: bool,
    cleared: &'a mut bool,
}

impl<'a, V> Entry<'a, V> {
    /// The backend reads `cleared` once the operator is done.
    #[inline(always)]
    pub(crate) fn new(value: &'a mut V, new: bool, cleared: &'a mut bool) -> Self {
        Self { value, new, cleared }
    }

    /// Whether the key had no value before.
    #[inline(always)]
    pub fn is_new(&self) -> bool {
        self.new
    }

    /// Takes the key's value away, as soon as the operator is done with this record.
    #[inline(always)]
    pub fn clear(self) {
        *self.cleared = true;
    }

    /// The value for as long as the backend lends it.
    #[inline(always)]
    pub fn into_mut(self) -> &'a mut V {
        self.value
    }
}

impl<V> Deref for Entry<'_, V> {
    type Target = V;

    #[inline(always)]
    fn deref(&self) -> &V {
        self.value
    }
}

impl<V> DerefMut for Entry<'_, V> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut V {
        self.value
    }
}

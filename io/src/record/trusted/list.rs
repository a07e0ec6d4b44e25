//! Lists, and the view of a list.

use super::{DecodeError, KeyWire, Levels, Room, Sealed, Trust, Wire};
use crate::record::Record;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;

/// Bytes of a count or length.
const NUMBER: usize = 4;

/// Any number of records.
///
/// Where every item takes the same number of bytes: the number of items as a little-endian `u32`, then the items.
/// Else: the number of bytes behind both numbers, the number of items, then the items. Items that take no bytes are
/// written as one zero byte each, so that the number of items never exceeds the number of bytes.
#[derive(Debug)]
pub struct List<T>(PhantomData<fn() -> T>);

/// The encoding of a `Vec<T>`: [`List`] for every record, [`Blob`](super::Blob) for `u8`. Sealed.
pub trait ListWire<T>: Wire {
    /// The view of owned items.
    fn of(items: &[T]) -> Self::View<'_>;
    /// Owned items from a view.
    fn to_vec(view: Self::View<'_>) -> Vec<T>;
    /// The same view, for a shorter time.
    fn shorten<'short, 'long: 'short>(view: Self::View<'long>) -> Self::View<'short>;
}

impl<T: Record> List<T> {
    /// Bytes of each item, where they all take the same.
    const STRIDE: Option<usize> = match T::Wire::FIXED {
        Some(0) => Some(1),
        other => other,
    };
    /// Whether an item is written as a zero byte.
    const EMPTY_ITEMS: bool = matches!(T::Wire::FIXED, Some(0));
    /// Bytes in front of the items.
    const HEADER: usize = if Self::STRIDE.is_some() { NUMBER } else { 2 * NUMBER };

    /// Checks that bytes are exactly `len` items.
    fn check_items(items: &[u8], len: usize, levels: Levels) -> Result<(), DecodeError> {
        if Self::EMPTY_ITEMS {
            return match items.iter().find(|&&byte| byte != 0) {
                Some(&tag) => Err(DecodeError::Tag { tag, what: "an item without bytes" }),
                None => Ok(()),
            };
        }
        let mut used = 0;
        for _ in 0..len {
            used += T::Wire::check(&items[used..], levels)?;
        }
        if used == items.len() {
            Ok(())
        } else {
            Err(DecodeError::Length { claimed: items.len() as u64, have: used })
        }
    }
}

impl<T: Record> ListWire<T> for List<T> {
    #[inline(always)]
    fn of(items: &[T]) -> Self::View<'_> {
        ListRef::from(items)
    }
    #[inline(always)]
    fn shorten<'short, 'long: 'short>(view: Self::View<'long>) -> Self::View<'short> {
        view
    }
    fn to_vec(view: Self::View<'_>) -> Vec<T> {
        let mut items = Vec::with_capacity(view.len());
        items.extend(view.iter().map(T::own));
        items
    }
}

impl<T> Sealed for List<T> {}
impl<T: Record> Wire for List<T> {
    type View<'a> = ListRef<'a, T>;
    const FIXED: Option<usize> = None;
    const NAME: &'static str = "list";

    fn measure(view: Self::View<'_>, levels: Levels) -> usize {
        let levels = levels.down().unwrap_or_else(|| panic!("lists inside a record are nested too deeply"));
        Self::HEADER
            + match (view.0, Self::STRIDE) {
                (Form::Encoded { items, len }, _) => {
                    // An encoded list was nested no deeper than it may be as the outermost one. It only stands further
                    // in when an owned item has it for a view, which derived records never do.
                    if levels.0 + 1 < Levels::ALL.0 {
                        let checked = Self::check_items(items, len, levels);
                        assert!(checked.is_ok(), "lists inside a record are nested too deeply");
                    }
                    items.len()
                }
                (Form::Owned(items), Some(stride)) => items.len() * stride,
                (Form::Owned(items), None) => {
                    items.iter().map(|item| T::Wire::measure(T::to_wire(item.view()), levels)).sum()
                }
            }
    }

    fn write(view: Self::View<'_>, room: &mut Room<'_>) {
        let bytes = if Self::STRIDE.is_none() { Some(room.hole()) } else { None };
        room.put(&number(view.len()).to_le_bytes());
        let start = room.used();
        match view.0 {
            Form::Encoded { items, .. } => room.put(items),
            Form::Owned(items) if Self::EMPTY_ITEMS => items.iter().for_each(|_| room.put(&[0])),
            Form::Owned(items) => items.iter().for_each(|item| T::Wire::write(T::to_wire(item.view()), room)),
        }
        if let Some(hole) = bytes {
            let length = number(room.used() - start);
            room.fill(hole, length);
        }
    }

    #[inline]
    unsafe fn read<'a>(at: *const u8, _: Trust) -> (Self::View<'a>, usize) {
        // SAFETY: the numbers, and the items that they describe, are there; the caller keeps them for `'a`.
        unsafe {
            let first = u32::from_le_bytes(at.cast::<[u8; NUMBER]>().read_unaligned()) as usize;
            let (len, size) = match Self::STRIDE {
                Some(stride) => (first, first * stride),
                None => {
                    let second = at.add(NUMBER).cast::<[u8; NUMBER]>().read_unaligned();
                    (u32::from_le_bytes(second) as usize, first)
                }
            };
            let items = std::slice::from_raw_parts(at.add(Self::HEADER), size);
            (ListRef(Form::Encoded { items, len }), Self::HEADER + size)
        }
    }

    fn check(bytes: &[u8], levels: Levels) -> Result<usize, DecodeError> {
        let levels = levels.down().ok_or(DecodeError::Depth)?;
        let (first, rest) = take_number(bytes)?;
        let (len, size, rest) = match Self::STRIDE {
            Some(stride) => (first, first.saturating_mul(stride), rest),
            None => {
                let (len, rest) = take_number(rest)?;
                (len, first, rest)
            }
        };
        let items = rest.get(..size).ok_or(DecodeError::Length { claimed: size as u64, have: rest.len() })?;
        Self::check_items(items, len, levels)?;
        Ok(Self::HEADER + size)
    }
}
impl<T: Record<Wire: KeyWire>> KeyWire for List<T> {}

fn number(value: usize) -> u32 {
    u32::try_from(value).expect("a list has fewer than 2^32 items and takes less than 4 GiB")
}

fn take_number(bytes: &[u8]) -> Result<(usize, &[u8]), DecodeError> {
    let (number, rest) = bytes
        .split_first_chunk::<NUMBER>()
        .ok_or(DecodeError::Truncated { need: NUMBER, have: bytes.len() })?;
    Ok((u32::from_le_bytes(*number) as usize, rest))
}

/// The view of a `Vec<T>`: borrowed from owned items, or from their encoding.
///
/// Items are read one by one while iterating; nothing is allocated.
pub struct ListRef<'a, T>(Form<'a, T>);

enum Form<'a, T> {
    Owned(&'a [T]),
    /// `len` items one behind the other, written by `List::write` or accepted by `List::check`.
    Encoded {
        items: &'a [u8],
        len: usize,
    },
}

impl<T> Clone for Form<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Form<'_, T> {}
impl<T> Clone for ListRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for ListRef<'_, T> {}

impl<'a, T> From<&'a [T]> for ListRef<'a, T> {
    #[inline(always)]
    fn from(items: &'a [T]) -> Self {
        Self(Form::Owned(items))
    }
}

impl<'a, T: Record> ListRef<'a, T> {
    /// Number of items.
    #[inline]
    pub fn len(self) -> usize {
        match self.0 {
            Form::Owned(items) => items.len(),
            Form::Encoded { len, .. } => len,
        }
    }

    /// Whether there are no items.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The items' views, in order.
    #[inline]
    pub fn iter(self) -> ListIter<'a, T> {
        ListIter(self.0)
    }

    /// The view of item `index`, `None` beyond the end. Walks over the items in front when they differ in size.
    pub fn get(self, index: usize) -> Option<T::Ref<'a>> {
        match self.0 {
            Form::Owned(items) => items.get(index).map(T::view),
            Form::Encoded { items, len } => match List::<T>::STRIDE {
                Some(stride) if index < len => {
                    ListIter::<T>(Form::Encoded { items: &items[index * stride..], len: len - index }).next()
                }
                Some(_) => None,
                None => self.iter().nth(index),
            },
        }
    }

    /// Owned items.
    pub fn to_vec(self) -> Vec<T> {
        List::to_vec(self)
    }
}

impl<T: Record> fmt::Debug for ListRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Equal when the items' views are.
impl<'a, T: Record> PartialEq for ListRef<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().zip(other.iter()).all(|(a, b)| a == b)
    }
}

impl<'a, T: Record> IntoIterator for ListRef<'a, T> {
    type Item = T::Ref<'a>;
    type IntoIter = ListIter<'a, T>;
    #[inline]
    fn into_iter(self) -> ListIter<'a, T> {
        self.iter()
    }
}

/// The views of a list's items, in order.
pub struct ListIter<'a, T>(Form<'a, T>);

impl<T> Clone for ListIter<'_, T> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<T: Record> fmt::Debug for ListIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ListRef(self.0).fmt(f)
    }
}

impl<'a, T: Record> Iterator for ListIter<'a, T> {
    type Item = T::Ref<'a>;

    #[inline]
    fn next(&mut self) -> Option<T::Ref<'a>> {
        match &mut self.0 {
            Form::Owned(items) => {
                let (first, rest) = items.split_first()?;
                *items = rest;
                Some(first.view())
            }
            Form::Encoded { len: 0, .. } => None,
            Form::Encoded { items, len } => {
                // SAFETY: an encoded list holds `len` more items of this type.
                let (item, size) = unsafe { T::Wire::read(items.as_ptr(), Trust::YES) };
                *items = &items[if List::<T>::EMPTY_ITEMS { 1 } else { size }..];
                *len -= 1;
                Some(T::from_wire(item))
            }
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = ListRef(self.0).len();
        (len, Some(len))
    }
}

impl<T: Record> ExactSizeIterator for ListIter<'_, T> {}
impl<T: Record> FusedIterator for ListIter<'_, T> {}

//! A list for each key: adding writes the new element alone.

use super::place::{Entries, Place};
use super::{StateFault, ttl};
use millstream_io::record::{DecodeError, Key, Record};
use std::marker::PhantomData;

/// Bytes that the elements of a list may take together, each with [`LIST_ELEMENT`] (MS-028).
pub const LIST_BYTES: u64 = 64 << 20;

/// Bytes that an element of a list is taken to have besides its own.
pub const LIST_ELEMENT: u64 = 16;

/// Bytes of the end that an element has in its key.
const END: usize = 8;

/// The list of a key, in the order in which its elements were added.
///
/// ```
/// # use millstream_io::record::Key;
/// # use millstream_state::kinds::{Declarations, States};
/// # use millstream_state::{HeapOrdered, Parallelism};
/// let mut declared = Declarations::<u64>::new();
/// let items = declared.list::<String>("items");
/// # let width = Parallelism::new(1, None)?;
/// # let mut states = States::new(&declared, width, 0, |_, range| Ok(Box::new(HeapOrdered::new(range))))?;
/// let mut seven = states.at(u64::hash(7), 7);
/// seven.list(items).add("pen");
/// seven.list(items).add_all(["ink", "paper"]);
/// assert_eq!(seven.list(items).get().collect::<Vec<_>>(), ["pen", "ink", "paper"]);
/// seven.list(items).replace(["desk"]);
/// assert_eq!(seven.list(items).get().collect::<Vec<_>>(), ["desk"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a view does nothing by itself"]
pub struct ListView<'a, T, N = ()> {
    place: Place<'a>,
    of: PhantomData<fn() -> (T, N)>,
}

/// How long a list is: where it begins, which is not at 0 when older elements have expired, and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    start: u64,
    end: u64,
}

impl<'a, T: Record, N: Key> ListView<'a, T, N> {
    pub(super) fn new(place: Place<'a>) -> Self {
        Self { place, of: PhantomData }
    }

    /// The same in a namespace.
    pub fn within(self, namespace: N::Ref<'_>) -> Self {
        Self::new(self.place.within::<N>(namespace))
    }

    /// Adds an element at the end.
    pub fn add(&mut self, element: T::Ref<'_>) {
        let mut bounds = self.bounds();
        self.append(&mut bounds, element);
    }

    /// Adds elements at the end.
    pub fn add_all<'e>(&mut self, elements: impl IntoIterator<Item = T::Ref<'e>>) {
        let mut bounds = self.bounds();
        for element in elements {
            self.append(&mut bounds, element);
        }
    }

    /// Has these elements take the place of those that are there; with none of them it is [`clear`](Self::clear).
    pub fn replace<'e>(&mut self, elements: impl IntoIterator<Item = T::Ref<'e>>) {
        self.clear();
        self.add_all(elements);
    }

    /// The elements, as they are kept.
    pub fn get(mut self) -> Elements<'a, T> {
        self.place.touch_all(true);
        Elements { entries: self.place.entries(), of: PhantomData }
    }

    /// Whether there is no element.
    pub fn is_empty(&mut self) -> bool {
        self.place.touch_all(false);
        self.place.is_empty()
    }

    /// Removes all elements.
    pub fn clear(&mut self) {
        self.place.clear();
    }

    fn bounds(&mut self) -> Bounds {
        let place = &mut self.place;
        place.go_to(|entry| entry.extend_from_slice(&[0xff; END]));
        let last = place.kept.backend.last_before(place.group, place.entry);
        let prefix = &place.entry[..place.place];
        let end = last.and_then(|(key, _)| end_of(key.strip_prefix(prefix)?)).unwrap_or(0);
        let start = if end > 0 && place.kept.ttl.is_some() { self.start() } else { 0 };
        Bounds { start, end }
    }

    /// Where a list begins whose first elements may have expired.
    fn start(&mut self) -> u64 {
        let place = &mut self.place;
        place.entry.truncate(place.place);
        let first = place.kept.backend.first_from(place.group, place.entry);
        let start = first.and_then(|(key, value)| {
            let (_, body) = ttl::split(value)?;
            end_of(key.strip_prefix(place.entry.as_slice())?)?.checked_sub(body.len() as u64 + LIST_ELEMENT)
        });
        start.unwrap_or(0)
    }

    fn append(&mut self, bounds: &mut Bounds, element: T::Ref<'_>) {
        let place = &mut self.place;
        let more = place.kept.write(place.now, |out| T::encode_into(element, out)) as u64 + LIST_ELEMENT;
        let end = bounds.end.checked_add(more);
        let bytes = end.map_or(u64::MAX, |end| end - bounds.start.min(end));
        match end {
            Some(end) if bytes <= LIST_BYTES => {
                place.go_to(|entry| entry.extend_from_slice(&end.to_be_bytes()));
                let put = place.kept.put_written(place.group, place.entry);
                if put.is_ok() {
                    bounds.end = end;
                }
                place.note(put);
            }
            _ => {
                let (state, key) = (place.kept.name.clone(), place.hash);
                let fault = StateFault::ListTooLong { state, key, more, bytes, most: LIST_BYTES };
                place.fault.get_or_insert(fault);
            }
        }
    }
}

/// The end in an element's key.
fn end_of(suffix: &[u8]) -> Option<u64> {
    suffix.try_into().ok().map(u64::from_be_bytes)
}

/// The elements of a list.
pub struct Elements<'a, T> {
    entries: Entries<'a>,
    of: PhantomData<fn() -> T>,
}

impl<'a, T: Record> Iterator for Elements<'a, T> {
    type Item = T::Ref<'a>;

    fn next(&mut self) -> Option<T::Ref<'a>> {
        self.entries.next(|_, element| {
            let (element, _): (_, usize) = T::parse(element)?;
            Ok::<_, DecodeError>(element)
        })
    }
}

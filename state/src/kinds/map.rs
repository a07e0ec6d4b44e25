//! A map for each key.

use super::place::{Entries, Place};
use millstream_io::record::{Key, Record};
use std::marker::PhantomData;

/// The map of a key.
///
/// ```
/// # use millstream_io::record::Key;
/// # use millstream_state::kinds::{Declarations, States};
/// # use millstream_state::{HeapOrdered, Parallelism};
/// let mut declared = Declarations::<u64>::new();
/// let prices = declared.map::<String, u32>("prices");
/// # let width = Parallelism::new(1, None)?;
/// # let mut states = States::new(&declared, width, 0, |_, range| Ok(Box::new(HeapOrdered::new(range))))?;
/// let mut seven = states.at(u64::hash(7), 7);
/// seven.map(prices).put("pen", 2);
/// seven.map(prices).put_all([("ink", 5), ("desk", 80)]);
/// seven.map(prices).remove("ink");
/// assert!(seven.map(prices).contains("pen"));
/// assert_eq!(seven.map(prices).get("desk"), Some(80));
/// assert_eq!(seven.map(prices).iter().count(), 2);
/// seven.map(prices).retain(|_, price| price < 10);
/// assert_eq!(seven.map(prices).iter().collect::<Vec<_>>(), [("pen", 2)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a view does nothing by itself"]
pub struct MapView<'a, MK, MV, N = ()> {
    place: Place<'a>,
    of: PhantomData<fn() -> (MK, MV, N)>,
}

impl<'a, MK: Key, MV: Record, N: Key> MapView<'a, MK, MV, N> {
    pub(super) fn new(place: Place<'a>) -> Self {
        Self { place, of: PhantomData }
    }

    /// The same in a namespace.
    pub fn within(self, namespace: N::Ref<'_>) -> Self {
        Self::new(self.place.within::<N>(namespace))
    }

    fn go_to(&mut self, key: MK::Ref<'_>) {
        self.place.go_to(|entry| MK::encode_into(key, entry));
    }

    /// What a key of the map has, as it is kept.
    pub fn get(mut self, key: MK::Ref<'_>) -> Option<MV::Ref<'a>> {
        self.go_to(key);
        self.place.touch(true);
        self.place.into_found(|bytes| MV::parse(bytes).map(|(value, _)| value))
    }

    /// Gives a key of the map a value.
    pub fn put(&mut self, key: MK::Ref<'_>, value: MV::Ref<'_>) {
        self.go_to(key);
        self.place.put(|out| MV::encode_into(value, out));
    }

    /// Gives several keys of the map values.
    pub fn put_all<'e>(&mut self, entries: impl IntoIterator<Item = (MK::Ref<'e>, MV::Ref<'e>)>) {
        entries.into_iter().for_each(|(key, value)| self.put(key, value));
    }

    /// Takes a key out of the map. Returns whether it was there.
    pub fn remove(&mut self, key: MK::Ref<'_>) -> bool {
        self.go_to(key);
        self.place.touch(false);
        self.place.remove()
    }

    /// Whether a key is in the map.
    pub fn contains(&mut self, key: MK::Ref<'_>) -> bool {
        self.go_to(key);
        self.place.touch(true);
        self.place.found(|_| Ok(())).is_some()
    }

    /// Keys and values, as they are kept, in no particular order.
    pub fn iter(mut self) -> MapEntries<'a, MK, MV> {
        self.place.touch_all(true);
        MapEntries { entries: self.place.entries(), of: PhantomData }
    }

    /// Keeps those for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(MK::Ref<'_>, MV::Ref<'_>) -> bool) {
        self.place.touch_all(true);
        self.place.each(|place| {
            let key = place.entry[place.place..].to_vec();
            let kept = place.found(|value| Ok(keep(MK::parse(&key)?.0, MV::parse(value)?.0)));
            if kept == Some(false) {
                place.remove();
            }
        });
    }

    /// Whether the map is empty.
    pub fn is_empty(&mut self) -> bool {
        self.place.touch_all(false);
        self.place.is_empty()
    }

    /// Empties the map.
    pub fn clear(&mut self) {
        self.place.clear();
    }
}

/// Keys and values of a map.
pub struct MapEntries<'a, MK, MV> {
    entries: Entries<'a>,
    of: PhantomData<fn() -> (MK, MV)>,
}

impl<'a, MK: Key, MV: Record> Iterator for MapEntries<'a, MK, MV> {
    type Item = (MK::Ref<'a>, MV::Ref<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next(|key, value| Ok((MK::parse(key)?.0, MV::parse(value)?.0)))
    }
}

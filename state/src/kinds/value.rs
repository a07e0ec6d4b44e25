//! A value for each key.

use super::place::Place;
use millstream_io::record::{Key, Record};
use std::marker::PhantomData;

/// The value of a key.
///
/// ```
/// # use millstream_io::record::Key;
/// # use millstream_state::kinds::{Declarations, States};
/// # use millstream_state::{HeapOrdered, Parallelism};
/// let mut declared = Declarations::<u64>::new();
/// let name = declared.value::<String>("name");
/// # let width = Parallelism::new(1, None)?;
/// # let mut states = States::new(&declared, width, 0, |_, range| Ok(Box::new(HeapOrdered::new(range))))?;
/// let mut seven = states.at(u64::hash(7), 7);
/// assert_eq!(seven.value(name).get(), None);
/// seven.value(name).set("seven");
/// assert_eq!(seven.value(name).get(), Some("seven"));
/// seven.value(name).clear();
/// assert_eq!(seven.value(name).get(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a view does nothing by itself"]
pub struct ValueView<'a, V, N = ()> {
    place: Place<'a>,
    of: PhantomData<fn() -> (V, N)>,
}

impl<'a, V: Record, N: Key> ValueView<'a, V, N> {
    pub(super) fn new(place: Place<'a>) -> Self {
        Self { place, of: PhantomData }
    }

    /// The same in a namespace.
    pub fn within(self, namespace: N::Ref<'_>) -> Self {
        Self::new(self.place.within::<N>(namespace))
    }

    /// The value, if there is one, as it is kept.
    pub fn get(mut self) -> Option<V::Ref<'a>> {
        self.place.touch(true);
        self.place.into_found(|bytes| V::parse(bytes).map(|(value, _)| value))
    }

    /// Gives the key this value.
    pub fn set(&mut self, value: V::Ref<'_>) {
        self.place.put(|out| V::encode_into(value, out));
    }

    /// Takes the value away.
    pub fn clear(&mut self) {
        self.place.remove();
    }

    /// Takes the value out.
    pub fn take(&mut self) -> Option<V> {
        let value = self.owned();
        self.place.remove();
        value
    }

    /// Has `f` change the value, which begins as `V::default()`.
    pub fn update(&mut self, f: impl FnOnce(&mut V))
    where
        V: Default,
    {
        let mut value = self.owned().unwrap_or_default();
        f(&mut value);
        self.set(value.view());
    }

    fn owned(&mut self) -> Option<V> {
        self.place.touch(false);
        self.place.found(|bytes| V::parse(bytes).map(|(value, _)| V::own(value)))
    }
}

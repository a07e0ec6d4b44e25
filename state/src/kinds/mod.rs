//! The kinds of keyed state that a function may keep: values, lists, maps, folds, and timers (ST-02, TM-01).
//!
//! A program [declares](Declarations) its states and is given a handle for each. [`States`] keeps them, for one subtask; with
//! a key they are a [`Scope`], and a handle becomes a view of what that key has. So there is no way to a state without a
//! key (ST-01).
//!
//! ```
//! use millstream_io::record::Key;
//! use millstream_state::kinds::{Declarations, List, Map, States, Value};
//! use millstream_state::{HeapOrdered, Parallelism};
//!
//! let mut declared = Declarations::<String>::new();
//! let count: Value<u64> = declared.value("count");
//! let visits: List<String> = declared.list("visits");
//! let seen: Map<u32, String> = declared.map("seen");
//!
//! let width = Parallelism::new(1, None)?;
//! let mut states = States::new(&declared, width, 0, |_, range| Ok(Box::new(HeapOrdered::new(range))))?;
//! let mut ada = states.at(String::hash("ada"), "ada");
//! ada.value(count).update(|count| *count += 1);
//! ada.list(visits).add("monday");
//! ada.list(visits).add("friday");
//! ada.map(seen).put(7, "seven");
//! assert_eq!(ada.value(count).get(), Some(1));
//! assert_eq!(ada.list(visits).get().collect::<Vec<_>>(), ["monday", "friday"]);
//! assert_eq!(ada.map(seen).get(7), Some("seven"));
//!
//! let mut bob = states.at(String::hash("bob"), "bob");
//! assert_eq!(bob.value(count).get(), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is where
//!
//! Every state is [ordered state](crate::ordered) of its own: one layout for all kinds, with or without namespaces. (The
//! one value of a process function is in a hash table instead, see [`KeyedBackend`](crate::KeyedBackend): it is for the
//! hottest paths.) Its entries' keys are
//!
//! | kind | key of an entry | value |
//! |---|---|---|
//! | value, reducing, aggregating | *place* | the value or accumulator |
//! | list | *place*, end | an element |
//! | map | *place*, row of the map's key | its value |
//! | timers | timestamp, *place* | nothing |
//!
//! A *place* is the row of the key; where the state has [namespaces](Declarations::with_namespaces) also a byte: 0 for the
//! void one, or 1 and the row of the namespace. A row says where it ends, so no place begins with another one, and all entries
//! that begin with a place are those of its key and namespace. *End* is how many bytes the list has up to and with this
//! element, as a big-endian `u64`, an element being its row and [16 bytes](LIST_ELEMENT): so elements stand in the order in
//! which they were added, adding writes nothing but the element, and the list's size is known. A timestamp is a big-endian
//! `u64`, of an `i64` with its sign bit flipped, so that timers stand in the order of time. With a [time to live](Ttl) every
//! value and element has eight bytes in front: when it was accessed last, in milliseconds since the epoch.
//!
//! # Limits
//!
//! Key, namespace, key of a map and value: what the backend keeps in one entry ([heap](crate::HeapOrdered): 1 GiB together;
//! [pages](crate::PagedOrdered): 1,000 bytes of all keys, 65,520 together). A list: [`LIST_BYTES`]. What passes a
//! limit changes nothing and leaves a [`StateFault`] that names state, key and limit; all else stays as it was.

mod check;
mod declare;
mod fault;
mod fold;
mod handle;
mod kept;
mod keys;
mod list;
mod lowest;
mod map;
mod place;
mod scope;
mod states;
#[cfg(test)]
mod tests;
mod timers;
mod ttl;
mod value;

pub use declare::{Declarations, Declare, Declared, EVENT_TIMERS, PROCESSING_TIMERS};
pub use fault::StateFault;
pub use fold::{Aggregate, AggregatingView, Reduce, ReducingView};
pub use handle::{Aggregating, List, Map, Reducing, Value};
pub use keys::KeyVisit;
pub use list::{Elements, LIST_BYTES, LIST_ELEMENT, ListView};
pub use map::{MapEntries, MapView};
pub use scope::Scope;
pub use states::States;
pub use timers::{Timer, TimerKind, Timers, TimersView};
pub use ttl::{Ttl, TtlUpdate, TtlVisibility};
pub use value::ValueView;

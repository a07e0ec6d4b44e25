//! Ordered state: byte strings by key, in the order of the keys. Lists, maps, timers and whatever has a namespace are
//! kept in it, each with keys of its own making, so that what belongs together stands together.

#[cfg(test)]
mod contract;
mod factory;
mod heap;
mod paged;
mod tree;

pub(crate) use tree::flat;

pub use factory::BackendFactory;
pub use heap::HeapOrdered;
pub use paged::PagedOrdered;

use crate::key_group::KeyGroup;
use crate::keyed::Snapshots;
use crate::paged::PagedFault;

/// An entry: key and value.
pub type OrderedEntry<'a> = (&'a [u8], &'a [u8]);

/// One ordered state of one subtask: for each of its key groups a map from byte strings to byte strings. Keys are compared
/// as bytes.
///
/// Its methods need no types of their caller, so that own backends can be made behind `Box<dyn OrderedBackend>`.
///
/// # Panics
/// All methods that take a key group, when the subtask does not own it.
pub trait OrderedBackend: Snapshots + Send + 'static {
    /// Entries of all groups.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key.
    fn get(&self, group: KeyGroup, key: &[u8]) -> Option<&[u8]>;

    /// Gives a key a value, instead of the one that it has.
    ///
    /// # Errors
    /// Key or value are larger than can be kept, or the system gives no memory: then nothing has changed.
    fn put(&mut self, group: KeyGroup, key: &[u8], value: &[u8]) -> Result<(), PagedFault>;

    /// Takes a key out. Returns whether it was there.
    fn remove(&mut self, group: KeyGroup, key: &[u8]) -> bool;

    /// The first entry whose key is `key` or comes after it.
    fn first_from(&self, group: KeyGroup, key: &[u8]) -> Option<OrderedEntry<'_>>;

    /// The last entry whose key comes before `key`.
    fn last_before(&self, group: KeyGroup, key: &[u8]) -> Option<OrderedEntry<'_>>;

    /// The next snapshot, where it has all of the state, need not have entries whose value begins with a time that is not after
    /// this one, as a little-endian `u64`: they have expired (TT-03). A backend may take no notice, which is the default.
    fn leave_out_up_to(&mut self, _time: Option<u64>) {}

    /// Calls `f` with the entries from `key` on, in their order, until it says `false`.
    fn scan(&self, group: KeyGroup, key: &[u8], f: &mut dyn FnMut(&[u8], &[u8]) -> bool);
}

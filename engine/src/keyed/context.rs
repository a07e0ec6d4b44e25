//! What a keyed function is told besides record and value.

use millstream_io::Record;
use millstream_io::record::Key;

/// The key of the record at hand, and what can be done with its state.
pub struct KeyContext<'a, K: Key> {
    key: <K as Record>::Ref<'a>,
    new: bool,
    clear: bool,
}

impl<'a, K: Key> KeyContext<'a, K> {
    #[inline(always)]
    pub(crate) fn new(key: K::Ref<'a>, new: bool) -> Self {
        Self { key, new, clear: false }
    }

    /// The key.
    #[inline(always)]
    pub fn key(&self) -> K::Ref<'a> {
        self.key
    }

    /// Whether the key had no value before this record.
    #[inline(always)]
    pub fn is_new(&self) -> bool {
        self.new
    }

    /// Takes the key's value away once the function returns: the key is then unknown again.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.clear = true;
    }

    #[inline(always)]
    pub(crate) fn cleared(&self) -> bool {
        self.clear
    }
}

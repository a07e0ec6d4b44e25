//! Where a view works: the entries of one state that belong to a key and a namespace.

use super::StateFault;
use super::declare::is_void;
use super::kept::Kept;
use crate::key_group::KeyGroup;
use crate::paged::PagedFault;
use millstream_io::record::{DecodeError, Key};

/// The namespace that is there without being asked for.
const VOID: u8 = 0;
/// What stands in front of any other.
const NAMED: u8 = 1;

/// See the module page.
pub(super) struct Place<'a> {
    pub kept: &'a mut Kept,
    pub group: KeyGroup,
    /// Hash of the key, for messages.
    pub hash: u64,
    /// Key of an entry: begins with the place.
    pub entry: &'a mut Vec<u8>,
    /// Bytes of the key in it.
    pub key: usize,
    /// Bytes of the place in it.
    pub place: usize,
    pub now: u64,
    pub fault: &'a mut Option<StateFault>,
}

/// Appends what stands between key and suffix where no namespace was named.
pub(super) fn append_void<N: Key>(entry: &mut Vec<u8>) {
    if !is_void::<N>() {
        entry.push(VOID);
    }
}

/// Appends a namespace.
pub(super) fn append_namespace<N: Key>(entry: &mut Vec<u8>, namespace: N::Ref<'_>) {
    if !is_void::<N>() {
        entry.push(NAMED);
        N::encode_into(namespace, entry);
    }
}

impl<'a> Place<'a> {
    /// The place of the void namespace.
    pub fn void<N: Key>(mut self) -> Self {
        self.entry.truncate(self.key);
        append_void::<N>(self.entry);
        self.place = self.entry.len();
        self
    }

    /// The place of a namespace.
    pub fn within<N: Key>(mut self, namespace: N::Ref<'_>) -> Self {
        self.entry.truncate(self.key);
        append_namespace::<N>(self.entry, namespace);
        self.place = self.entry.len();
        self
    }

    /// Goes to the entry whose key is the place and what `append` appends.
    pub fn go_to(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        self.entry.truncate(self.place);
        append(self.entry);
    }

    /// To be called before the entry is read. `reading` says whether its reader is the program.
    pub fn touch(&mut self, reading: bool) {
        let touched = self.kept.touch(self.group, self.entry, self.now, reading);
        self.note(touched);
    }

    /// The entry's value, read by `read`.
    pub fn found<T>(&mut self, read: impl FnOnce(&[u8]) -> Result<T, DecodeError>) -> Option<T> {
        let value = self.kept.backend.get(self.group, self.entry)?;
        let read = self.kept.body(value).and_then(read);
        read.map_err(|cause| self.unreadable(cause)).ok()
    }

    /// The same, borrowed for as long as the view would have been.
    pub fn into_found<T>(self, read: impl FnOnce(&'a [u8]) -> Result<T, DecodeError>) -> Option<T> {
        let Self { kept, group, hash, entry, fault, .. } = self;
        let kept: &'a Kept = kept;
        let value = kept.backend.get(group, entry)?;
        let read = kept.body(value).and_then(read);
        read.map_err(|cause| unreadable(fault, kept, hash, cause)).ok()
    }

    /// Gives the entry the value that `write` appends.
    pub fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let put = self.kept.put(self.group, self.entry, self.now, write);
        self.note(put);
    }

    /// Takes the entry out. Returns whether it was there.
    pub fn remove(&mut self) -> bool {
        self.kept.backend.remove(self.group, self.entry)
    }

    /// Whether there is an entry.
    pub fn is_empty(&mut self) -> bool {
        self.entry.truncate(self.place);
        let first = self.kept.backend.first_from(self.group, self.entry);
        !first.is_some_and(|(key, _)| key.starts_with(self.entry))
    }

    /// Removes all entries (ST-02).
    pub fn clear(&mut self) {
        self.each(|place| {
            place.remove();
        });
    }

    /// [Touches](Self::touch) all entries.
    pub fn touch_all(&mut self, reading: bool) {
        if self.kept.ttl.is_some() {
            self.each(|place| place.touch(reading));
        }
    }

    /// Goes to one entry after the other, in the order of their keys, and calls `f` at each.
    pub fn each(&mut self, mut f: impl FnMut(&mut Self)) {
        self.entry.truncate(self.place);
        while let Some((key, _)) = self.kept.backend.first_from(self.group, self.entry)
            && key.starts_with(&self.entry[..self.place])
        {
            self.entry.truncate(self.place);
            self.entry.extend_from_slice(&key[self.place..]);
            f(self);
            // No key is between this one and the next.
            self.entry.push(0);
        }
        self.entry.truncate(self.place);
    }

    /// The entries, in the order of their keys.
    pub fn entries(self) -> Entries<'a> {
        let Self { kept, group, hash, entry, place, fault, .. } = self;
        entry.truncate(place);
        Entries { kept, group, hash, entry, place, fault }
    }

    /// Leaves what went wrong; the first of several counts.
    pub fn note(&mut self, done: Result<(), PagedFault>) {
        if let Err(source) = done {
            let (state, key) = (self.kept.name.clone(), self.hash);
            self.fault.get_or_insert(StateFault::Backend { state, key, source });
        }
    }

    /// The backend returned what nobody has put there.
    pub fn unreadable(&mut self, cause: DecodeError) {
        unreadable(self.fault, self.kept, self.hash, cause);
    }
}

fn unreadable(fault: &mut Option<StateFault>, kept: &Kept, key: u64, cause: DecodeError) {
    fault.get_or_insert_with(|| StateFault::Unreadable { state: kept.name.clone(), key, cause });
}

/// The entries of a place: what each has in its key behind the place, and its value.
pub(super) struct Entries<'a> {
    kept: &'a Kept,
    group: KeyGroup,
    hash: u64,
    /// The next one has this key, or comes behind it.
    entry: &'a mut Vec<u8>,
    place: usize,
    fault: &'a mut Option<StateFault>,
}

impl<'a> Entries<'a> {
    /// The next one, read by `read`.
    pub fn next<T>(&mut self, read: impl FnOnce(&'a [u8], &'a [u8]) -> Result<T, DecodeError>) -> Option<T> {
        let (key, value) = self.kept.backend.first_from(self.group, self.entry)?;
        let suffix = key.strip_prefix(&self.entry[..self.place])?;
        self.entry.truncate(self.place);
        self.entry.extend_from_slice(suffix);
        self.entry.push(0);
        let read = self.kept.body(value).and_then(|value| read(suffix, value));
        read.map_err(|cause| unreadable(self.fault, self.kept, self.hash, cause)).ok()
    }
}

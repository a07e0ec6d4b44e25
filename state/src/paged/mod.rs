//! The `paged` backend: keyed state in pages, whose snapshots are what changed since the last one.
//!
//! A small state is kept as the `hashmap` backend keeps it, in one table near the core, and its snapshots have all of it. Once
//! it is large enough that this would cost, it moves to pages, for good. From bottom to top:
//!
//! - `memory`: a range that never moves, in memory and in files, by line and by byte;
//! - `pages`: which lines are dirty, which are frozen, and the only way to change one; `changed`: in which segments; `image`: lines as bytes of a snapshot;
//!   `copied`: those bytes on their way out;
//! - `bucket`: runs of pages with a part of the keys of one key group, in three forms, `words`, `slots` and `records`;
//! - `directory`: which bucket a hash leads to;
//! - `table`: the hot path, and growth.
//!
//! Out of a snapshot come pages by `loading`, of several key groups at once by `crew`; `restoring` knows what came, and
//! `table/settle` looks at all of it before it is used.

mod bucket;
mod changed;
pub(crate) mod copied;
pub(crate) mod crew;
mod directory;
mod fault;
pub(crate) mod flat;
pub(crate) mod image;
pub(crate) mod loading;
pub(crate) mod memory;
pub(crate) mod pages;
pub(crate) mod restoring;
#[cfg(test)]
mod shadow;
mod table;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod verify;

pub use bucket::Place;
pub use fault::PagedFault;

use crate::error::StateError;
use crate::heap::HeapState;
use crate::key_group::{Grouping, KeyGroup, KeyGroupRange};
use crate::keyed::{
    Chunk, ChunkPart, Entry, Extent, GroupChunk, KeyedBackend, KeyedSnapshot, RestoreError, Snapshots, Visit,
    restore,
};
use crate::snapshot::Groups;
use bucket::{Records, Slots, Words};
use crew::Failure;
use loading::Loading;
use millstream_io::record::{Key, Record};
use millstream_io::scratch::Supply;
use restoring::{Form, Restoring};
use table::Table;

/// Bytes that a state has up to which it is kept as a whole, unless it is said otherwise.
pub const SMALL: usize = 256 << 10;

/// What a key with its value takes in memory at least.
const KEY: usize = 32;

/// The first byte of a group's part of a snapshot: entries follow, as the `hashmap` backend writes them.
pub(crate) const ENTRIES: u8 = 0;
/// Lines of pages follow.
pub(crate) const PAGES: u8 = 1;

/// Keyed state in pages.
///
/// ```
/// use millstream_io::record::Key;
/// use millstream_state::keyed::Extent;
/// use millstream_state::{KeyedBackend, PagedState, Parallelism, Snapshots};
///
/// let whole = Parallelism::new(1, None)?;
/// let mut sums = PagedState::<u64, u64>::new(whole.range_of(0), whole.max())?;
/// for key in 0..100_000 {
///     sums.with(u64::hash(key), key, |mut sum| *sum += key);
/// }
/// sums.freeze();
/// while !sums.drain(1 << 20) {}
/// let all = sums.take_snapshot();
///
/// sums.with(u64::hash(7), 7, |mut sum| *sum += 1);
/// sums.freeze();
/// while !sums.drain(1 << 20) {}
/// let changes = sums.take_snapshot();
/// assert_eq!((all.extent, changes.extent), (Extent::Base, Extent::Changes));
/// assert!(changes.bytes() < 100);
///
/// let mut again = PagedState::<u64, u64>::new(whole.range_of(0), whole.max())?;
/// for chunk in all.groups.iter().chain(&changes.groups) {
///     again.restore(chunk.group, chunk.entries, &chunk.bytes)?;
/// }
/// again.restored()?;
/// assert_eq!(again.with(u64::hash(7), 7, |sum| *sum), 8);
/// assert_eq!(again.len(), 100_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Limits
/// A state of which a key with its value takes more than 16 KiB encoded is kept as a whole, for good; so is one of which
/// more keys have nearly the same hash than a bucket takes. When a function that is called for every key at the end makes a
/// value longer than that, that is an error.
#[derive(Debug)]
pub struct PagedState<K: Key, V: Record + Default> {
    small: HeapState<K, V>,
    /// More bytes than these move it to pages.
    most: usize,
    /// Bytes of the chunks in which a snapshot of pages is handed over.
    chunk: usize,
    /// Whether the state is on pages.
    moved: bool,
    /// Whether it has something that pages do not take, and so never moves there again.
    pinned: bool,
    /// Whether a visit to every key is under way, whose progress is one in this form.
    visiting: bool,
    // Exactly one of the three is used, as constants of the types say.
    words: Table<K, V, Words>,
    slots: Table<K, V, Slots>,
    records: Table<K, V, Records>,
    /// What their memory comes from.
    supply: Supply,
    range: KeyGroupRange,
    /// A snapshot of the small state that was under way when that moved.
    parting: Option<KeyedSnapshot>,
    freeze: Freeze,
    /// Keys by group as of the freeze.
    counts: Vec<u64>,
    /// Whether a snapshot of pages was taken that the next one may build on.
    based: bool,
    /// What was restored.
    restoring: Restoring,
}

/// How far the snapshot under way is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freeze {
    Idle,
    Draining,
    Complete,
}

/// Calls a method of the table that is used, or uses its field; of the three that are named, or of those that something has.
macro_rules! table {
    ([$words:expr, $slots:expr, $records:expr]. $($what:tt)*) => {
        if Words::suits::<K, V>() {
            $words.$($what)*
        } else if Slots::suits::<K, V>() {
            $slots.$($what)*
        } else {
            $records.$($what)*
        }
    };
    ($self:ident . $($what:tt)*) => { table!([$self.words, $self.slots, $self.records].$($what)*) };
}

impl<K: Key, V: Record + Default> PagedState<K, V> {
    /// No keys yet; `range` are the key groups, of `max_parallelism`, that the subtask owns. In memory without a limit, which
    /// the system finds when it is touched.
    ///
    /// # Errors
    /// The system gives no memory.
    ///
    /// # Panics
    /// When `max_parallelism` is out of bounds, or `range` is not within it.
    pub fn new(range: KeyGroupRange, max_parallelism: u32) -> Result<Self, PagedFault> {
        Self::new_in(range, max_parallelism, Supply::default())
    }

    /// The same, with pages in memory that comes from `supply`, which may be files.
    ///
    /// # Errors
    /// The system gives no memory, or there is no room for files.
    ///
    /// # Panics
    /// As for [`PagedState::new`].
    pub fn new_in(range: KeyGroupRange, max_parallelism: u32, supply: Supply) -> Result<Self, PagedFault> {
        let grouping = Grouping::new(max_parallelism);
        let (words, slots) = (Words::suits::<K, V>(), Slots::suits::<K, V>());
        Ok(Self {
            small: HeapState::new(range, max_parallelism),
            most: SMALL,
            chunk: copied::CHUNK,
            moved: false,
            pinned: false,
            visiting: false,
            words: Table::new(range, grouping, &supply, words)?,
            slots: Table::new(range, grouping, &supply, slots && !words)?,
            records: Table::new(range, grouping, &supply, !slots && !words)?,
            supply,
            range,
            parting: None,
            freeze: Freeze::Idle,
            counts: Vec::new(),
            based: false,
            restoring: Restoring::new(range),
        })
    }

    /// The same, kept as a whole up to about so many bytes.
    #[must_use]
    pub fn small_up_to(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// The same, whose snapshots are handed over in chunks of about so many bytes once they are that large (256 KiB unless it
    /// is said otherwise).
    #[must_use]
    pub fn chunks_of(mut self, bytes: usize) -> Self {
        self.chunk = bytes;
        table!(self.pages.pieces_of(bytes));
        self
    }

    /// A key is new among few: is it one too many?
    #[cold]
    #[inline(never)]
    fn more(&mut self) {
        if !self.moved && self.small.len() > self.most / KEY {
            self.move_to_pages();
        }
    }

    /// A table on pages without keys.
    fn clear_pages(&mut self) -> Result<(), PagedFault> {
        let grouping = table!(self.grouping());
        if Words::suits::<K, V>() {
            self.words = Table::new(self.range, grouping, &self.supply, true)?;
        } else if Slots::suits::<K, V>() {
            self.slots = Table::new(self.range, grouping, &self.supply, true)?;
        } else {
            self.records = Table::new(self.range, grouping, &self.supply, true)?;
        }
        table!(self.pages.pieces_of(self.chunk));
        Ok(())
    }

    /// Moves the state to pages, unless they do not take all of it: then it stays as it is, for good.
    fn move_to_pages(&mut self) {
        if self.pinned || self.visiting {
            return;
        }
        let Self { small, words, slots, records, .. } = self;
        small.for_each(|key, value| table!([words, slots, records].insert(key, value)));
        if let Some(fault) = table!(self.take_fault()) {
            // There is no room now, which says nothing about later: it stays where it was, and whoever asks is told.
            table!(self.take_overflow());
            let _ = self.clear_pages();
            return table!(self.fail(fault));
        }
        if table!(self.has_overflow()) {
            // What it took it has twice now.
            table!(self.take_overflow());
            return self.leave_pages();
        }
        if self.freeze != Freeze::Idle {
            self.small.drain(usize::MAX);
            self.parting = Some(prefixed(self.small.take_snapshot()));
        }
        self.small = HeapState::new(self.range, table!(self.grouping()).max());
        self.moved = true;
    }

    /// Keeps what pages have not taken.
    #[inline(always)]
    fn look_after_pages(&mut self) {
        if table!(self.has_overflow()) {
            self.move_from_pages();
        }
    }

    /// Moves the state back from pages, which have not taken something, for good.
    #[cold]
    #[inline(never)]
    fn move_from_pages(&mut self) {
        let Some(overflow) = table!(self.take_overflow()) else { return };
        if self.freeze != Freeze::Idle && self.parting.is_none() {
            table!(self.pages.drain(usize::MAX));
            self.parting = Some(self.image());
        }
        self.leave_pages();
        if let Ok((key, _)) = K::parse(&overflow.key) {
            self.small.with(K::hash(key), key, |mut entry| *entry = overflow.value);
        }
    }

    /// Keeps all of the state as a whole, for good.
    fn leave_pages(&mut self) {
        let Self { small, words, slots, records, .. } = self;
        let put = |key: K::Ref<'_>, value: &mut V| {
            small.with(K::hash(key), key, |mut entry| *entry = V::own(value.view()));
            true
        };
        let mut all = Visit::default();
        table!([words, slots, records].visit(&mut all, usize::MAX, put));
        self.moved = false;
        self.pinned = true;
        self.based = false;
        if let Err(fault) = self.clear_pages() {
            table!(self.fail(fault));
        }
    }

    /// The snapshot of the pages, all of which is drained.
    fn image(&mut self) -> KeyedSnapshot {
        let start = self.range.start().0;
        let chunk = |(index, bytes): (usize, Vec<u8>)| GroupChunk {
            group: KeyGroup(start + index as u16),
            entries: self.counts[index],
            bytes,
        };
        let groups = table!(self.pages.take_image().map(chunk).collect());
        let extent = self.extent();
        self.based = true;
        KeyedSnapshot { extent, groups }
    }

    /// How many pages the shadow compared, by their first bytes.
    #[cfg(test)]
    fn compared(&self) -> [usize; 7] {
        table!(self.pages.shadow.compared)
    }

    /// What the snapshot of the pages is worth.
    fn extent(&self) -> Extent {
        if self.based { Extent::Changes } else { Extent::Base }
    }

    fn index(&self, group: KeyGroup) -> usize {
        usize::from(group.0 - self.range.start().0)
    }

    /// Pages could not be loaded.
    fn unloaded(&mut self, group: KeyGroup, loading: Loading) -> RestoreError {
        match loading {
            Loading::Damaged(at, problem) => RestoreError::Pages { group, at: at + 1, problem },
            Loading::Memory(error) => {
                let kind = error.kind();
                // Which file there is no room for.
                table!(self.fail(PagedFault::Memory(error)));
                RestoreError::Memory { group, kind }
            }
        }
    }
}

/// Puts a group's entries into the small state: pages that were loaded are no table before all are.
fn enter<K: Key, V: Record + Default>(
    small: &mut HeapState<K, V>,
    grouping: Grouping,
    group: KeyGroup,
    entries: u64,
    bytes: &[u8],
) -> Result<(), RestoreError> {
    restore::read_entries::<K, V>(grouping, group, entries, bytes, |hash, key, value| {
        small.with(hash, key, |mut entry| {
            *entry = value;
            entry.is_new()
        })
    })
}

/// All groups of a snapshot as one chunk, if there are any.
pub(crate) fn take_as_chunk(snapshot: &mut KeyedSnapshot) -> Option<Chunk> {
    let (mut parts, mut bytes) = (Vec::new(), Vec::new());
    for GroupChunk { group, entries, bytes: part } in snapshot.groups.drain(..) {
        parts.push(ChunkPart { group, entries, len: part.len() });
        bytes.extend(part);
    }
    (!parts.is_empty()).then_some(Chunk { extent: snapshot.extent, parts, bytes })
}

/// The snapshot of a small state as one of this backend.
pub(crate) fn prefixed(mut snapshot: KeyedSnapshot) -> KeyedSnapshot {
    for chunk in &mut snapshot.groups {
        chunk.bytes.insert(0, ENTRIES);
    }
    snapshot
}

impl<K: Key, V: Record + Default> KeyedBackend<K, V> for PagedState<K, V> {
    type Place = Place;

    const APPROACHES: bool = !Words::suits::<K, V>();

    fn len(&self) -> usize {
        self.small.len() + table!(self.len())
    }

    #[inline(always)]
    fn big(&self) -> bool {
        self.moved
    }

    const GROUPED: bool = true;

    fn groups(&self, halves: &[u32], groups: &mut [u32]) {
        table!(self.groups(halves, groups));
    }

    #[inline(always)]
    fn prefetch(&self, group: u32, hash: u64) -> Place {
        table!(self.prefetch(group, hash))
    }

    #[inline(always)]
    fn forget_places(&mut self) {
        table!(self.forget_places());
    }

    #[inline(always)]
    fn approach(&self, place: Place, hash: u64) {
        table!(self.approach(place, hash));
    }

    #[inline(always)]
    fn with<R>(&mut self, hash: u64, key: K::Ref<'_>, f: impl FnOnce(Entry<'_, V>) -> R) -> R {
        self.with_small(hash, key, f)
    }

    #[inline(always)]
    fn with_small<R>(&mut self, hash: u64, key: K::Ref<'_>, f: impl FnOnce(Entry<'_, V>) -> R) -> R {
        if self.moved {
            let result = table!(self.with(key, f));
            self.look_after_pages();
            return result;
        }
        let mut new = false;
        let result = self.small.with_small(hash, key, |entry| {
            new = entry.is_new();
            f(entry)
        });
        if new {
            self.more();
        }
        result
    }

    #[inline(always)]
    fn with_big<R>(
        &mut self,
        place: Place,
        hash: u64,
        key: K::Ref<'_>,
        f: impl FnOnce(Entry<'_, V>) -> R,
    ) -> R {
        let Some(spot) = table!(self.find_near(place, hash, key)) else {
            // The hash anew: a form that does not need it needs none so far.
            return self.with(K::hash(key), key, f);
        };
        let result = table!(self.operate(spot, key, f));
        if !Words::suits::<K, V>() && !Slots::suits::<K, V>() {
            self.look_after_pages();
        }
        result
    }

    fn visit(&mut self, at: &mut Visit, places: usize, f: impl FnMut(K::Ref<'_>, &mut V) -> bool) -> bool {
        let over =
            if self.moved { table!(self.visit(at, places, f)) } else { self.small.visit(at, places, f) };
        self.visiting = !over;
        if let Some(overflow) = table!(self.take_overflow()) {
            table!(self.fail(overflow.cause));
        }
        over
    }
}

impl<K: Key, V: Record + Default> Snapshots for PagedState<K, V> {
    fn freeze(&mut self) {
        assert_eq!(self.freeze, Freeze::Idle, "a snapshot is taken or abandoned before the next freeze");
        self.freeze = Freeze::Draining;
        if self.moved {
            let counts = table!(self.counts.as_slice());
            self.counts.clear();
            self.counts.extend_from_slice(counts);
            table!(self.pages.freeze());
        } else {
            self.small.freeze();
        }
    }

    fn is_frozen(&self) -> bool {
        self.freeze != Freeze::Idle
    }

    fn drain(&mut self, budget: usize) -> bool {
        if self.freeze != Freeze::Draining {
            return true;
        }
        let done = match (&self.parting, self.moved) {
            (Some(_), _) => true,
            (None, true) => table!(self.pages.drain(budget)),
            (None, false) => self.small.drain(budget),
        };
        if done {
            self.freeze = Freeze::Complete;
        }
        done
    }

    fn drained(&self) -> (u64, u64) {
        match (self.freeze, &self.parting, self.moved) {
            (Freeze::Draining, None, true) => table!(self.pages.drained()),
            // A small state is all at once, or nearly.
            _ => (0, 0),
        }
    }

    fn kept_early(&self) -> usize {
        table!(self.pages.kept_early())
    }

    fn take_chunk(&mut self) -> Option<Chunk> {
        if self.freeze == Freeze::Idle {
            return None;
        }
        if let Some(parting) = &mut self.parting {
            return (parting.extent != Extent::Whole).then(|| take_as_chunk(parting)).flatten();
        }
        if !self.moved {
            return None;
        }
        let piece = table!(self.pages.take_piece())?;
        let start = self.range.start().0;
        let part = |(index, len): (usize, usize)| ChunkPart {
            group: KeyGroup(start + index as u16),
            entries: self.counts[index],
            len,
        };
        let parts = piece.parts.into_iter().map(part).collect();
        Some(Chunk { extent: self.extent(), parts, bytes: piece.bytes })
    }

    fn recycle(&mut self, buffer: Vec<u8>) {
        table!(self.pages.recycle(buffer));
    }

    fn take_snapshot(&mut self) -> KeyedSnapshot {
        assert_eq!(self.freeze, Freeze::Complete, "a snapshot is taken once its drain is complete");
        self.freeze = Freeze::Idle;
        if let Some(snapshot) = self.parting.take() {
            return snapshot;
        }
        if !self.moved {
            let snapshot = prefixed(self.small.take_snapshot());
            if snapshot.bytes() > self.most as u64 {
                self.move_to_pages();
            }
            return snapshot;
        }
        self.image()
    }

    fn abandon(&mut self) -> bool {
        let chained = match &self.parting {
            Some(parting) => parting.extent != Extent::Whole,
            None => self.moved,
        };
        if self.freeze == Freeze::Idle || chained {
            table!(self.pages.abandon());
            return self.freeze == Freeze::Idle;
        }
        self.freeze = Freeze::Idle;
        self.parting.take().is_some() || self.small.abandon()
    }

    fn restore(&mut self, group: KeyGroup, entries: u64, bytes: &[u8]) -> Result<(), RestoreError> {
        match self.restoring.part(group, entries, bytes)? {
            None => Ok(()),
            Some(Form::Entries(bytes)) => {
                enter::<K, V>(&mut self.small, table!(self.grouping()), group, entries, bytes)
            }
            Some(Form::Pages(bytes)) => {
                self.moved = true;
                let index = self.index(group);
                table!(self.pages.load_part(index, bytes)).map_err(|loading| self.unloaded(group, loading))
            }
        }
    }

    /// They move to pages as they become many, as new keys do, so that they need not fit the memory.
    fn restore_entries(&mut self, group: KeyGroup, entries: u64, bytes: &[u8]) -> Result<(), RestoreError> {
        if !self.restoring.entries(group) {
            return Ok(());
        }
        let grouping = table!(self.grouping());
        restore::read_entries::<K, V>(grouping, group, entries, bytes, |hash, key, value| {
            self.with_small(hash, key, |mut entry| {
                *entry = value;
                entry.is_new()
            })
        })?;
        let Some(fault) = table!(self.take_fault()) else { return Ok(()) };
        let kind = match &fault {
            PagedFault::Memory(error) => error.kind(),
            _ => std::io::ErrorKind::OutOfMemory,
        };
        table!(self.fail(fault));
        Err(RestoreError::Memory { group, kind })
    }

    fn restore_groups(&mut self, groups: &Groups<'_>) -> Result<(), StateError> {
        if groups.are_canonical() {
            return groups.one_by_one(self);
        }
        let (grouping, executor) = (table!(self.grouping()), self.supply.background());
        let Self { small, restoring, words, slots, records, .. } = self;
        let enter = |group, entries, bytes: &[u8]| enter::<K, V>(small, grouping, group, entries, bytes);
        let pages = table!([words, slots, records].pages_mut());
        let restored = crew::restore(pages, restoring, groups, &*executor, enter);
        self.moved |= self.restoring.has_pages();
        restored.map_err(|(nth, failure)| match failure {
            Failure::Unread(error) => error,
            Failure::Refused(part, cause) => groups.refused(nth, part, cause),
            Failure::Unloaded(part, loading) => {
                groups.refused(nth, part, self.unloaded(groups.group(nth), loading))
            }
        })
    }

    fn restored(&mut self) -> Result<(), RestoreError> {
        let loaded = self.restoring.take_loaded();
        let settled = table!(self.settle(&loaded, &*self.supply.background()));
        settled.map_err(|(group, problem)| RestoreError::Pages { group, at: 0, problem })?;
        if self.moved {
            table!(self.pages.mark_all());
            if !self.small.is_empty() {
                self.move_to_pages();
            }
        }
        self.more();
        Ok(())
    }

    fn build_on_restored(&mut self) -> bool {
        // What came as entries is in no pages of the chain.
        if self.based || !self.moved || self.restoring.has_entries() {
            return false;
        }
        table!(self.pages.unmark_all());
        self.based = true;
        true
    }

    fn forget_base(&mut self) {
        assert_eq!(self.freeze, Freeze::Idle, "what is frozen is of what was said before");
        self.based = false;
        table!(self.pages.mark_all());
    }

    fn take_fault(&mut self) -> Option<PagedFault> {
        table!(self.take_fault())
    }
}

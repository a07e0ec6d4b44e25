//! Ordered state in pages, whose snapshots are what changed since the last one.

#[cfg(test)]
mod tests;

use super::heap::{Bytes, HeapOrdered, Phase};
use super::tree::{self, Tree};
use super::{OrderedBackend, OrderedEntry};
use crate::error::StateError;
use crate::key_group::{KeyGroup, KeyGroupRange};
use crate::keyed::restore::read_rows;
use crate::keyed::{Chunk, ChunkPart, Extent, GroupChunk, KeyedSnapshot, RestoreError, Snapshots};
use crate::paged::copied::CHUNK;
use crate::paged::crew::{self, Failure};
use crate::paged::loading::Loading;
use crate::paged::restoring::{Form, Restoring};
use crate::paged::{PagedFault, SMALL, prefixed};
use crate::snapshot::Groups;
use millstream_io::scratch::Supply;

/// Ordered state in pages: for each key group a tree.
///
/// A small state is kept as [`HeapOrdered`] keeps it, and its snapshots have all of it. Once it is large enough that this would
/// cost, it moves to pages, for good.
///
/// ```
/// use millstream_state::keyed::Extent;
/// use millstream_state::{KeyGroup, OrderedBackend, PagedOrdered, Parallelism, Snapshots};
///
/// let whole = Parallelism::new(1, None)?;
/// let mut timers = PagedOrdered::new(whole.range_of(0));
/// let group = KeyGroup(94);
/// for time in 0..20_000u64 {
///     timers.put(group, &time.to_be_bytes(), b"")?;
/// }
/// timers.freeze();
/// while !timers.drain(1 << 20) {}
/// let all = timers.take_snapshot();
///
/// timers.remove(group, &0u64.to_be_bytes());
/// timers.freeze();
/// while !timers.drain(1 << 20) {}
/// let changes = timers.take_snapshot();
/// assert_eq!((all.extent, changes.extent), (Extent::Base, Extent::Changes));
/// assert!(changes.bytes() < 100);
///
/// let mut again = PagedOrdered::new(whole.range_of(0));
/// for chunk in all.groups.iter().chain(&changes.groups) {
///     again.restore(chunk.group, chunk.entries, &chunk.bytes)?;
/// }
/// again.restored()?;
/// assert_eq!(again.first_from(group, b""), Some((&1u64.to_be_bytes()[..], &b""[..])));
/// assert_eq!(again.len(), 19_999);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Limits
/// A key takes at most 1,000 bytes, a key and its value together 65,520. Whether the state is small or not, what is beyond
/// that is refused, and nothing changes. A value with which its key takes more than 1,014 bytes is in pages of its own, of
/// which there are 1, 2, 4, 8 or 16, of 4 KiB.
#[derive(Debug)]
pub struct PagedOrdered {
    range: KeyGroupRange,
    /// The state, while it is small; and what was restored of one that was.
    small: HeapOrdered,
    /// More bytes than these move it to pages.
    most: usize,
    /// Bytes of the chunks in which a snapshot of pages is handed over.
    chunk: usize,
    /// The state, once it is on pages.
    tree: Option<Tree>,
    /// What its memory comes from.
    supply: Supply,
    /// Whether there was no memory to move it, so that it is not tried again with each change.
    pinned: bool,
    /// A snapshot of the small state that was under way when that moved.
    parting: Option<KeyedSnapshot>,
    phase: Phase,
    /// Entries by group as of the freeze.
    counts: Vec<u64>,
    /// Whether a snapshot of pages was taken that the next one may build on.
    based: bool,
    /// What was restored.
    restoring: Restoring,
    /// Why something could not be restored.
    fault: Option<PagedFault>,
}

impl PagedOrdered {
    /// Nothing yet; `range` are the key groups that the subtask owns. In memory without a limit, which the system finds when
    /// it is touched.
    pub fn new(range: KeyGroupRange) -> Self {
        Self::new_in(range, Supply::default())
    }

    /// The same, with pages in memory that comes from `supply`, which may be files.
    pub fn new_in(range: KeyGroupRange, supply: Supply) -> Self {
        Self {
            range,
            small: HeapOrdered::new(range),
            most: SMALL,
            chunk: CHUNK,
            tree: None,
            supply,
            pinned: false,
            parting: None,
            phase: Phase::Idle,
            counts: Vec::new(),
            based: false,
            restoring: Restoring::new(range),
            fault: None,
        }
    }

    /// The same, kept as a whole up to about so many bytes.
    #[must_use]
    pub fn small_up_to(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// The same, whose snapshots are handed over in chunks of about so many bytes once they are that large (256 KiB unless it
    /// is said otherwise).
    #[must_use]
    pub fn chunks_of(self, bytes: usize) -> Self {
        Self { chunk: bytes, ..self }
    }

    /// Pages with nothing on them.
    fn new_tree(&self) -> Result<Tree, PagedFault> {
        let mut tree = Tree::new(self.range.len(), &self.supply)?;
        tree.pages.pieces_of(self.chunk);
        Ok(tree)
    }

    fn index(&self, group: KeyGroup) -> usize {
        assert!(self.range.contains(group), "key group {group} is not among {}", self.range);
        usize::from(group.0 - self.range.start().0)
    }

    /// Moves what is in the small state to pages. Where this fails the state stays as it is.
    fn move_to_pages(&mut self) -> Result<(), PagedFault> {
        let mut new = if self.tree.is_none() { Some(self.new_tree()?) } else { None };
        let Some(tree) = new.as_mut().or(self.tree.as_mut()) else { return Ok(()) };
        self.small.try_each(|group, key, value| tree.put(group, key, value))?;
        if self.phase != Phase::Idle {
            self.small.drain(usize::MAX);
            self.parting = Some(prefixed(self.small.take_snapshot()));
        }
        self.small = HeapOrdered::new(self.range);
        if new.is_some() {
            self.tree = new;
        }
        Ok(())
    }

    /// The small state has grown: is it too large?
    fn grown(&mut self) {
        if self.small.bytes() > self.most && !self.pinned {
            self.pinned = self.move_to_pages().is_err();
        }
    }

    /// The snapshot of the pages, all of which is drained.
    fn image(&mut self) -> KeyedSnapshot {
        let (extent, start) = (self.extent(), self.range.start().0);
        let Some(tree) = &mut self.tree else { return KeyedSnapshot::default() };
        let groups = tree.pages.take_image().map(|(index, bytes)| GroupChunk {
            group: KeyGroup(start + index as u16),
            entries: self.counts[index],
            bytes,
        });
        self.based = true;
        KeyedSnapshot { extent, groups: groups.collect() }
    }

    /// What the snapshot of the pages is worth.
    fn extent(&self) -> Extent {
        if self.based { Extent::Changes } else { Extent::Base }
    }

    /// The same error, once what it says more is kept to be told.
    fn unrestored(&mut self, group: KeyGroup, fault: PagedFault) -> RestoreError {
        let error = match &fault {
            PagedFault::Memory(error) => RestoreError::Memory { group, kind: error.kind() },
            _ => RestoreError::Pages { group, at: 0, problem: "a key or value is longer than it may be" },
        };
        self.fault.get_or_insert(fault);
        error
    }

    /// Pages could not be loaded.
    fn unloaded(&mut self, group: KeyGroup, loading: Loading) -> RestoreError {
        match loading {
            Loading::Damaged(at, problem) => RestoreError::Pages { group, at: at + 1, problem },
            Loading::Memory(error) => self.unrestored(group, error.into()),
        }
    }

    /// Pages for what is loaded.
    fn tree_for(&mut self, group: KeyGroup) -> Result<&mut Tree, RestoreError> {
        let made = match self.tree.take() {
            Some(tree) => tree,
            None => self.new_tree().map_err(|fault| self.unrestored(group, fault))?,
        };
        Ok(self.tree.insert(made))
    }
}

impl OrderedBackend for PagedOrdered {
    fn len(&self) -> usize {
        self.small.len() + self.tree.as_ref().map_or(0, Tree::len)
    }

    fn get(&self, group: KeyGroup, key: &[u8]) -> Option<&[u8]> {
        match &self.tree {
            Some(tree) => tree.get(self.index(group), key),
            None => self.small.get(group, key),
        }
    }

    fn put(&mut self, group: KeyGroup, key: &[u8], value: &[u8]) -> Result<(), PagedFault> {
        let index = self.index(group);
        if let Some(tree) = &mut self.tree {
            return tree.put(index, key, value);
        }
        tree::check_size(key, value)?;
        self.small.put(group, key, value)?;
        self.grown();
        Ok(())
    }

    fn remove(&mut self, group: KeyGroup, key: &[u8]) -> bool {
        let index = self.index(group);
        match &mut self.tree {
            Some(tree) => tree.remove(index, key),
            None => self.small.remove(group, key),
        }
    }

    fn first_from(&self, group: KeyGroup, key: &[u8]) -> Option<OrderedEntry<'_>> {
        match &self.tree {
            Some(tree) => tree.first_from(self.index(group), key),
            None => self.small.first_from(group, key),
        }
    }

    fn last_before(&self, group: KeyGroup, key: &[u8]) -> Option<OrderedEntry<'_>> {
        match &self.tree {
            Some(tree) => tree.last_before(self.index(group), key),
            None => self.small.last_before(group, key),
        }
    }

    fn leave_out_up_to(&mut self, time: Option<u64>) {
        self.small.leave_out_up_to(time);
    }

    fn scan(&self, group: KeyGroup, key: &[u8], f: &mut dyn FnMut(&[u8], &[u8]) -> bool) {
        match &self.tree {
            Some(tree) => tree.scan(self.index(group), key, f),
            None => self.small.scan(group, key, f),
        }
    }
}

impl Snapshots for PagedOrdered {
    fn freeze(&mut self) {
        assert_eq!(self.phase, Phase::Idle, "a snapshot is taken or abandoned before the next freeze");
        self.phase = Phase::Draining;
        match &mut self.tree {
            Some(tree) => {
                self.counts.clone_from(&tree.counts);
                tree.pages.freeze();
            }
            None => self.small.freeze(),
        }
    }

    fn drain(&mut self, budget: usize) -> bool {
        if self.phase != Phase::Draining {
            return true;
        }
        let done = match (&self.parting, &mut self.tree) {
            (Some(_), _) => true,
            (None, Some(tree)) => tree.pages.drain(budget),
            (None, None) => self.small.drain(budget),
        };
        if done {
            self.phase = Phase::Complete;
        }
        done
    }

    fn is_frozen(&self) -> bool {
        self.phase != Phase::Idle
    }

    fn drained(&self) -> (u64, u64) {
        match (self.phase, &self.parting, &self.tree) {
            (Phase::Draining, None, Some(tree)) => tree.pages.drained(),
            // A small state is all at once, or nearly.
            _ => (0, 0),
        }
    }

    fn kept_early(&self) -> usize {
        self.tree.as_ref().map_or(0, |tree| tree.pages.kept_early())
    }

    fn take_chunk(&mut self) -> Option<Chunk> {
        if self.phase == Phase::Idle || self.parting.is_some() {
            return None;
        }
        let (extent, start) = (self.extent(), self.range.start().0);
        let piece = self.tree.as_mut()?.pages.take_piece()?;
        let part = |(index, len): (usize, usize)| ChunkPart {
            group: KeyGroup(start + index as u16),
            entries: self.counts[index],
            len,
        };
        Some(Chunk { extent, parts: piece.parts.into_iter().map(part).collect(), bytes: piece.bytes })
    }

    fn recycle(&mut self, buffer: Vec<u8>) {
        if let Some(tree) = &mut self.tree {
            tree.pages.recycle(buffer);
        }
    }

    fn take_snapshot(&mut self) -> KeyedSnapshot {
        assert_eq!(self.phase, Phase::Complete, "a snapshot is taken once its drain is complete");
        self.phase = Phase::Idle;
        match self.parting.take() {
            Some(snapshot) => snapshot,
            None if self.tree.is_some() => self.image(),
            None => prefixed(self.small.take_snapshot()),
        }
    }

    fn abandon(&mut self) -> bool {
        let chained = self.tree.is_some() && self.parting.is_none();
        if let Some(tree) = self.tree.as_mut().filter(|_| chained) {
            tree.pages.abandon();
        }
        if self.phase == Phase::Idle || chained {
            return self.phase == Phase::Idle;
        }
        self.phase = Phase::Idle;
        self.parting.take().is_some() || self.small.abandon()
    }

    fn restore(&mut self, group: KeyGroup, entries: u64, bytes: &[u8]) -> Result<(), RestoreError> {
        match self.restoring.part(group, entries, bytes)? {
            None => Ok(()),
            Some(Form::Entries(bytes)) => self.small.restore(group, entries, bytes),
            Some(Form::Pages(bytes)) => {
                let index = self.index(group);
                let loaded = self.tree_for(group)?.pages.load_part(index, bytes);
                loaded.map_err(|loading| self.unloaded(group, loading))
            }
        }
    }

    /// They move to pages as they become many, as new ones do, so that they need not fit the memory.
    fn restore_entries(&mut self, group: KeyGroup, entries: u64, bytes: &[u8]) -> Result<(), RestoreError> {
        if !self.restoring.entries(group) {
            return Ok(());
        }
        read_rows::<Bytes, Bytes>(group, entries, bytes, |entry, at, key, value| {
            let before = self.len();
            self.put(group, key, value).map_err(|fault| self.unrestored(group, fault))?;
            if self.len() == before {
                return Err(RestoreError::Duplicate { group, entry, at });
            }
            Ok(())
        })
    }

    fn restore_groups(&mut self, groups: &Groups<'_>) -> Result<(), StateError> {
        if groups.are_canonical() {
            return groups.one_by_one(self);
        }
        let Some(nth) = (0..groups.len()).find(|nth| self.range.contains(groups.group(*nth))) else {
            return Ok(());
        };
        if let Err(cause) = self.tree_for(groups.group(nth)) {
            return Err(groups.refused(nth, 0, cause));
        }
        let executor = self.supply.background();
        let Self { small, restoring, tree, .. } = self;
        let Some(made) = tree else { return Ok(()) };
        let enter = |group, entries, bytes: &[u8]| small.restore(group, entries, bytes);
        let restored = crew::restore(&mut made.pages, restoring, groups, &*executor, enter);
        if !restoring.has_pages() {
            *tree = None;
        }
        restored.map_err(|(nth, failure)| match failure {
            Failure::Unread(error) => error,
            Failure::Refused(part, cause) => groups.refused(nth, part, cause),
            Failure::Unloaded(part, loading) => {
                groups.refused(nth, part, self.unloaded(groups.group(nth), loading))
            }
        })
    }

    fn restored(&mut self) -> Result<(), RestoreError> {
        let start = self.range.start();
        let index = |(group, entries): (KeyGroup, u64)| (usize::from(group.0 - start.0), entries);
        let loaded: Vec<_> = self.restoring.take_loaded().into_iter().map(index).collect();
        if let Some(tree) = &mut self.tree {
            let settled = tree.settle(&loaded, &*self.supply.background());
            settled.map_err(|(index, problem)| {
                let group = KeyGroup(start.0 + index as u16);
                RestoreError::Pages { group, at: 0, problem }
            })?;
        }
        let Some(tree) = &mut self.tree else {
            self.grown();
            return Ok(());
        };
        tree.pages.mark_all();
        if self.small.is_empty() {
            return Ok(());
        }
        self.move_to_pages().map_err(|fault| self.unrestored(start, fault))
    }

    fn build_on_restored(&mut self) -> bool {
        // What came as entries is in no pages of the chain.
        let Some(tree) = &mut self.tree else { return false };
        if self.based || self.restoring.has_entries() {
            return false;
        }
        tree.pages.unmark_all();
        self.based = true;
        true
    }

    fn forget_base(&mut self) {
        assert_eq!(self.phase, Phase::Idle, "what is frozen is of what was said before");
        self.based = false;
        if let Some(tree) = &mut self.tree {
            tree.pages.mark_all();
        }
    }

    fn take_fault(&mut self) -> Option<PagedFault> {
        self.fault.take()
    }
}

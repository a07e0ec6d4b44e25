//! Trees on pages: for each key group a B+tree (Bayer and McCreight 1972, with all entries in the leaves).
//!
//! The root of a group is its first page, for good; the group has no pages before its first entry. From bottom to top:
//!
//! - `node`: a page with entries, and how it changes; `build`: one that is made at once; `run`: values too large for a leaf;
//! - `split` and `merge`: how nodes become more and fewer;
//! - `check`: whether pages that come from a file are a tree.

mod build;
mod check;
pub(crate) mod flat;
mod merge;
mod node;
mod run;
mod split;

#[cfg(test)]
mod tests;

use super::OrderedEntry;
use crate::paged::PagedFault;
use crate::paged::memory::Memory;
use crate::paged::pages::Pages;
use build::Builder;
use millstream_io::scratch::Supply;
use node::{Item, LEAF, MOST_ENTRY, MOST_KEY, Node, SLOT};
use run::Reference;

/// The trees of one state of one subtask. Groups are counted within those that it owns.
#[derive(Debug)]
pub(super) struct Tree {
    pub pages: Pages,
    /// Entries by group.
    pub counts: Vec<u64>,
    len: usize,
    /// The inner nodes that a change came through, and which of their entries led on.
    path: Vec<(usize, usize)>,
}

/// Whether trees take a key and its value.
///
/// # Errors
/// They do not.
pub(super) fn check_size(key: &[u8], value: &[u8]) -> Result<(), PagedFault> {
    if key.len() > MOST_KEY {
        return Err(PagedFault::LongKey { size: key.len(), most: MOST_KEY });
    }
    let size = key.len() + value.len();
    if size > run::MOST {
        return Err(PagedFault::TooLarge { size, most: run::MOST });
    }
    Ok(())
}

impl Tree {
    /// # Errors
    /// The system gives no addresses.
    pub fn new(groups: usize, supply: &Supply) -> Result<Self, PagedFault> {
        let pages = Pages::new(groups, Memory::new(supply)?)?;
        Ok(Self { pages, counts: vec![0; groups], len: 0, path: Vec::new() })
    }

    pub fn len(&self) -> usize {
        self.len
    }

    fn node(&self, group: usize, local: usize) -> Node<'_> {
        Node::of(&self.pages, self.pages.page_of(group, local))
    }

    /// The leaf where a key is or would be, and its page; `passed` is told of each inner node on the way and which entry led
    /// on. There is none in a group that never had an entry.
    #[inline(always)]
    fn descend<'a>(
        &'a self,
        group: usize,
        key: &[u8],
        mut passed: impl FnMut(usize, Node<'a>, usize),
    ) -> Option<(usize, Node<'a>)> {
        if self.pages.len_of(group) == 0 {
            return None;
        }
        let mut page = self.pages.page_of(group, 0);
        loop {
            let node = Node::of(&self.pages, page);
            if node.is_leaf() {
                return Some((page, node));
            }
            let index = node.way(key);
            passed(page, node, index);
            page = self.pages.page_of(group, node.child(index));
        }
    }

    fn value<'a>(&'a self, group: usize, item: Item<'a>) -> &'a [u8] {
        if item.far { run::read(&self.pages, group, Reference::parse(item.value)) } else { item.value }
    }

    fn entry<'a>(&'a self, group: usize, node: Node<'a>, index: usize) -> OrderedEntry<'a> {
        let item = node.item(index);
        (item.key, self.value(group, item))
    }

    pub fn get(&self, group: usize, key: &[u8]) -> Option<&[u8]> {
        let (_, leaf) = self.descend(group, key, |_, _, _| ())?;
        Some(self.value(group, leaf.item(leaf.search(key).ok()?)))
    }

    pub fn first_from(&self, group: usize, key: &[u8]) -> Option<OrderedEntry<'_>> {
        let mut next = None;
        let (_, leaf) = self.descend(group, key, |_, node, index| note_next(node, index, &mut next))?;
        let (Ok(index) | Err(index)) = leaf.search(key);
        if index < leaf.count() {
            return Some(self.entry(group, leaf, index));
        }
        // A leaf behind another one has entries.
        let (_, leaf) = self.descend(group, next?, |_, _, _| ())?;
        Some(self.entry(group, leaf, 0))
    }

    pub fn last_before(&self, group: usize, key: &[u8]) -> Option<OrderedEntry<'_>> {
        let mut before = None;
        let (_, leaf) = self.descend(group, key, |_, node, index| {
            if index > 0 {
                before = Some(node.child(index - 1));
            }
        })?;
        let (Ok(index) | Err(index)) = leaf.search(key);
        if index > 0 {
            return Some(self.entry(group, leaf, index - 1));
        }
        let mut node = self.node(group, before?);
        while !node.is_leaf() {
            node = self.node(group, node.child(node.count() - 1));
        }
        Some(self.entry(group, node, node.count() - 1))
    }

    pub fn scan<'a>(&'a self, group: usize, mut key: &'a [u8], f: &mut dyn FnMut(&[u8], &[u8]) -> bool) {
        loop {
            let mut next = None;
            let found = self.descend(group, key, |_, node, index| note_next(node, index, &mut next));
            let Some((_, leaf)) = found else { return };
            let (Ok(first) | Err(first)) = leaf.search(key);
            for index in first..leaf.count() {
                let (key, value) = self.entry(group, leaf, index);
                if !f(key, value) {
                    return;
                }
            }
            let Some(next) = next else { return };
            key = next;
        }
    }

    /// Gives a key a value.
    ///
    /// # Errors
    /// Key or value are too large, or the system gives no memory: then nothing has changed.
    pub fn put(&mut self, group: usize, key: &[u8], value: &[u8]) -> Result<(), PagedFault> {
        check_size(key, value)?;
        if self.pages.len_of(group) == 0 {
            let root = self.pages.allocate(group, 0)?;
            Builder::new(LEAF, 0).write(&mut self.pages, root);
        }
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        let found = self.descend(group, key, |page, _, index| path.push((page, index)));
        let found = found.map(|(page, leaf)| (page, leaf.search(key)));
        self.path = path;
        match found {
            Some((page, Ok(index))) => self.change(group, page, index, key, value),
            Some((page, Err(index))) => {
                self.add(group, page, index, key, value)?;
                self.counts[group] += 1;
                self.len += 1;
                Ok(())
            }
            None => unreachable!("the group has a root by now"),
        }
    }

    /// Puts a new entry into the leaf that the path leads to.
    fn add(
        &mut self,
        group: usize,
        page: usize,
        index: usize,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), PagedFault> {
        let stored = self.store(group, key, value)?;
        let item = stored.item(key);
        self.reserve_for(group, page, item, 0).inspect_err(|_| stored.take_back(&mut self.pages, group))?;
        self.insert(group, page, index, item);
        Ok(())
    }

    /// Changes the value of an entry of the leaf that the path leads to.
    fn change(
        &mut self,
        group: usize,
        page: usize,
        index: usize,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), PagedFault> {
        let old = Node::of(&self.pages, page).item(index);
        let near = is_near(key, value);
        let old_run = old.far.then(|| Reference::parse(old.value));
        let old_size = old.size();
        match old_run {
            None if near && old.value.len() == value.len() => {
                node::change_value(&mut self.pages, page, index, value);
                return Ok(());
            }
            Some(run) if !near && run::log2_of(run.len as usize) == run::log2_of(value.len()) => {
                let changed = run::change(&mut self.pages, group, run, value);
                node::change_value(&mut self.pages, page, index, &changed.bytes());
                return Ok(());
            }
            _ => {}
        }
        let stored = self.store(group, key, value)?;
        let item = stored.item(key);
        if !node::put_over(&mut self.pages, page, index, item) {
            self.reserve_for(group, page, item, old_size)
                .inspect_err(|_| stored.take_back(&mut self.pages, group))?;
            node::remove(&mut self.pages, page, index);
            self.insert(group, page, index, item);
        }
        if let Some(run) = old_run {
            run::release(&mut self.pages, group, run);
        }
        Ok(())
    }

    /// Brings a value into the form in which a leaf takes it.
    fn store<'a>(&mut self, group: usize, key: &[u8], value: &'a [u8]) -> Result<Stored<'a>, PagedFault> {
        if is_near(key, value) {
            return Ok(Stored::Near(value));
        }
        let run = run::add(&mut self.pages, group, value)?;
        Ok(Stored::Far(run, run.bytes()))
    }

    /// Sees to it that all nodes of the path can be split, unless the leaf has room once it lacks so many bytes.
    fn reserve_for(
        &mut self,
        group: usize,
        page: usize,
        item: Item<'_>,
        without: usize,
    ) -> Result<(), PagedFault> {
        let room = Node::of(&self.pages, page).header.room();
        if room + without < item.size() + SLOT {
            // Each of them one, and the root one more.
            self.pages.reserve(group, self.path.len() as u32 + 2)?;
        }
        Ok(())
    }

    /// Takes a key out. Returns whether it was there.
    pub fn remove(&mut self, group: usize, key: &[u8]) -> bool {
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        let found = self.descend(group, key, |page, _, index| path.push((page, index)));
        let found = found.and_then(|(page, leaf)| Some((page, leaf, leaf.search(key).ok()?)));
        let found = found.map(|(page, leaf, index)| (page, index, leaf.item(index)));
        let found =
            found.map(|(page, index, item)| (page, index, item.far.then(|| Reference::parse(item.value))));
        self.path = path;
        let Some((page, index, run)) = found else { return false };
        if let Some(run) = run {
            run::release(&mut self.pages, group, run);
        }
        node::remove(&mut self.pages, page, index);
        self.tidy_up(group, page);
        self.counts[group] -= 1;
        self.len -= 1;
        true
    }
}

/// Notes where the keys behind an entry's begin.
fn note_next<'a>(node: Node<'a>, index: usize, next: &mut Option<&'a [u8]>) {
    if index + 1 < node.count() {
        *next = Some(node.key(index + 1));
    }
}

/// Whether a leaf takes the value itself.
fn is_near(key: &[u8], value: &[u8]) -> bool {
    Item { key, value, far: false }.size() + SLOT <= MOST_ENTRY
}

/// A value in the form in which a leaf takes it.
enum Stored<'a> {
    Near(&'a [u8]),
    Far(Reference, [u8; node::REFERENCE]),
}

impl Stored<'_> {
    fn item<'a>(&'a self, key: &'a [u8]) -> Item<'a> {
        match self {
            Self::Near(value) => Item { key, value, far: false },
            Self::Far(_, value) => Item { key, value, far: true },
        }
    }

    /// Gives back what was allocated for it.
    fn take_back(&self, pages: &mut Pages, group: usize) {
        if let Self::Far(run, _) = self {
            run::release(pages, group, *run);
        }
    }
}

//! Whether pages that come from a file are a tree (MS-073): every page is looked at once, before any is used.

use super::Tree;
use super::node::{
    FAR, HEAD, HEADER, Header, INNER, LEAF, MOST_ENTRY, MOST_KEY, Node, REFERENCE, SLOT, USED, slot_at,
};
use super::run::{self, RUN, Reference};
use crate::paged::memory::SEGMENT_PAGES;
use millstream_io::executor::Executor;

/// Levels that no tree has: with four entries a node there are not as many pages.
const LEVELS: u8 = 32;

/// What a page of the group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    /// No node and no run begins here.
    Nothing,
    Node,
    /// A run of `1 << log2` pages.
    Run(u32),
    /// A node or run that something leads to.
    Reached,
}

/// What is wrong.
type Problem = &'static str;

/// Keys that a node may have: from the first on, before the second.
type Between<'a> = (&'a [u8], Option<&'a [u8]>);

impl Tree {
    /// Looks at groups that were loaded, once all of them were, each of which should have so many entries.
    ///
    /// # Errors
    /// What is wrong with the pages of which of them.
    pub fn settle(
        &mut self,
        groups: &[(usize, u64)],
        executor: &dyn Executor,
    ) -> Result<(), (usize, Problem)> {
        let tree = &*self;
        let looked = executor.map(groups.len(), |nth| tree.look(groups[nth].0, groups[nth].1));
        for ((group, entries), looked) in groups.iter().zip(looked) {
            looked.map_err(|problem| (*group, problem))?;
            self.note_used(*group);
            self.counts[*group] = *entries;
            self.len += *entries as usize;
        }
        Ok(())
    }

    /// Looks at all pages of a group.
    fn look(&self, group: usize, entries: u64) -> Result<(), Problem> {
        let is = self.kinds(group)?;
        if is.first() != Some(&Is::Node) {
            return Err("the first page of a group is not the root of a tree");
        }
        let mut check = Check { tree: self, group, is, entries: 0 };
        check.reach(0)?;
        check.node(0, self.node(group, 0).header.level, (b"", None))?;
        if check.entries != entries {
            return Err("the leaves do not have as many entries as they should");
        }
        let is = check.is;
        if is.iter().any(|is| matches!(is, Is::Node | Is::Run(_))) {
            return Err("nothing leads to a page that is in use");
        }
        Ok(())
    }

    /// What the pages of a group are, by their first bytes.
    fn kinds(&self, group: usize) -> Result<Vec<Is>, Problem> {
        let count = self.pages.len_of(group);
        let mut is = vec![Is::Nothing; count];
        let mut local = 0;
        while local < count {
            let page = self.pages.page_of(group, local);
            let (what, pages) = match self.pages.page(page)[0] {
                0 => (Is::Nothing, 1),
                LEAF | INNER => (Is::Node, 1),
                RUN => {
                    let log2 = run::log2_at(&self.pages, page);
                    let pages = 1usize.checked_shl(log2).unwrap_or(usize::MAX);
                    (Is::Run(log2), pages)
                }
                _ => return Err("a page is of a kind that is not known"),
            };
            if pages > SEGMENT_PAGES || !local.is_multiple_of(pages) {
                return Err("a run is longer than can be, or begins where none can");
            }
            is[local] = what;
            local += pages;
        }
        Ok(is)
    }

    /// Says which pages are in use.
    fn note_used(&mut self, group: usize) {
        let mut local = 0;
        while local < self.pages.len_of(group) {
            let page = self.pages.page_of(group, local);
            let log2 = if self.pages.page(page)[0] == RUN { run::log2_at(&self.pages, page) } else { 0 };
            match self.pages.page(page)[0] {
                0 => self.pages.set_free(page),
                _ => self.pages.set_used(page, log2),
            }
            local += 1 << log2;
        }
    }
}

/// A check under way.
struct Check<'a> {
    tree: &'a Tree,
    group: usize,
    is: Vec<Is>,
    entries: u64,
}

impl<'a> Check<'a> {
    /// Notes that something leads to a page. Says what it is.
    fn reach(&mut self, local: usize) -> Result<Is, Problem> {
        match self.is.get_mut(local) {
            Some(is @ (Is::Node | Is::Run(_))) => Ok(std::mem::replace(is, Is::Reached)),
            Some(Is::Reached) => Err("two entries lead to one page"),
            _ => Err("an entry leads to a page where nothing begins"),
        }
    }

    /// Looks at a node and all below it. Levels go down, so this ends.
    fn node(&mut self, local: usize, level: u8, between: Between<'a>) -> Result<(), Problem> {
        let tree = self.tree;
        let node = tree.node(self.group, local);
        let header = node.header;
        if header.level != level || level >= LEVELS || (header.kind == LEAF) != node.is_leaf() {
            return Err("a node is not of the level of its place in the tree");
        }
        if header.count == 0 && !(local == 0 && node.is_leaf()) {
            return Err("a node has no entries");
        }
        check_layout(node)?;
        check_keys(node, between)?;
        if node.is_leaf() {
            self.entries += header.count as u64;
            return self.runs(node);
        }
        for index in 0..header.count {
            let child = node.child(index);
            if self.reach(child)? != Is::Node {
                return Err("an entry of an inner node leads to something else than a node");
            }
            let from = if index == 0 { between.0 } else { node.key(index) };
            let to = if index + 1 < header.count { Some(node.key(index + 1)) } else { between.1 };
            self.node(child, level - 1, (from, to))?;
        }
        Ok(())
    }

    /// Looks at the runs that a leaf leads to.
    fn runs(&mut self, leaf: Node<'_>) -> Result<(), Problem> {
        for item in leaf.items().filter(|item| item.far) {
            let run = Reference::parse(item.value);
            if run.len as usize + item.key.len() > run::MOST {
                return Err("a value is longer than it may be");
            }
            if self.reach(run.page as usize)? != Is::Run(run::log2_of(run.len as usize)) {
                return Err("a value is not in a run of its size");
            }
        }
        Ok(())
    }
}

/// Looks at header, slots and entries, all but the keys' order.
pub(super) fn check_layout(node: Node<'_>) -> Result<(), Problem> {
    let Header { first, count, top, live, .. } = node.header;
    if slot_at(first + count) > top || top > USED {
        return Err("the slots of a node go beyond its entries, or these beyond its end");
    }
    let half = |at: usize| u16::from_le_bytes([node.page[at], node.page[at + 1]]);
    let mut entries = Vec::with_capacity(count);
    for index in 0..count {
        let at = node.at(index);
        if at < top || at + HEAD > USED {
            return Err("a slot leads to no entry");
        }
        let (key, value) = (half(at), usize::from(half(at + 2)));
        let (far, key) = (key & FAR != 0, usize::from(key & !FAR));
        let size = HEAD + key + value;
        if at + size > USED || size + SLOT > MOST_ENTRY || key > MOST_KEY {
            return Err("an entry of a node is longer than it may be");
        }
        let wanted = if !node.is_leaf() { Some(4) } else { far.then_some(REFERENCE) };
        if wanted.is_some_and(|wanted| wanted != value) || (far && !node.is_leaf()) {
            return Err("what an entry leads to is not as long as a number of a page");
        }
        entries.push((at, at + size));
    }
    entries.sort_unstable();
    if entries.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        return Err("entries of a node overlap");
    }
    if entries.iter().map(|(at, end)| end - at).sum::<usize>() != live {
        return Err("the entries of a node are not as long as it says");
    }
    debug_assert!(live + count * SLOT + HEADER <= USED);
    Ok(())
}

/// Looks at the keys' order.
fn check_keys(node: Node<'_>, (from, to): Between<'_>) -> Result<(), Problem> {
    let leaf = node.is_leaf();
    // The first key of an inner node does not count.
    let mut last = None;
    for index in usize::from(!leaf)..node.count() {
        let key = node.key(index);
        let after = match last {
            Some(last) => key > last,
            None if leaf => key >= from,
            None => key > from,
        };
        if !after || to.is_some_and(|to| key >= to) {
            return Err("the keys of a node are not in their order, or not its own");
        }
        last = Some(key);
    }
    Ok(())
}

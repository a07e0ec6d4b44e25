//! Nodes become more: one that has no room for an entry is divided.

use super::Tree;
use super::build::Builder;
use super::node::{self, HEADER, INNER, Item, Node, SLOT, USED};
use crate::paged::memory::PAGE;
use crate::paged::pages::Pages;

impl Tree {
    /// Puts an entry into a node that the path leads to, whose pages were reserved where it has no room.
    pub(super) fn insert(&mut self, group: usize, page: usize, index: usize, item: Item<'_>) {
        if node::insert(&mut self.pages, page, index, item) {
            return;
        }
        let page = if self.path.is_empty() { self.deepen(group, page) } else { page };
        let right = self.reserved(group);
        let separator = split(&mut self.pages, page, right, index, item);
        let child = self.pages.local(right).to_le_bytes();
        let Some((parent, way)) = self.path.pop() else { unreachable!("what is divided is not the root") };
        self.insert(group, parent, way + 1, Item { key: &separator, value: &child, far: false });
    }

    fn reserved(&mut self, group: usize) -> usize {
        self.pages.allocate(group, 0).expect("pages were reserved")
    }

    /// Moves all of the root one level down. Returns the node that has it now.
    fn deepen(&mut self, group: usize, root: usize) -> usize {
        let below = self.reserved(group);
        let bytes = *self.pages.page(root);
        self.pages.replace(below * PAGE, &bytes);
        let mut builder = Builder::new(INNER, Node::of(&self.pages, below).header.level + 1);
        builder.push(Item { key: b"", value: &self.pages.local(below).to_le_bytes(), far: false });
        builder.write(&mut self.pages, root);
        self.path.push((root, 0));
        below
    }
}

/// Moves the entries from some place on to an empty page, and puts one more where it belongs. Returns the key from which on
/// keys are there.
fn split(pages: &mut Pages, left: usize, right: usize, index: usize, item: Item<'_>) -> Vec<u8> {
    let node = Node::of(pages, left);
    let inner = !node.is_leaf();
    // The entries with the new one.
    let count = node.count() + 1;
    let all = |at: usize| match at.cmp(&index) {
        std::cmp::Ordering::Less => node.item(at),
        std::cmp::Ordering::Equal => item,
        std::cmp::Ordering::Greater => node.item(at - 1),
    };
    let size = |at: usize| all(at).size() + SLOT;
    // What comes at the end is probably followed by more of the kind, and what is before it by nothing: that is left full. What
    // comes behind what came last is made the end.
    let cut = match index.checked_sub(1) {
        Some(_) if index + 1 == count => index,
        Some(before) if node.at(before) == node.header.top && fits((0..index + 1).map(size)) => index + 1,
        _ => middle(count, size),
    };
    let key = all(cut).key;
    let separator = if inner { key } else { shortest_between(all(cut - 1).key, key) }.to_vec();
    let mut builder = Builder::new(node.header.kind, node.header.level);
    for at in cut..count {
        let item = all(at);
        builder.push(if inner && at == cut { Item { key: b"", ..item } } else { item });
    }
    builder.write(pages, right);
    let stays = index < cut;
    node::truncate(pages, left, cut - usize::from(stays));
    let done = !stays || node::insert(pages, left, index, item);
    debug_assert!(done, "half of a node's entries and one more fit it");
    separator
}

/// Whether a node takes entries of these sizes.
fn fits(sizes: impl Iterator<Item = usize>) -> bool {
    sizes.sum::<usize>() <= USED - HEADER
}

/// Where to cut so that both sides are about as large, and neither is empty.
fn middle(count: usize, size: impl Fn(usize) -> usize) -> usize {
    let half = (0..count).map(&size).sum::<usize>() / 2;
    let mut before = 0;
    let cut = (0..count).find(|at| {
        before += size(*at);
        before > half
    });
    cut.unwrap_or(1).clamp(1, count - 1)
}

/// The shortest beginning of `key` that comes after `before`, which comes before `key`.
fn shortest_between<'a>(before: &[u8], key: &'a [u8]) -> &'a [u8] {
    let same = before.iter().zip(key).take_while(|(a, b)| a == b).count();
    &key[..(same + 1).min(key.len())]
}

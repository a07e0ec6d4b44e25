//! Nodes become fewer: one that has little left takes in a neighbour, or goes where it has nothing.

use super::Tree;
use super::build::Builder;
use super::node::{self, Header, Item, LEAF, Node, USED};
use crate::paged::memory::PAGE;

/// A node with less than this looks for a neighbour.
const FEW: usize = USED / 4;

/// Two that have no more than this become one.
const MOST: usize = USED / 4 * 3;

impl Tree {
    /// Looks after a node that the path leads to, and that has lost an entry.
    pub(super) fn tidy_up(&mut self, group: usize, mut page: usize) {
        while let Some((parent, way)) = self.path.pop() {
            let header = Header::parse(self.pages.page(page));
            if header.count == 0 {
                self.pages.release(page, 0);
                node::remove(&mut self.pages, parent, way);
            } else if header.used() >= FEW || !self.merge(group, parent, way) {
                return;
            }
            page = parent;
        }
        self.flatten(group, page);
    }

    /// Makes one node of a child and the one behind it, or before it, if there is one that it fits.
    fn merge(&mut self, group: usize, parent: usize, way: usize) -> bool {
        let last = Header::parse(self.pages.page(parent)).count - 1;
        let pairs = [(way < last).then_some(way), way.checked_sub(1)];
        pairs.into_iter().flatten().any(|left| self.merge_pair(group, parent, left))
    }

    /// Makes one node of a child and the one behind it, if that is large enough.
    fn merge_pair(&mut self, group: usize, parent: usize, way: usize) -> bool {
        let above = Node::of(&self.pages, parent);
        let page = |way| self.pages.page_of(group, above.child(way));
        let (left_page, right_page) = (page(way), page(way + 1));
        let [left, right] = [left_page, right_page].map(|page| Node::of(&self.pages, page));
        let separator = if left.is_leaf() { &[] } else { above.key(way + 1) };
        if left.header.used() + right.header.used() + separator.len() > MOST {
            return false;
        }
        let mut builder = Builder::new(left.header.kind, left.header.level);
        left.items().for_each(|item| builder.push(item));
        for (index, item) in right.items().enumerate() {
            // What the first entry of an inner node does not say.
            let hidden = index == 0 && !right.is_leaf();
            builder.push(if hidden { Item { key: separator, ..item } } else { item });
        }
        builder.write(&mut self.pages, left_page);
        self.pages.release(right_page, 0);
        node::remove(&mut self.pages, parent, way + 1);
        true
    }

    /// Takes levels away from a root that leads to one node only.
    fn flatten(&mut self, group: usize, root: usize) {
        loop {
            let node = Node::of(&self.pages, root);
            match (node.is_leaf(), node.count()) {
                (false, 0) => {
                    Builder::new(LEAF, 0).write(&mut self.pages, root);
                }
                (false, 1) => {
                    let below = self.pages.page_of(group, node.child(0));
                    let bytes = *self.pages.page(below);
                    self.pages.replace(root * PAGE, &bytes);
                    self.pages.release(below, 0);
                }
                _ => return,
            }
        }
    }
}

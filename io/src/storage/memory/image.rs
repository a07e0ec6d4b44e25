//! What is left of files in memory after a kill or a power cut.

use super::file::FileNode;
use super::tree::{Change, DirId, Names, Node, Tree};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::sync::Arc;

/// Live and durable files as they are, in nodes of their own.
pub(super) fn after_kill(tree: &Tree) -> Tree {
    let names = tree.0.lock();
    let mut copies = Copies::default();
    let mut image = Names { next_inode: names.next_inode, ..Names::default() };
    for (dir, entries) in &names.dirs {
        image.dirs.insert(*dir, entries.iter().map(|(name, node)| (name.clone(), copies.of(node))).collect());
    }
    for (key, node) in &names.durable {
        image.durable.insert(key.clone(), copies.of(node));
    }
    image.pending = names
        .pending
        .iter()
        .map(|change| Change {
            taken: change.taken.clone(),
            set: change.set.as_ref().map(|(dir, name, node)| (*dir, name.clone(), copies.of(node))),
        })
        .collect();
    image.removed_dirs = names.removed_dirs;
    Tree(Mutex::new(image))
}

/// Durable files, with some of the changes that were not durable.
pub(super) fn after_power_cut(tree: &Tree, seed: u64) -> Tree {
    let names = tree.0.lock();
    let mut chance = Chance::new(seed);
    let mut found = names.durable.clone();
    // How much was lost varies from crash to crash: almost nothing, half of it, or nearly all.
    let kept_of_eight = 1 + chance.below(7);
    for change in &names.pending {
        if chance.below(8) < kept_of_eight {
            change.apply(&mut found);
        }
    }
    let mut image = Names { next_inode: names.next_inode, ..Names::default() };
    image.dirs.insert(Names::ROOT, BTreeMap::new());
    let mut reached = vec![Names::ROOT];
    while let Some(dir) = reached.pop() {
        for ((_, name), node) in found.range((dir, OsString::new())..(DirId(dir.0 + 1), OsString::new())) {
            let left = match node {
                Node::Dir(below) => {
                    image.dirs.entry(*below).or_default();
                    reached.push(*below);
                    node.clone()
                }
                Node::File(file) => {
                    let data = file.data.lock().after_power_cut(&mut |n| chance.below(n));
                    Node::File(FileNode::new(file.inode, data))
                }
            };
            image.dirs.entry(dir).or_default().insert(name.clone(), left.clone());
            image.durable.insert((dir, name.clone()), left);
        }
    }
    Tree(Mutex::new(image))
}

/// Each file once, however many times it is named.
#[derive(Default)]
struct Copies(HashMap<u64, Arc<FileNode>>);

impl Copies {
    fn of(&mut self, node: &Node) -> Node {
        match node {
            Node::Dir(dir) => Node::Dir(*dir),
            Node::File(file) => {
                let copy = self
                    .0
                    .entry(file.inode)
                    .or_insert_with(|| FileNode::new(file.inode, file.data.lock().copy()));
                Node::File(Arc::clone(copy))
            }
        }
    }
}

/// A small seeded generator (a Weyl sequence, mixed): equal seeds choose alike on every machine.
struct Chance(u64);

impl Chance {
    fn new(seed: u64) -> Self {
        Self(seed ^ 0x5851_f42d_4c95_7f2d)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = crate::record::hash_word(self.0);
        ((u128::from(mixed) * u128::from(n)) >> 64) as u64
    }
}

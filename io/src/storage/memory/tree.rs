//! The names of files in memory: what they are now, and which changes to them are not durable yet.

use super::super::{Entry, Kind};
use super::file::{Data, FileNode};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

pub(super) type Found<T> = Result<T, ErrorKind>;

/// A directory, by its inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct DirId(pub u64);

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Node {
    File(Arc<FileNode>),
    Dir(DirId),
}

impl Node {
    pub fn dir(&self) -> Option<DirId> {
        match self {
            Node::Dir(dir) => Some(*dir),
            Node::File(_) => None,
        }
    }

    fn is(&self, other: &Node) -> bool {
        match (self, other) {
            (Node::File(a), Node::File(b)) => Arc::ptr_eq(a, b),
            (Node::Dir(a), Node::Dir(b)) => a == b,
            _ => false,
        }
    }
}

/// A change to the names of a directory that a power cut may undo. A rename takes the old name away and sets the new
/// one, together or not at all.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub taken: Option<(DirId, OsString)>,
    pub set: Option<(DirId, OsString, Node)>,
}

impl Change {
    fn touches(&self, dir: DirId) -> bool {
        self.taken.as_ref().is_some_and(|(at, _)| *at == dir)
            || self.set.as_ref().is_some_and(|(at, ..)| *at == dir)
    }

    /// Does the change to the durable names. A node never ends up under two names, whatever was lost before.
    pub fn apply(&self, durable: &mut BTreeMap<(DirId, OsString), Node>) {
        let taken = self.taken.clone().and_then(|key| durable.remove(&key));
        if let Some((dir, name, node)) = &self.set {
            if self.taken.is_some() && !taken.is_some_and(|taken| taken.is(node)) {
                // An earlier rename of the same file was lost.
                durable.retain(|_, other| !other.is(node));
            }
            durable.insert((*dir, name.clone()), node.clone());
        }
    }
}

/// All names, behind one lock.
#[derive(Debug)]
pub(super) struct Tree(pub Mutex<Names>);

impl Tree {
    pub fn new() -> Self {
        let mut names = Names { next_inode: 1, ..Names::default() };
        names.dirs.insert(Names::ROOT, BTreeMap::new());
        Self(Mutex::new(names))
    }

    pub fn with<T>(&self, work: impl FnOnce(&mut Names) -> T) -> T {
        work(&mut self.0.lock())
    }
}

/// The live names, and what a power cut may do to them.
///
/// Invariant: doing all of `pending`, in order, to `durable` gives the live names in `dirs`.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub dirs: HashMap<DirId, BTreeMap<OsString, Node>>,
    pub durable: BTreeMap<(DirId, OsString), Node>,
    pub pending: Vec<Change>,
    pub next_inode: u64,
    /// Whether a directory was removed that still has entries here.
    pub removed_dirs: bool,
}

/// As many changes may wait for a sync; the system writes older ones back by itself, as a real one does.
const MAX_PENDING: usize = 4096;

impl Names {
    pub const ROOT: DirId = DirId(0);

    fn inode(&mut self) -> u64 {
        let inode = self.next_inode;
        self.next_inode += 1;
        inode
    }

    pub fn find(&self, path: &Path) -> Found<Node> {
        let mut node = Node::Dir(Self::ROOT);
        for name in names(path) {
            node = self.entries(&node)?.get(name?).ok_or(ErrorKind::NotFound)?.clone();
        }
        Ok(node)
    }

    fn entries(&self, node: &Node) -> Found<&BTreeMap<OsString, Node>> {
        match node {
            Node::Dir(dir) => self.dirs.get(dir).ok_or(ErrorKind::NotFound),
            Node::File(_) => Err(ErrorKind::NotADirectory),
        }
    }

    fn dir(&self, path: &Path) -> Found<DirId> {
        match self.find(path)? {
            Node::Dir(dir) => Ok(dir),
            Node::File(_) => Err(ErrorKind::NotADirectory),
        }
    }

    /// The directory that holds `path`, and the name in it.
    fn place<'p>(&self, path: &'p Path) -> Found<(DirId, &'p OsStr)> {
        let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
        Ok((self.dir(path.parent().unwrap_or(Path::new("")))?, name))
    }

    fn live(&mut self, dir: DirId) -> &mut BTreeMap<OsString, Node> {
        self.dirs.entry(dir).or_default()
    }

    fn note(&mut self, change: Change) {
        self.pending.push(change);
        if self.pending.len() >= MAX_PENDING {
            for change in self.pending.drain(..MAX_PENDING / 2) {
                change.apply(&mut self.durable);
            }
            self.forget_lost_dirs();
        }
    }

    pub fn create(&mut self, path: &Path) -> Found<Arc<FileNode>> {
        let (dir, name) = self.place(path)?;
        if self.live(dir).contains_key(name) {
            return Err(ErrorKind::AlreadyExists);
        }
        let file = FileNode::new(self.inode(), Data::default());
        let node = Node::File(Arc::clone(&file));
        self.live(dir).insert(name.to_owned(), node.clone());
        self.note(Change { taken: None, set: Some((dir, name.to_owned(), node)) });
        Ok(file)
    }

    pub fn rename(&mut self, from: &Path, to: &Path) -> Found<()> {
        let (from_dir, from_name) = self.place(from)?;
        let node = self.live(from_dir).get(from_name).cloned().ok_or(ErrorKind::NotFound)?;
        let (to_dir, to_name) = self.place(to)?;
        if self.live(to_dir).contains_key(to_name) {
            return Err(ErrorKind::AlreadyExists);
        }
        self.live(from_dir).remove(from_name);
        self.live(to_dir).insert(to_name.to_owned(), node.clone());
        self.note(Change {
            taken: Some((from_dir, from_name.to_owned())),
            set: Some((to_dir, to_name.to_owned(), node)),
        });
        Ok(())
    }

    /// Only the published name becomes durable: nobody may rely on the rest of the directory going with it.
    pub fn publish(&mut self, path: &Path, data: Data) -> Found<()> {
        let (dir, name) = self.place(path)?;
        if let Some(Node::Dir(_)) = self.live(dir).get(name) {
            return Err(ErrorKind::IsADirectory);
        }
        let node = Node::File(FileNode::new(self.inode(), data));
        self.live(dir).insert(name.to_owned(), node.clone());
        self.pending.retain_mut(|change| {
            if change.taken.as_ref().is_some_and(|(at, taken)| *at == dir && taken == name) {
                change.taken = None;
            }
            if change.set.as_ref().is_some_and(|(at, set, _)| *at == dir && set == name) {
                change.set = None;
            }
            change.taken.is_some() || change.set.is_some()
        });
        self.durable.insert((dir, name.to_owned()), node);
        Ok(())
    }

    pub fn remove(&mut self, path: &Path) -> Found<()> {
        let (dir, name) = self.place(path)?;
        match self.live(dir).get(name).ok_or(ErrorKind::NotFound)? {
            Node::Dir(_) => return Err(ErrorKind::IsADirectory),
            Node::File(_) => self.live(dir).remove(name),
        };
        self.note(Change { taken: Some((dir, name.to_owned())), set: None });
        Ok(())
    }

    pub fn remove_dir(&mut self, path: &Path) -> Found<()> {
        let (dir, name) = self.place(path)?;
        let removed = self.dir(path)?;
        if !self.live(removed).is_empty() {
            return Err(ErrorKind::DirectoryNotEmpty);
        }
        self.live(dir).remove(name);
        self.removed_dirs = true;
        self.note(Change { taken: Some((dir, name.to_owned())), set: None });
        Ok(())
    }

    pub fn create_dir_all(&mut self, path: &Path) -> Found<()> {
        let mut at = Self::ROOT;
        for name in names(path) {
            let name = name?;
            at = match self.live(at).get(name) {
                Some(Node::Dir(dir)) => *dir,
                Some(Node::File(_)) => return Err(ErrorKind::NotADirectory),
                None => {
                    let made = DirId(self.inode());
                    self.dirs.insert(made, BTreeMap::new());
                    self.live(at).insert(name.to_owned(), Node::Dir(made));
                    self.pending.retain(|change| {
                        !change.taken.as_ref().is_some_and(|(dir, taken)| *dir == at && taken == name)
                    });
                    self.durable.insert((at, name.to_owned()), Node::Dir(made));
                    made
                }
            };
        }
        Ok(())
    }

    pub fn list(&self, path: &Path) -> Found<Vec<Entry>> {
        let entries = self.entries(&self.find(path)?)?;
        Ok(entries
            .iter()
            .map(|(name, node)| Entry {
                name: name.clone(),
                kind: if let Node::Dir(_) = node { Kind::Dir } else { Kind::File },
                link: false,
            })
            .collect())
    }

    pub fn sync(&mut self, path: &Path) -> Found<()> {
        let dir = self.dir(path)?;
        let durable = &mut self.durable;
        self.pending.retain(|change| {
            let done = change.touches(dir);
            if done {
                change.apply(durable);
            }
            !done
        });
        self.forget_lost_dirs();
        Ok(())
    }

    /// Directories that were removed for good take their memory along.
    fn forget_lost_dirs(&mut self) {
        if !self.removed_dirs || !self.pending.is_empty() {
            return;
        }
        self.removed_dirs = false;
        let mut kept = HashSet::from([Self::ROOT]);
        kept.extend(self.durable.values().filter_map(Node::dir));
        self.dirs.retain(|dir, _| kept.contains(dir));
        self.durable.retain(|(dir, _), _| kept.contains(dir));
    }
}

/// The names along a path; `..` is not supported, as there are no links either.
fn names(path: &Path) -> impl Iterator<Item = Found<&OsStr>> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(Ok(name)),
        Component::RootDir | Component::CurDir => None,
        Component::ParentDir | Component::Prefix(_) => Some(Err(ErrorKind::InvalidInput)),
    })
}

/// The path counted from the root.
pub(super) fn absolute(path: &Path) -> PathBuf {
    let mut absolute = PathBuf::from("/");
    absolute.extend(names(path).flatten());
    absolute
}

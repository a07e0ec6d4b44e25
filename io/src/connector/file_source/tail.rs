//! Following files: looks at the inputs again and again, reads what was added, forgets what is gone.

use super::discover::{Found, files_now, unless_gone};
use super::follow::{Action, Sight, compare, owner};
use super::reader::{Passed, Reader, Reports, Stopped, Turn};
use super::split::{FOLLOWED, FileSplit, path_bytes};
use crate::clock::Moment;
use crate::connector::bad_records::BadRecords;
use crate::emit::Emit;
use crate::error::ConnectorError;
use crate::format::Format;
use crate::source::{Poll, SourceContext};
use crate::storage::{Kind, ReadFile};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

/// Files kept open although there is nothing to read in them, so that what was written last is still there when they
/// are deleted.
const KEPT_OPEN: usize = 64;

/// Turns after which another file that waits comes first.
const TURNS: u32 = 16;

/// A look may take one part in so many of the time (MS-081: an idle job takes less than 1 % of a core).
const LOOK_SHARE: u32 = 200;

/// The files of one subtask that follows.
pub(super) struct Tail<F: Format> {
    cx: SourceContext,
    inputs: Vec<PathBuf>,
    interval: Duration,
    reader: Reader<F>,
    /// By inode.
    sights: BTreeMap<u64, Sight>,
    files: BTreeMap<u64, Known<F>>,
    /// Files with something to read, except the one that is being read.
    queue: VecDeque<u64>,
    reading: Option<u64>,
    turns: u32,
    next_look: Moment,
    /// Files that are kept open, the one that was left longest ago first.
    open: VecDeque<u64>,
}

/// What is kept of a file that is not being read.
struct Known<F: Format> {
    split: FileSplit,
    passed: Option<Passed<F::Splitter>>,
    open: Option<Box<dyn ReadFile>>,
    /// It waits in the queue.
    queued: bool,
    /// The file has no name any more: what is left in it is all that there will be.
    gone: bool,
}

impl<F: Format> Tail<F> {
    /// Goes on with those of the splits that are this subtask's.
    pub(super) fn new(
        cx: SourceContext,
        inputs: Vec<PathBuf>,
        interval: Duration,
        reader: Reader<F>,
        splits: Vec<FileSplit>,
    ) -> Self {
        let mut tail = Self {
            next_look: cx.clock.now(),
            cx,
            inputs,
            interval,
            reader,
            sights: BTreeMap::new(),
            files: BTreeMap::new(),
            queue: VecDeque::new(),
            reading: None,
            turns: 0,
            open: VecDeque::new(),
        };
        for split in splits {
            if owner(split.inode, tail.cx.parallelism) == tail.cx.subtask {
                tail.know(split);
            }
        }
        tail
    }

    fn know(&mut self, split: FileSplit) {
        self.sights.insert(split.inode, Sight { path: split.path_buf(), len: None });
        self.files.insert(split.inode, Known { split, passed: None, open: None, queued: false, gone: false });
    }

    /// Where every file of this subtask stands; those of which nothing was read are found again without.
    pub(super) fn snapshot(&self) -> Vec<FileSplit> {
        let reading = self.reader.split();
        let others = self.files.iter().filter(|(inode, _)| Some(**inode) != self.reading);
        let all = others.map(|(_, known)| known.split.clone()).chain(reading);
        all.filter(|split| split.position > 0).collect()
    }

    pub(super) fn poll(
        &mut self,
        out: &mut impl Emit<F::Out>,
        bad: &mut BadRecords,
    ) -> Result<Poll, ConnectorError> {
        loop {
            let now = self.cx.clock.now();
            if now >= self.next_look {
                self.look()?;
                let after = self.cx.clock.now();
                let cost = after.saturating_sub(now);
                self.next_look = after + self.interval.max(cost * LOOK_SHARE);
            }
            if !self.pick()? {
                return Ok(Poll::Idle(Some(self.next_look)));
            }
            let counters = std::sync::Arc::clone(&self.cx.counters);
            let mut reports = Reports { bad, counters: &counters };
            match self.reader.turn(out, &mut reports)? {
                Turn::More => {
                    self.turns += 1;
                    return Ok(Poll::More);
                }
                Turn::Starved | Turn::Done => self.leave(out, &mut reports)?,
                Turn::Replaced => self.start_over(),
            }
        }
    }

    /// Makes sure that a file is being read; false when none has anything to read.
    fn pick(&mut self) -> Result<bool, ConnectorError> {
        if self.reading.is_some() && (self.turns < TURNS || self.queue.is_empty()) {
            return Ok(true);
        }
        if let Some(inode) = self.reading {
            self.park();
            self.enqueue(inode);
        }
        while let Some(inode) = self.queue.pop_front() {
            let Some(known) = self.files.get_mut(&inode) else { continue };
            known.queued = false;
            self.open.retain(|open| *open != inode);
            let file = match known.open.take() {
                Some(file) => file,
                None => {
                    let Some(file) = unless_gone(self.cx.storage.open(known.split.path()))? else { continue };
                    if file.stat()?.inode != inode {
                        // Its name has passed to another file; the next look finds it again.
                        if let Some(sight) = self.sights.get_mut(&inode) {
                            sight.len = None;
                        }
                        continue;
                    }
                    file
                }
            };
            self.reader.start(file, known.split.clone(), known.passed.take());
            self.reading = Some(inode);
            self.turns = 0;
            return Ok(true);
        }
        Ok(false)
    }

    /// Puts the file that is being read aside, open.
    fn park(&mut self) {
        let Some(inode) = self.reading.take() else { return };
        let Some(Stopped { file, split, passed }) = self.reader.stop() else { return };
        let Some(known) = self.files.get_mut(&inode) else { return };
        *known = Known { split, passed, open: Some(file), ..*known };
        self.open.push_back(inode);
        if self.open.len() > KEPT_OPEN {
            let files = &mut self.files;
            let oldest = self.open.iter().position(|open| files.get(open).is_some_and(|known| !known.gone));
            if let Some(inode) = oldest.and_then(|at| self.open.remove(at))
                && let Some(known) = files.get_mut(&inode)
            {
                known.open = None;
            }
        }
    }

    fn enqueue(&mut self, inode: u64) {
        if let Some(known) = self.files.get_mut(&inode)
            && !std::mem::replace(&mut known.queued, true)
        {
            self.queue.push_back(inode);
        }
    }

    /// The file that is being read holds no further record now.
    fn leave(
        &mut self,
        out: &mut impl Emit<F::Out>,
        reports: &mut Reports<'_>,
    ) -> Result<(), ConnectorError> {
        let Some(inode) = self.reading else { return Ok(()) };
        if self.files.get(&inode).is_some_and(|known| known.gone) {
            self.reading = None;
            self.forget(inode);
            return self.reader.finish(out, reports);
        }
        self.park();
        Ok(())
    }

    fn forget(&mut self, inode: u64) {
        self.files.remove(&inode);
        self.sights.remove(&inode);
        self.open.retain(|open| *open != inode);
    }

    /// The content of the file that is being read was replaced: it begins anew.
    fn start_over(&mut self) {
        if let Some(Stopped { file, split, .. }) = self.reader.stop() {
            let split = FileSplit { position: 0, print: Default::default(), ..split };
            self.reader.start(file, split, None);
        }
    }

    /// Looks at the inputs and lists what is to be read.
    fn look(&mut self) -> Result<(), ConnectorError> {
        let (subtask, parallelism) = (self.cx.subtask, self.cx.parallelism);
        let seen = files_now(&*self.cx.storage, &self.inputs)?;
        for action in compare(&self.sights, &seen, |inode| owner(inode, parallelism) == subtask) {
            match action {
                Action::Begin(Found { path, inode, len }) => {
                    self.know(FileSplit::new(&path, inode, Default::default(), FOLLOWED));
                    self.read(inode, len);
                }
                Action::Rename(inode, path) => self.rename(inode, path),
                Action::Read(inode, len) => self.read(inode, len),
                Action::Missing(inode) => self.missing(inode)?,
            }
        }
        Ok(())
    }

    fn rename(&mut self, inode: u64, path: PathBuf) {
        if let Some(known) = self.files.get_mut(&inode) {
            known.split.path = path_bytes(&path);
        }
        if self.reading == Some(inode) {
            self.reader.rename(&path);
        }
        if let Some(sight) = self.sights.get_mut(&inode) {
            sight.path = path;
        }
    }

    fn read(&mut self, inode: u64, len: u64) {
        if let Some(sight) = self.sights.get_mut(&inode) {
            sight.len = Some(len);
        }
        if self.reading != Some(inode) {
            self.enqueue(inode);
        }
    }

    /// A file is not where the inputs are: it was renamed to a name beside them, or it is gone.
    fn missing(&mut self, inode: u64) -> Result<(), ConnectorError> {
        let Some(sight) = self.sights.get(&inode) else { return Ok(()) };
        if let Some(found) = self.beside(inode, sight)? {
            let grown = sight.len != Some(found.len);
            if found.path != sight.path {
                self.rename(inode, found.path);
            }
            if grown {
                self.read(inode, found.len);
            }
            return Ok(());
        }
        let reading = self.reading == Some(inode);
        match self.files.get_mut(&inode) {
            Some(known) if reading || known.open.is_some() => {
                known.gone = true;
                self.read(inode, 0);
            }
            _ => self.forget(inode),
        }
        Ok(())
    }

    /// The file with this inode under its old name, or under another one in the same directory.
    fn beside(&self, inode: u64, sight: &Sight) -> Result<Option<Found>, ConnectorError> {
        let storage = &*self.cx.storage;
        let Some(dir) = sight.path.parent() else { return Ok(None) };
        let names = unless_gone(storage.list(dir))?.unwrap_or_default();
        let paths = names.into_iter().map(|entry| dir.join(entry.name));
        for path in std::iter::once(sight.path.clone()).chain(paths) {
            if let Some(stat) = unless_gone(storage.stat(&path))?
                && stat.kind == Kind::File
                && stat.inode == inode
            {
                return Ok(Some(Found { path, inode, len: stat.len }));
            }
        }
        Ok(None)
    }
}

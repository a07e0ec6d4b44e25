//! The file source from end to end, on disk and in memory.

mod followed;
mod once;
mod restored;
mod shared;
mod speed;

use super::*;
use crate::clock::ManualClock;
use crate::connector::testing::{Collected, Scene};
use crate::storage::{DiskStorage, MemoryStorage, Storage};
use std::path::Path;
use std::sync::Arc;

/// A directory that tests write to, in memory or on disk.
pub(super) struct World {
    pub storage: Arc<dyn Storage>,
    pub dir: PathBuf,
    pub clock: Arc<ManualClock>,
    _temporary: Option<tempfile::TempDir>,
}

impl World {
    pub fn memory() -> Self {
        let storage = MemoryStorage::new();
        let dir = PathBuf::from("/in");
        storage.create_dir_all(&dir).unwrap();
        Self { storage: Arc::new(storage), dir, clock: Arc::default(), _temporary: None }
    }

    pub fn disk() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let storage = DiskStorage::new();
        let dir = storage.canonical(temporary.path()).unwrap();
        Self { storage: Arc::new(storage), dir, clock: Arc::default(), _temporary: Some(temporary) }
    }

    pub fn both() -> [Self; 2] {
        [Self::memory(), Self::disk()]
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Appends to a file, which is created when missing.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        if let Some(dir) = path.parent() {
            self.storage.create_dir_all(dir).unwrap();
        }
        let mut file = match self.storage.stat(&path) {
            Ok(stat) => self.storage.append(&path, stat.len).unwrap(),
            Err(_) => self.storage.create(&path).unwrap(),
        };
        file.append(bytes.as_ref()).unwrap();
    }

    pub fn truncate(&self, name: &str) {
        self.storage.append(&self.path(name), 0).unwrap();
    }

    pub fn rename(&self, from: &str, to: &str) {
        self.storage.rename(&self.path(from), &self.path(to)).unwrap();
    }

    pub fn remove(&self, name: &str) {
        self.storage.remove(&self.path(name)).unwrap();
    }

    pub fn scene(&self, parallelism: usize) -> Scene {
        let clock = self.clock.clone();
        Scene { storage: self.storage.clone(), ..Scene::new(parallelism).with_clock(clock) }
    }

    pub fn lines(&self, names: &[&str]) -> FileSource<Lines> {
        FileSource::lines(names.iter().map(|name| self.path(name)))
    }

    pub fn csv(&self, names: &[&str]) -> FileSource<Csv> {
        FileSource::csv(names.iter().map(|name| self.path(name)))
    }
}

/// What a record looks like in a test.
pub(super) trait Shown {
    fn shown(self) -> String;
}

impl Shown for Vec<u8> {
    fn shown(self) -> String {
        String::from_utf8_lossy(&self).into_owned()
    }
}

impl Shown for crate::format::CsvLine {
    fn shown(self) -> String {
        self.line.shown()
    }
}

/// The subtasks of a running source.
pub(super) struct Running<F: Format> {
    pub scene: Scene,
    pub subtasks: Vec<FileSource<F>>,
    pub outs: Vec<Collected<F::Out>>,
}

impl<F: Format<Out: Shown>> Running<F> {
    pub fn fresh(world: &World, source: &FileSource<F>, parallelism: usize) -> Self {
        let splits = source.clone().discover(&world.scene(parallelism).context(0)).unwrap();
        Self::with(world, source, parallelism, splits)
    }

    pub fn restored(
        world: &World,
        source: &FileSource<F>,
        parallelism: usize,
        state: Vec<FileSplit>,
    ) -> Self {
        let splits = source.clone().check(&world.scene(parallelism).context(0), state, false).unwrap();
        Self::with(world, source, parallelism, splits)
    }

    fn with(world: &World, source: &FileSource<F>, parallelism: usize, splits: Vec<FileSplit>) -> Self {
        let scene = world.scene(parallelism);
        let subtasks = (0..parallelism).map(|subtask| {
            let mut source = source.clone();
            source.open(scene.context(subtask), splits.clone()).unwrap();
            source
        });
        let subtasks = subtasks.collect();
        let outs = (0..parallelism).map(|_| Collected::default()).collect();
        Self { scene, subtasks, outs }
    }

    pub fn poll(&mut self, subtask: usize) -> Result<Poll, ConnectorError> {
        self.subtasks[subtask].poll(&mut self.outs[subtask])
    }

    /// Polls every subtask until it has nothing more to do now.
    pub fn drain(&mut self) -> Result<(), ConnectorError> {
        for subtask in 0..self.subtasks.len() {
            while self.poll(subtask)? == Poll::More {}
        }
        Ok(())
    }

    /// Lets the time for a look pass, then drains.
    pub fn look(&mut self, world: &World) {
        world.clock.advance(Duration::from_millis(100));
        self.drain().unwrap();
    }

    pub fn snapshot(&mut self) -> Vec<FileSplit> {
        self.subtasks.iter_mut().flat_map(|source| source.snapshot().unwrap()).collect()
    }

    /// All that was emitted so far, in the order of each subtask, subtask by subtask.
    pub fn take(&mut self) -> Vec<String> {
        let records = self.outs.iter_mut().flat_map(|out| std::mem::take(&mut out.records));
        records.map(Shown::shown).collect()
    }

    /// The same, sorted.
    pub fn sorted(&mut self) -> Vec<String> {
        let mut all = self.take();
        all.sort();
        all
    }
}

/// All records of a source that ends, in order of reading.
pub(super) fn all<F: Format<Out: Shown>>(world: &World, source: &FileSource<F>) -> Vec<String> {
    let mut running = Running::fresh(world, source, 1);
    running.drain().unwrap();
    running.take()
}

/// The error that a source which ends comes to.
pub(super) fn error<F: Format<Out: Shown>>(world: &World, source: &FileSource<F>) -> ConnectorError {
    Running::fresh(world, source, 1).drain().unwrap_err()
}

fn rejected(scene: &Scene) -> (u64, u64) {
    (scene.counters.records_in.get(), scene.counters.records_rejected.get())
}

fn numbered(range: std::ops::Range<u32>) -> Vec<String> {
    range.map(|i| format!("line {i}")).collect()
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn file(world: &World, path: &Path) -> String {
    String::from_utf8(crate::storage::read_all(&*world.storage, path).unwrap()).unwrap()
}

//! A second copy of what subtasks write for checkpoints, in a directory nearby (BE-06, ruling 20).
//!
//! Whoever writes checkpoints does so through [`Mirrored`], which does the same to a copy: what is created, renamed or
//! removed there is so here. A copy is never more than a help. Whether it could be made is nobody's concern but the log's;
//! a restore [believes](crate::snapshot::SnapshotReader::preferring) only those bytes of one whose checksum the metadata
//! knows, and reads the file itself otherwise. So copies need not be durable. What a killed process left is
//! [compared](LocalCopies::tidy) at the next start.

mod mirrored;
#[cfg(test)]
mod tests;

pub use mirrored::Mirrored;

use crate::job_id::JobId;
use crate::layout::checkpoint_of;
use crate::metadata::METADATA_FILE;
use millstream_io::storage::{Kind, ReadFile, Result, Storage};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Tells a person.
pub type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// The copies of one job's files.
pub struct LocalCopies {
    storage: Arc<dyn Storage>,
    base: PathBuf,
    places: OnceLock<Places>,
    /// No more are made.
    over: AtomicBool,
    tell: Tell,
}

struct Places {
    /// The job's directory.
    of: PathBuf,
    /// Where the copies of its files are.
    local: PathBuf,
}

impl LocalCopies {
    /// Copies below the directory `base`, of nothing [yet](Self::begin). What is worth knowing is told to `tell`.
    pub fn new(storage: Arc<dyn Storage>, base: PathBuf, tell: Tell) -> Self {
        Self { storage, base, places: OnceLock::new(), over: AtomicBool::new(false), tell }
    }

    /// From now on there are copies of the files in `job`, the directory of a job. Told once.
    pub fn begin(&self, job: &Path) {
        // Jobs of one name that have their checkpoints in different places are different jobs.
        let name = JobId::of(&job.to_string_lossy()).to_string();
        let _ = self.places.set(Places { of: job.to_owned(), local: self.base.join(name) });
    }

    /// Where the copy of a file is, if it is one that has one.
    pub fn place_of(&self, path: &Path) -> Option<PathBuf> {
        let places = self.places.get()?;
        let below = path.strip_prefix(&places.of).ok()?;
        let (dir, name) = (below.parent()?, below.file_name()?);
        let data = name != METADATA_FILE && !name.as_encoded_bytes().starts_with(b".");
        (data && is_dir_of_copies(dir.as_os_str())).then(|| places.local.join(below))
    }

    /// The copy of a file, open for reading.
    pub fn open(&self, path: &Path) -> Option<Box<dyn ReadFile>> {
        let place = self.place_of(path)?;
        match self.storage.open(&place) {
            Ok(file) => Some(file),
            Err(error) => {
                self.say(path, &format!("there is no copy nearby ({error})"));
                None
            }
        }
    }

    /// The copy of a file is not what it should be.
    pub fn distrust(&self, path: &Path, why: &str) {
        self.say(path, &format!("the copy nearby is of no use ({why})"));
        self.forget(path);
    }

    fn say(&self, path: &Path, what: &str) {
        (self.tell)(&format!("{what}: {} is read itself", path.display()));
    }

    /// There is no copy of a file any more.
    fn forget(&self, path: &Path) {
        if let Some(place) = self.place_of(path) {
            let _ = self.storage.remove(&place);
        }
    }

    /// There is no copy of a file after all, nor, perhaps, a directory that was made for it.
    fn forget_new(&self, path: &Path) {
        self.forget(path);
        let Some(place) = self.place_of(path) else { return };
        // Where nothing else is in them.
        for dir in place.ancestors().skip(1).take(2) {
            let _ = self.storage.remove_dir(dir);
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// The job has ended. From now on there are copies of what its end has left and of nothing else, whatever is still being
    /// written for checkpoints that were given up: either that sees that all is over, or what it has made is seen here.
    pub fn end(&self, main: &dyn Storage) {
        self.over.store(true, Ordering::SeqCst);
        self.tidy(main);
    }

    /// Removes copies of what is not in `main`, or has another length there: left by a process that was killed, or by
    /// a line of the job that is gone.
    pub fn tidy(&self, main: &dyn Storage) {
        if let Some(places) = self.places.get() {
            let len = |found: Result<_>| found.ok().map(|stat: millstream_io::storage::Stat| stat.len);
            self.tidy_up(places, |copy, path| {
                let there = len(main.stat(path));
                there.is_some() && there == len(self.storage.stat(copy))
            });
        }
    }

    /// Removes all copies: nobody wants them any more.
    pub fn remove_all(&self) {
        if let Some(places) = self.places.get() {
            self.tidy_up(places, |_, _| false);
        }
    }

    /// Removes copies but for those that are right. What cannot be seen or removed, perhaps because somebody else removes it at
    /// the same time, is compared again by the next start, read by nobody, and in the way of no other.
    fn tidy_up(&self, places: &Places, is_right: impl Fn(&Path, &Path) -> bool) {
        for dir in self.storage.list(&places.local).unwrap_or_default() {
            if dir.kind != Kind::Dir || dir.link || !is_dir_of_copies(&dir.name) {
                continue;
            }
            let local = places.local.join(&dir.name);
            for entry in self.storage.list(&local).unwrap_or_default() {
                let (copy, path) = (local.join(&entry.name), places.of.join(&dir.name).join(&entry.name));
                if entry.kind == Kind::File && !is_right(&copy, &path) {
                    let _ = self.storage.remove(&copy);
                }
            }
            // Where nothing is left in it.
            let _ = self.storage.remove_dir(&local);
        }
        let _ = self.storage.remove_dir(&places.local);
    }
}

/// Whether a directory of a job is one whose files are copied.
fn is_dir_of_copies(name: &OsStr) -> bool {
    name == "shared" || checkpoint_of(name).is_some()
}

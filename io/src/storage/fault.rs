//! A storage that fails as planned.

mod plan;
#[cfg(test)]
mod tests;

pub use plan::{Crash, Fault, Op};

use super::{Entry, Lock, ReadFile, Result, Stat, Storage, Syncer, WriteFile};
use crate::error::StorageError;
use parking_lot::Mutex;
use plan::{Plan, Verdict};
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Passes everything on to another storage, counts it, and fails what it was told to. It has no randomness of its
/// own. Clones share plan and counts.
///
/// Operations are numbered from 0 in the order in which they begin, those of open files included. A sweep over "a
/// crash at every operation" runs a job once undisturbed, and then once for each number:
///
/// ```
/// # use millstream_io::storage::{MemoryStorage, Storage, fault::{Crash, FaultStorage, is_crash}};
/// # use std::{path::Path, sync::Arc};
/// fn job(storage: &dyn Storage) -> Result<(), millstream_io::error::StorageError> {
///     let mut file = storage.create(Path::new("/.a"))?;
///     file.append(b"record")?;
///     file.sync()?;
///     storage.rename(Path::new("/.a"), Path::new("/a"))
/// }
/// let undisturbed = FaultStorage::new(Arc::new(MemoryStorage::new()));
/// job(&undisturbed)?;
/// for k in 0..undisturbed.operations() {
///     let memory = MemoryStorage::new();
///     let storage = FaultStorage::new(Arc::new(memory.clone()));
///     storage.crash_at(k, Crash::Before);
///     assert!(is_crash(&job(&storage).unwrap_err()));
///     let left = memory.crash_image(k); // … start again from what is left
/// }
/// # Ok::<(), millstream_io::error::StorageError>(())
/// ```
#[derive(Clone)]
pub struct FaultStorage {
    inner: Arc<dyn Storage>,
    plan: Arc<Mutex<Plan>>,
}

impl FaultStorage {
    /// Nothing planned yet.
    pub fn new(inner: Arc<dyn Storage>) -> Self {
        Self { inner, plan: Arc::default() }
    }

    /// Operation `k` and every later one fails with an error that [`is_crash`] recognises.
    pub fn crash_at(&self, k: u64, how: Crash) {
        self.plan.lock().crash = Some((k, how));
    }

    /// Operation `k` fails, once.
    pub fn fail_at(&self, k: u64, fault: Fault) {
        self.plan.lock().at.push((k, fault));
    }

    /// The `n`th operation of a kind (from 0, those before this call counted too) fails, once.
    pub fn fail_nth(&self, op: Op, n: u64, fault: Fault) {
        self.plan.lock().nth.push((op, n, fault));
    }

    /// Every operation of a kind fails from now on; `None` ends it.
    pub fn fail_every(&self, op: Op, fault: Option<Fault>) {
        let mut plan = self.plan.lock();
        plan.every.retain(|(other, _)| *other != op);
        plan.every.extend(fault.map(|fault| (op, fault)));
    }

    /// Every operation of a kind that begins from now on waits until [`FaultStorage::let_go`]; for storage that is slow.
    pub fn hold(&self, op: Op) {
        self.plan.lock().held.push(op);
    }

    /// Operations of a kind wait no longer.
    pub fn let_go(&self, op: Op) {
        self.plan.lock().held.retain(|other| *other != op);
    }

    /// From operation `k` on the disk is full: whatever needs space fails with `ENOSPC`.
    pub fn full_from(&self, k: u64) {
        self.plan.lock().full_from = Some(k);
    }

    /// Room for as many more bytes of content from now on (removals free nothing); `None` for any number. A write that
    /// does not fit takes what is left and fails with `ENOSPC`.
    pub fn set_room(&self, bytes: Option<u64>) {
        let mut plan = self.plan.lock();
        plan.room = bytes;
        plan.full_from = None;
    }

    /// Begins to keep a log of operations with their paths.
    pub fn record(&self) {
        self.plan.lock().log.get_or_insert_default();
    }

    /// The operations since [`FaultStorage::record`], each with its number.
    pub fn log(&self) -> Vec<(u64, Op, PathBuf)> {
        self.plan.lock().log.clone().unwrap_or_default()
    }

    /// The bytes that were read from open files since [`FaultStorage::record`], read by read.
    pub fn reads(&self) -> Vec<(PathBuf, Range<u64>)> {
        self.plan.lock().reads.clone()
    }

    /// How many operations have begun.
    pub fn operations(&self) -> u64 {
        self.plan.lock().count
    }

    /// How many operations of each kind have begun, kinds without any left out.
    pub fn coverage(&self) -> Vec<(Op, u64)> {
        let plan = self.plan.lock();
        Op::ALL.iter().map(|op| (*op, plan.kinds[*op as usize])).filter(|(_, n)| *n > 0).collect()
    }

    /// The kind of the operation at which the crash happened, once it has.
    pub fn crashed_in(&self) -> Option<Op> {
        self.crash().map(|(op, _)| op)
    }

    /// The operation at which the crash happened, and what it had done in truth: one that has no parts is not torn.
    pub fn crash(&self) -> Option<(Op, Crash)> {
        self.plan.lock().crashed
    }

    /// What failed as planned, a crash aside, in the order in which it did; each as it took effect.
    pub fn failures(&self) -> Vec<(Op, Fault)> {
        self.plan.lock().failed.clone()
    }

    /// Does an operation as the plan has it. `partly` does some of it, for crashes and failures in the middle.
    fn run<T>(
        &self,
        op: Op,
        path: &Path,
        bytes: u64,
        partly: impl FnOnce(u64),
        whole: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        run(&self.plan, op, path, bytes, partly, whole)
    }
}

fn run<T>(
    plan: &Mutex<Plan>,
    op: Op,
    path: &Path,
    bytes: u64,
    partly: impl FnOnce(u64),
    whole: impl FnOnce() -> Result<T>,
) -> Result<T> {
    // The plan is not locked while the operation runs: background work may be slow.
    let verdict = plan.lock().next(op, path, bytes);
    while plan.lock().held.contains(&op) {
        std::thread::yield_now();
    }
    match verdict {
        Verdict::Pass => whole(),
        Verdict::FailBefore(cause) => Err(StorageError::not_done(op.name(), path, cause)),
        Verdict::FailAfter(cause) => {
            whole()?;
            Err(StorageError::perhaps_done(op.name(), path, cause))
        }
        Verdict::FailPartly(n, cause) => {
            partly(n);
            Err(StorageError::perhaps_done(op.name(), path, cause))
        }
    }
}

/// The cause of every error after a planned crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crashed;

impl fmt::Display for Crashed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("planned crash")
    }
}

impl StdError for Crashed {}

/// Whether an error, whatever it was wrapped into, comes from a planned crash.
pub fn is_crash(error: &(dyn StdError + 'static)) -> bool {
    let mut at = Some(error);
    while let Some(error) = at {
        let inside = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if error.is::<Crashed>() || inside.is_some_and(|inside| inside.is::<Crashed>()) {
            return true;
        }
        at = error.source();
    }
    false
}

fn nothing(_: u64) {}

impl Storage for FaultStorage {
    fn create(&self, path: &Path) -> Result<Box<dyn WriteFile>> {
        let file = self.run(Op::Create, path, 0, nothing, || self.inner.create(path))?;
        Ok(Box::new(FaultWriter {
            file,
            path: path.into(),
            plan: Arc::clone(&self.plan),
            poisoned: Arc::default(),
        }))
    }

    fn append(&self, path: &Path, len: u64) -> Result<Box<dyn WriteFile>> {
        let file = self.run(Op::OpenAppend, path, 0, nothing, || self.inner.append(path, len))?;
        Ok(Box::new(FaultWriter {
            file,
            path: path.into(),
            plan: Arc::clone(&self.plan),
            poisoned: Arc::default(),
        }))
    }

    fn open(&self, path: &Path) -> Result<Box<dyn ReadFile>> {
        let file = self.run(Op::Open, path, 0, nothing, || self.inner.open(path))?;
        Ok(Box::new(FaultReader { file, path: path.into(), plan: Arc::clone(&self.plan) }))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.run(Op::Rename, from, 0, nothing, || self.inner.rename(from, to))
    }

    fn publish(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        // Stopped in the middle, publishing leaves a part of the content under another name, as on a real disk.
        let partly = |n: u64| {
            let mut name = std::ffi::OsString::from(".");
            name.push(path.file_name().unwrap_or_default());
            name.push(".stopped.tmp");
            if let Ok(mut file) = self.inner.create(&path.with_file_name(name)) {
                let _ = file.append(&bytes[..n as usize]);
            }
        };
        self.run(Op::Publish, path, bytes.len() as u64, partly, || self.inner.publish(path, bytes))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.run(Op::Remove, path, 0, nothing, || self.inner.remove(path))
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.run(Op::RemoveDir, path, 0, nothing, || self.inner.remove_dir(path))
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        self.run(Op::CreateDir, path, 0, nothing, || self.inner.create_dir_all(path))
    }

    fn list(&self, dir: &Path) -> Result<Vec<Entry>> {
        self.run(Op::List, dir, 0, nothing, || self.inner.list(dir))
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.run(Op::SyncDir, dir, 0, nothing, || self.inner.sync_dir(dir))
    }

    fn stat(&self, path: &Path) -> Result<Stat> {
        self.run(Op::Stat, path, 0, nothing, || self.inner.stat(path))
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf> {
        self.run(Op::Canonical, path, 0, nothing, || self.inner.canonical(path))
    }

    fn try_lock(&self, path: &Path, holder: &str) -> Result<Option<Box<dyn Lock>>> {
        self.run(Op::Lock, path, 0, nothing, || self.inner.try_lock(path, holder))
    }
}

struct FaultReader {
    file: Box<dyn ReadFile>,
    path: Box<Path>,
    plan: Arc<Mutex<Plan>>,
}

impl ReadFile for FaultReader {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let read = run(&self.plan, Op::Read, &self.path, 0, nothing, || self.file.read_at(buffer, offset))?;
        let mut plan = self.plan.lock();
        if plan.log.is_some() {
            plan.reads.push((self.path.to_path_buf(), offset..offset + read as u64));
        }
        Ok(read)
    }

    fn stat(&self) -> Result<Stat> {
        run(&self.plan, Op::Stat, &self.path, 0, nothing, || self.file.stat())
    }
}

struct FaultWriter {
    file: Box<dyn WriteFile>,
    path: Box<Path>,
    plan: Arc<Mutex<Plan>>,
    /// As the contract has it, a file gives itself up after a failed sync.
    poisoned: Arc<std::sync::atomic::AtomicBool>,
}

impl FaultWriter {
    fn refuse_poisoned(&self, op: Op) -> Result<()> {
        if self.poisoned.load(std::sync::atomic::Ordering::Acquire) {
            let cause = io::Error::other("an earlier sync of this file failed");
            return Err(StorageError::perhaps_done(op.name(), &self.path, cause));
        }
        Ok(())
    }
}

impl WriteFile for FaultWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.refuse_poisoned(Op::Append)?;
        let Self { file, path, plan, .. } = self;
        let file = std::cell::RefCell::new(file);
        let partly = |n: u64| drop(file.borrow_mut().append(&bytes[..n as usize]));
        run(plan, Op::Append, path, bytes.len() as u64, partly, || file.borrow_mut().append(bytes))
    }

    fn sync(&mut self) -> Result<()> {
        self.syncer()?()
    }

    fn syncer(&self) -> Result<Syncer> {
        self.refuse_poisoned(Op::Sync)?;
        let syncer = self.file.syncer()?;
        let (path, plan, poisoned) = (self.path.clone(), Arc::clone(&self.plan), Arc::clone(&self.poisoned));
        Ok(Box::new(move || {
            let synced = run(&plan, Op::Sync, &path, 0, nothing, syncer);
            // A planned failure leaves open what became durable, whatever it did in truth.
            synced.map_err(|error| {
                poisoned.store(true, std::sync::atomic::Ordering::Release);
                StorageError { outcome: crate::error::Outcome::Indeterminate, ..error }
            })
        }))
    }
}

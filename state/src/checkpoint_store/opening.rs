//! Starting a job on its checkpoint directory: look, decide, verify, and only when nothing is left that could refuse
//! the start, create (a refusal creates and deletes nothing).

use super::observe::{absolute, observe};
use super::remove::{remove, remove_temporary};
use super::shared::{self, Sweep};
use super::taken_over;
use super::traces::Traces;
use super::verify::load_file;
use super::{CheckpointStore, CommitPermit, load, verify};
use crate::error::{StateError, is_damage};
use crate::job_id::JobId;
use crate::layout::{self, JobDir};
use crate::lineage::{self, LineEnd, Lineage};
use crate::metadata::Metadata;
use crate::recovery::{self, Facts, Plan, Refusal, Request, Start};
use millstream_io::id::CheckpointId;
use millstream_io::storage::{self, Lock, Storage};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a user asks for, with a path as it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StartFrom {
    /// Go on with the job, or start it.
    #[default]
    Latest,
    /// Begin without state (`--fresh`).
    Fresh,
    /// Go on from a snapshot (`-s PATH`): its directory or its `_metadata`.
    Path(PathBuf),
}

/// A snapshot that a start goes on from, verified.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// Its directory.
    pub dir: PathBuf,
    /// Its content.
    pub metadata: Arc<Metadata>,
    /// What it holds may be committed.
    pub permit: CommitPermit,
}

impl Restored {
    pub(super) fn new(dir: PathBuf, metadata: Metadata) -> Self {
        let permit = CommitPermit::mint(metadata.checkpoint);
        Self { dir, metadata: Arc::new(metadata), permit }
    }

    /// Whether it is a checkpoint of this line of the job.
    pub(super) fn is_of(&self, dir: &JobDir, line: u64) -> bool {
        self.dir == dir.checkpoint(self.metadata.checkpoint) && self.metadata.line == line
    }
}

/// A start that has been decided on, and has changed nothing yet.
pub struct Opening {
    storage: Arc<dyn Storage>,
    dir: JobDir,
    holder: String,
    facts: Facts,
    request: Request,
    plan: Plan,
    restored: Option<Restored>,
    /// Goes before the lock: nobody else is at work then.
    traces: Traces,
    lock: Option<Box<dyn Lock>>,
    claimed: bool,
    /// The job owns the snapshot that the user names.
    takes_over: bool,
}

impl Opening {
    /// Looks at the directory of the job `job_name` below `checkpoints` and decides what to go on from; verifies it.
    /// `holder` says who asks (`pid 123`), for others that find the job running.
    ///
    /// # Errors
    /// Every reason to refuse the start: a directory that cannot be used, a job that is running, a snapshot that is
    /// missing, damaged or foreign.
    pub fn new(
        storage: Arc<dyn Storage>,
        checkpoints: &Path,
        job_name: &str,
        holder: &str,
        from: &StartFrom,
    ) -> Result<Self, StateError> {
        let job = JobId::of(job_name);
        let dir = JobDir::new(&absolute_root(&*storage, checkpoints)?, job);
        // Without a lock file nobody else can be at work, and none is made before the start is certain.
        let lock = match storage.stat(&dir.lock()) {
            Ok(_) => Some(lock(&*storage, &dir, holder)?),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(StateError::Unusable(error)),
        };
        let facts = observe(&*storage, &dir)?;
        let request = match from {
            StartFrom::Latest => Request::Resume,
            StartFrom::Fresh => Request::Fresh,
            StartFrom::Path(path) => Request::From(absolute(&*storage, path)?),
        };
        let plan = recovery::plan(&facts, &request)?;
        let restored = restore(&*storage, &dir, job, job_name, &plan)?;
        Ok(Self {
            traces: Traces::new(Arc::clone(&storage)),
            storage,
            dir,
            holder: holder.to_owned(),
            facts,
            request,
            plan,
            restored,
            lock,
            claimed: false,
            takes_over: false,
        })
    }

    /// Where the job's files are.
    pub fn job_dir(&self) -> &JobDir {
        &self.dir
    }

    /// What the start goes on from; displayed, the line that tells the user.
    pub fn start(&self) -> &Start {
        &self.plan.start
    }

    /// The snapshot that the user names becomes the job's own (CL-02, CLAIM): it goes like the oldest of its checkpoints. Without
    /// a name there is nothing that would not be the job's own anyway.
    ///
    /// # Errors
    /// [`StateError::InUse`] when it is a checkpoint of another job that is running, which would miss it.
    pub fn taking_over(mut self) -> Result<Self, StateError> {
        if let Request::From(dir) = &self.request {
            taken_over::lock(&*self.storage, &self.dir, dir)?;
        }
        self.takes_over = true;
        Ok(self)
    }

    /// Whether the snapshot that the start goes on from is a checkpoint of the line that goes on: see
    /// [`CheckpointStore::owns`].
    pub fn owns_restored(&self) -> bool {
        self.restored.as_ref().is_some_and(|restored| restored.is_of(&self.dir, self.line()))
    }

    /// The snapshot that the start goes on from, if there is one.
    pub fn restored(&self) -> Option<&Restored> {
        self.restored.as_ref()
    }

    /// Whether the job has run here before.
    pub fn has_past(&self) -> bool {
        self.facts.lineage.is_some() || !self.facts.checkpoints.is_empty()
    }

    /// The number of the line that checkpoints of this start will belong to.
    pub fn line(&self) -> u64 {
        self.lineage().line
    }

    /// The line before, when it has finished or was cancelled: nothing goes on from it any more.
    pub fn over(&self) -> Option<u64> {
        let before = self.facts.lineage.as_ref().filter(|_| self.plan.continues.is_none())?;
        matches!(before.end, LineEnd::Finished | LineEnd::Canceled).then_some(before.line)
    }

    /// Completed checkpoints of that line other than the one that the start goes on from, by ascending id: their
    /// directories and content.
    ///
    /// # Errors
    /// One of them is damaged.
    pub fn retained(&self) -> Result<Vec<(PathBuf, Metadata)>, StateError> {
        let chosen = self.plan.start.snapshot();
        let dirs = self.own(&self.lineage()).into_iter().map(|id| self.dir.checkpoint(id));
        dirs.filter(|dir| chosen != Some(dir))
            .map(|dir| match (load(&*self.storage, &dir), chosen) {
                (Ok(metadata), _) => Ok((dir, metadata)),
                (Err(cause @ StateError::Damaged { .. }), Some(intact)) => {
                    Err(Refusal::DamagedOlder { cause: Box::new(cause), intact: intact.to_owned() }.into())
                }
                (Err(other), _) => Err(other),
            })
            .collect()
    }

    fn lineage(&self) -> Lineage {
        self.plan.lineage(self.restored.as_ref().map(|r| r.metadata.checkpoint))
    }

    /// The completed checkpoints of a line.
    fn own(&self, lineage: &Lineage) -> Vec<CheckpointId> {
        let found = self.facts.checkpoints.iter().filter(|c| c.complete && lineage.holds(c.id));
        found.map(|c| c.id).collect()
    }

    /// Creates the directories and takes the lock, so that nobody else is at work for this job. What the job goes on
    /// from is not changed by it: a start that is refused later has not happened, and what was created goes with it.
    ///
    /// # Errors
    /// The directory is not writable, or another process was faster.
    pub fn claim(&mut self) -> Result<(), StateError> {
        if self.claimed {
            return Ok(());
        }
        if self.lock.is_none() {
            self.lock = Some(self.first_lock()?);
            let now = observe(&*self.storage, &self.dir)?;
            if now != self.facts || recovery::plan(&now, &self.request)? != self.plan {
                self.traces.keep();
                return Err(Refusal::Overtaken { dir: self.dir.root().to_owned() }.into());
            }
            self.traces.locked(self.dir.lock());
        }
        for dir in [self.dir.shared(), self.dir.task_owned()] {
            self.traces.make(&dir).map_err(StateError::Unusable)?;
        }
        self.claimed = true;
        Ok(())
    }

    /// Makes the start certain: [claims](Self::claim) the directory, records the line, and removes what earlier
    /// attempts left.
    ///
    /// # Errors
    /// As for [`Opening::claim`].
    pub fn begin(mut self, num_retained: usize) -> Result<CheckpointStore, StateError> {
        self.claim()?;
        let lineage = self.lineage();
        let newest = self.own(&lineage).last().copied();
        if let Some(newest) = newest {
            // Whoever published it may have been killed before its name was durable.
            self.storage.sync_dir(&self.dir.checkpoint(newest)).map_err(StateError::Unusable)?;
        }
        let lineage = lineage.reached(newest);
        // Written even when nothing changes: a directory that cannot be written to is noticed here (MS-009).
        lineage::write(&*self.storage, &self.dir.lineage(), &lineage).map_err(StateError::Unusable)?;
        self.traces.keep();
        self.clean_up().map_err(StateError::Unusable)?;
        for line in [Some(&lineage), self.facts.lineage.as_ref()].into_iter().flatten() {
            // It is in nobody's way; whoever comes next tries again.
            let _ = taken_over::finish(&*self.storage, &self.dir, line);
        }
        let shared = self.shared_files().map_err(StateError::Unusable)?;
        let untold = match &self.plan.start {
            Start::Conclude(_) => self.restored.as_ref().map(|last| last.metadata.checkpoint),
            _ => None,
        };
        let taken_over = match &self.request {
            Request::From(dir) if self.takes_over && lineage.began_at(dir) => Some(dir.clone()),
            _ => None,
        };
        Ok(CheckpointStore {
            taken_over,
            taken_over_in_use: false,
            untold,
            told: None,
            retained: self.own(&lineage),
            next_id: self.plan.next_id(self.restored.as_ref().map(|r| r.metadata.checkpoint)),
            storage: self.storage,
            dir: self.dir,
            lineage,
            num_retained: num_retained.max(1),
            sharing: !shared.is_empty(),
            shared,
            doomed: Vec::new(),
            undiscarded: Vec::new(),
            lock: self.lock.map(Arc::from),
            deleting: Arc::default(),
        })
    }

    /// The shared files that each completed checkpoint names; those that none does are removed, unless one cannot be read.
    /// Nothing where there are no such files.
    fn shared_files(&self) -> storage::Result<HashMap<CheckpointId, Vec<String>>> {
        if self.storage.list(&self.dir.shared())?.is_empty() {
            return Ok(HashMap::new());
        }
        let leftover = |id: &CheckpointId| self.plan.leftovers.contains(id);
        let complete = self.facts.checkpoints.iter().filter(|found| found.complete && !leftover(&found.id));
        let (mut shared, mut all) = (HashMap::new(), true);
        for found in complete {
            match load(&*self.storage, &self.dir.checkpoint(found.id)) {
                Ok(metadata) => drop(shared.insert(found.id, shared::named(&metadata).collect())),
                Err(_) => all = false,
            }
        }
        if all {
            let keep = shared.values().flatten().cloned().collect();
            Sweep { line: None, newest: None, keep }.run(&*self.storage, &self.dir)?;
        }
        Ok(shared)
    }

    /// The lock where there was no file for it. The directory that it is made in may go again meanwhile, with another
    /// start that is refused.
    fn first_lock(&mut self) -> Result<Box<dyn Lock>, StateError> {
        const TRIES: usize = 10;
        let mut tries = 1;
        loop {
            let made = self.traces.make(self.dir.root()).map_err(StateError::Unusable);
            match made.and_then(|()| lock(&*self.storage, &self.dir, &self.holder)) {
                Err(StateError::Unusable(error)) if error.kind() == ErrorKind::NotFound && tries < TRIES => {
                    tries += 1;
                }
                other => return other,
            }
        }
    }

    fn clean_up(&self) -> storage::Result<()> {
        for &id in &self.plan.leftovers {
            remove(&*self.storage, &self.dir, id)?;
        }
        let chosen = self.plan.start.snapshot().filter(|_| matches!(self.plan.start, Start::Conclude(_)));
        for &id in self.facts.untold.iter().filter(|id| chosen != Some(&self.dir.checkpoint(**id))) {
            self.storage.remove(&self.dir.untold(id))?;
        }
        remove_temporary(&*self.storage, &self.dir)
    }
}

/// The checkpoint directory made absolute, so that what the lineage records holds from everywhere. Nothing of it
/// needs to exist.
fn absolute_root(storage: &dyn Storage, checkpoints: &Path) -> Result<PathBuf, StateError> {
    absolute(storage, checkpoints).map_err(|error| match error {
        StateError::NoSnapshot { source, .. } => StateError::Unusable(source),
        other => other,
    })
}

fn lock(storage: &dyn Storage, dir: &JobDir, holder: &str) -> Result<Box<dyn Lock>, StateError> {
    let path = dir.lock();
    match storage.try_lock(&path, holder).map_err(StateError::Unusable)? {
        Some(lock) => Ok(lock),
        None => {
            let bytes = storage::read_all(storage, &path).unwrap_or_default();
            let holder = String::from_utf8_lossy(&bytes).trim().to_owned();
            let holder = if holder.is_empty() { "another process".to_owned() } else { holder };
            Err(StateError::InUse { path, holder })
        }
    }
}

/// Reads and verifies what the plan goes on from.
fn restore(
    storage: &dyn Storage,
    dir: &JobDir,
    job: JobId,
    job_name: &str,
    plan: &Plan,
) -> Result<Option<Restored>, StateError> {
    let Some(snapshot) = plan.start.snapshot() else { return Ok(None) };
    let read = match (&plan.start, snapshot.file_name().and_then(layout::checkpoint_of)) {
        (Start::Conclude(_), Some(id)) => load_file(storage, snapshot, &dir.untold(id)),
        _ => verify(storage, snapshot),
    };
    let metadata = read.map_err(|cause| explain(storage, dir, plan, cause))?;
    if let Some(why) = foreign(dir, job, job_name, plan, snapshot, &metadata) {
        return Err(Refusal::Foreign { dir: snapshot.to_owned(), why }.into());
    }
    Ok(Some(Restored::new(snapshot.to_owned(), metadata)))
}

/// What does not fit when a checkpoint of the job's current line is not what its place says.
fn foreign(
    dir: &JobDir,
    job: JobId,
    job_name: &str,
    plan: &Plan,
    snapshot: &Path,
    metadata: &Metadata,
) -> Option<String> {
    let line = plan.continues.as_ref().filter(|_| is_own(dir, snapshot))?;
    if metadata.job != job {
        let taken_by = &metadata.job_name;
        return Some(format!("the checkpoint was taken by job {taken_by:?}, not by {job_name:?}"));
    }
    if snapshot != dir.checkpoint(metadata.checkpoint) {
        return Some(format!("the checkpoint in it has the number {}", metadata.checkpoint));
    }
    (line.holds(metadata.checkpoint) && metadata.line != line.line).then(|| {
        format!(
            "the checkpoint belongs to line {} of the job, the current one is {}",
            metadata.line, line.line
        )
    })
}

fn is_own(dir: &JobDir, snapshot: &Path) -> bool {
    snapshot.parent() == Some(dir.root())
}

/// Adds to an error about what the job would go on from by itself what else there is (ruling 1). A disk that cannot
/// be read at the moment says nothing about the checkpoint.
fn explain(storage: &dyn Storage, dir: &JobDir, plan: &Plan, cause: StateError) -> StateError {
    let (Start::Resume(snapshot) | Start::Conclude(snapshot)) = &plan.start else { return cause };
    if matches!(&cause, StateError::DataFile { source, .. } if !is_damage(source)) {
        return cause;
    }
    let cause = Box::new(cause);
    let newest_of_line =
        is_own(dir, snapshot) && plan.continues.as_ref().is_some_and(|line| !line.began_at(snapshot));
    if !newest_of_line {
        return Refusal::Base { cause }.into();
    }
    let intact = |id: &CheckpointId| verify(storage, &dir.checkpoint(*id)).is_ok();
    let older = plan.older.iter().copied().find(intact).map(|id| dir.checkpoint(id));
    Refusal::DamagedNewest { cause, older }.into()
}

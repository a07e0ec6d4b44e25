//! What a start goes on from: facts about a job's directory and a request to a plan or a refusal. Pure.
//!
//! Only the current line is chosen by itself, and of it the newest completed checkpoint, or none: if that one is
//! damaged the start is refused, for output that a newer checkpoint has committed would otherwise be written again
//! without a word (ruling 1). For the same reason it is refused when the line has had a checkpoint that is gone.
//!
//! Ids go on above every number that is found, above those before the recorded line's first, and above the snapshot
//! that a start goes on from (CP-13). A number comes again only when nothing of it is left: a line that finished or was
//! cancelled has its checkpoints deleted, and ids then begin again where that line's did, at 1 if it was the first.

mod refusal;
#[cfg(test)]
mod tests;

pub use refusal::Refusal;

use crate::layout::JobDir;
use crate::lineage::{Began, LineEnd, Lineage};
use millstream_io::id::CheckpointId;
use std::fmt;
use std::path::{Path, PathBuf};

/// What the user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Go on with the job, or start it.
    Resume,
    /// Begin without state, whatever there is.
    Fresh,
    /// Go on from the snapshot in this directory (absolute).
    From(PathBuf),
}

/// What is found in the job's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Where it is.
    pub dir: JobDir,
    /// Its lineage file, if there is one.
    pub lineage: Option<Lineage>,
    /// Its `chk-*`, by ascending id.
    pub checkpoints: Vec<Found>,
    /// Numbers of final checkpoints whose line has finished without that having been told, ascending.
    pub untold: Vec<CheckpointId>,
    /// When there is no lineage file: the highest line that a checkpoint there says it belongs to, else 0.
    pub highest_line: u64,
}

/// A `chk-<n>` that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its number.
    pub id: CheckpointId,
    /// Whether it has `_metadata`, which makes it a completed checkpoint; without it is an unfinished attempt.
    pub complete: bool,
}

/// What a start goes on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// Nothing, and why.
    Empty(Reason),
    /// The line's newest checkpoint, or what it began with while it has none.
    Resume(PathBuf),
    /// The final checkpoint of a line that has finished without anybody having been told: nothing is left to do but that.
    /// It may be gone itself; what is there is [its metadata](crate::layout::JobDir::untold).
    Conclude(PathBuf),
    /// A snapshot that the user named, for the first time in this line.
    From(PathBuf),
    /// The same, and the job had ended before: this is a new run, for this reason.
    Anew(PathBuf, Reason),
}

/// Why a start has no state to go on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There is no completed checkpoint.
    NoCheckpoint,
    /// The user asked for it.
    Fresh,
    /// The job had finished before: this is a new run.
    NewRunAfterFinish,
    /// The job had been cancelled before: this is a new run.
    NewRunAfterCancel,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoCheckpoint => "no completed checkpoint",
            Self::Fresh => "--fresh",
            Self::NewRunAfterFinish => "the job had finished; this is a new run",
            Self::NewRunAfterCancel => "the job was cancelled; this is a new run",
        })
    }
}

impl Start {
    /// The directory of the snapshot, if there is one.
    pub fn snapshot(&self) -> Option<&Path> {
        match self {
            Self::Empty(_) => None,
            Self::Resume(dir) | Self::Conclude(dir) | Self::From(dir) | Self::Anew(dir, _) => Some(dir),
        }
    }
}

/// The line that tells the user what happens (MS-020).
impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty(reason) => write!(f, "starting without state ({reason})"),
            Self::Anew(dir, reason) => write!(f, "starting from {} ({reason})", dir.display()),
            Self::Resume(dir) | Self::Conclude(dir) => write!(f, "resuming from {}", dir.display()),
            Self::From(dir) => write!(f, "starting from {}", dir.display()),
        }
    }
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What to go on from.
    pub start: Start,
    /// `Some` when the line goes on, `None` when a new one begins.
    pub continues: Option<Lineage>,
    /// The number of the line that begins otherwise.
    pub new_line: u64,
    /// The highest checkpoint number that something is left of, or that is below the recorded line's first.
    pub highest: Option<CheckpointId>,
    /// What may be removed once the start is certain: unfinished attempts, and what an ended line left behind.
    pub leftovers: Vec<CheckpointId>,
    /// Older completed checkpoints of the line, newest first: what could be started from if the chosen one is
    /// damaged.
    pub older: Vec<CheckpointId>,
}

impl Plan {
    /// The first id for new checkpoints: above everything found and above the restored one (CP-13).
    pub fn next_id(&self, restored: Option<CheckpointId>) -> CheckpointId {
        self.highest.max(restored).map_or(CheckpointId::FIRST, CheckpointId::next)
    }

    /// The lineage that holds from this start on.
    pub fn lineage(&self, restored: Option<CheckpointId>) -> Lineage {
        if let Some(line) = &self.continues {
            return line.clone();
        }
        let began = self.start.snapshot().map_or(Began::Empty, |dir| Began::At(dir.to_owned()));
        Lineage::begin(self.new_line, self.next_id(restored), began)
    }
}

/// Decides what a start goes on from.
///
/// # Errors
/// [`Refusal::LineageMissing`] when the record of the lines is gone while checkpoints are there, [`Refusal::Gone`] when
/// a checkpoint is gone that the line would go on from.
pub fn plan(facts: &Facts, request: &Request) -> Result<Plan, Refusal> {
    let mut plan = decide(facts, request)?;
    let chosen = plan.start.snapshot().map(Path::to_owned);
    plan.leftovers.retain(|&id| chosen.as_ref() != Some(&facts.dir.checkpoint(id)));
    Ok(plan)
}

fn decide(facts: &Facts, request: &Request) -> Result<Plan, Refusal> {
    let line = facts.lineage.as_ref();
    match (request, line) {
        (Request::Fresh, _) => Ok(new_line(facts, Start::Empty(Reason::Fresh))),
        (Request::From(dir), Some(line)) if line.began_at(dir) => go_on(facts, line, from(dir, line)),
        (Request::From(dir), Some(line)) => Ok(new_line(facts, from(dir, line))),
        (Request::From(dir), None) => Ok(new_line(facts, Start::From(dir.clone()))),
        (Request::Resume, Some(line)) => {
            go_on(facts, line, Start::Empty(new_run(line).unwrap_or(Reason::NoCheckpoint)))
        }
        (Request::Resume, None) => match facts.checkpoints.iter().rfind(|c| c.complete) {
            None => Ok(new_line(facts, Start::Empty(Reason::NoCheckpoint))),
            Some(newest) => Err(Refusal::LineageMissing {
                lineage: facts.dir.lineage(),
                newest: facts.dir.checkpoint(newest.id),
            }),
        },
    }
}

fn from(dir: &Path, line: &Lineage) -> Start {
    let dir = dir.to_owned();
    new_run(line).map_or_else(|| Start::From(dir.clone()), |reason| Start::Anew(dir.clone(), reason))
}

/// Why a start is a new run when the line has ended.
fn new_run(line: &Lineage) -> Option<Reason> {
    match line.end {
        LineEnd::Finished => Some(Reason::NewRunAfterFinish),
        LineEnd::Canceled => Some(Reason::NewRunAfterCancel),
        LineEnd::Open | LineEnd::Stopped(_) => None,
    }
}

/// Goes on where the current line stands; `otherwise` when it has ended or holds nothing yet.
fn go_on(facts: &Facts, line: &Lineage, otherwise: Start) -> Result<Plan, Refusal> {
    let mut completed =
        facts.checkpoints.iter().rev().filter(|c| c.complete && line.holds(c.id)).map(|c| c.id);
    let untold = facts.untold.iter().rfind(|&&id| line.holds(id)).map(|&id| facts.dir.checkpoint(id));
    let newest = completed.next();
    if let Some(gone) = line.reached.filter(|_| line.end == LineEnd::Open && newest < line.reached) {
        let place = |id| facts.dir.checkpoint(id);
        return Err(Refusal::Gone { dir: place(gone), older: newest.map(place) });
    }
    let newest = newest.map(|id| facts.dir.checkpoint(id));
    let start = match (&line.end, newest, &line.began) {
        (LineEnd::Finished, ..) => match untold {
            Some(last) => Start::Conclude(last),
            None => return Ok(new_line(facts, otherwise)),
        },
        (LineEnd::Canceled, ..) => return Ok(new_line(facts, otherwise)),
        (LineEnd::Stopped(kept), ..) => return Ok(new_line(facts, Start::Resume(kept.clone()))),
        (LineEnd::Open, Some(newest), _) => Start::Resume(newest),
        (LineEnd::Open, None, Began::At(dir)) if !matches!(otherwise, Start::From(_)) => {
            Start::Resume(dir.clone())
        }
        (LineEnd::Open, None, _) => otherwise,
    };
    let (older, continues) = (completed.collect(), Some(line.clone()));
    Ok(Plan { start, continues, new_line: line.line, older, ..common(facts) })
}

fn new_line(facts: &Facts, start: Start) -> Plan {
    let mut plan = Plan { start, ..common(facts) };
    if plan.start != Start::Empty(Reason::Fresh)
        && let Some(ended) = &facts.lineage
    {
        let done = facts.checkpoints.iter().filter(|c| c.complete && ended.holds(c.id)).map(|c| c.id);
        plan.leftovers.extend(done.filter(|&id| ended.has_done_with(&facts.dir.checkpoint(id))));
    }
    plan
}

fn common(facts: &Facts) -> Plan {
    Plan {
        start: Start::Empty(Reason::NoCheckpoint),
        continues: None,
        new_line: facts.lineage.as_ref().map_or(facts.highest_line, |l| l.line) + 1,
        highest: highest(facts),
        leftovers: facts.checkpoints.iter().filter(|c| !c.complete).map(|c| c.id).collect(),
        older: Vec::new(),
    }
}

/// Everything below the line's first id was used, too, though its directory may be gone. Of the line itself only what is
/// there is known.
fn highest(facts: &Facts) -> Option<CheckpointId> {
    let found = facts.checkpoints.last().map(|c| c.id).max(facts.untold.last().copied());
    let before = facts.lineage.as_ref().and_then(|l| l.first.0.checked_sub(1)).filter(|&n| n > 0);
    found.max(before.map(CheckpointId))
}

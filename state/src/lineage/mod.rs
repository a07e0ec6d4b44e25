//! The lines of a job's checkpoints: which one is current, what it began with, how it ended (rulings 2 to 4).
//!
//! A *line* is one course of a job through its input: every checkpoint of it goes on from the one before. A start
//! without state, or from a snapshot that the user names, begins a new line; only the current line is ever chosen by
//! itself. The file is small, checksummed and replaced atomically; transitions are pure functions.

mod file;
#[cfg(test)]
mod tests;

pub(crate) use file::{read, write};

use millstream_io::id::CheckpointId;
use std::path::{Path, PathBuf};

/// What a line began with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Began {
    /// Without state.
    Empty,
    /// From the snapshot in this directory (absolute), which does not belong to the line.
    At(PathBuf),
}

/// Whether and how a line has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// It has not: the next start goes on with it.
    Open,
    /// All input was processed and committed; its checkpoints may go. While its final one is there, nobody has been
    /// told: the next start goes on from it and has nothing left to do.
    Finished,
    /// It was cancelled for good; its checkpoints may go.
    Canceled,
    /// It was stopped with this snapshot (its directory, absolute), from which the next start goes on. Other
    /// checkpoints of it may go.
    Stopped(PathBuf),
}

/// The current line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// Its number: 1 for the first one of a job.
    pub line: u64,
    /// The first id that its checkpoints may have: all ids from here on belong to it, all below to older lines.
    pub first: CheckpointId,
    /// What it began with.
    pub began: Began,
    /// How it ended.
    pub end: LineEnd,
    /// A checkpoint of it that has been completed, if one has: where several are retained the newest, or the one before it
    /// if a crash came between its completion and this record. While the line is open the newest that is there is never an
    /// older one, unless others have deleted it.
    pub reached: Option<CheckpointId>,
}

impl Lineage {
    /// An open line.
    pub fn begin(line: u64, first: CheckpointId, began: Began) -> Self {
        Self { line, first, began, end: LineEnd::Open, reached: None }
    }

    /// The same line with an end.
    #[must_use]
    pub fn ended(&self, end: LineEnd) -> Self {
        Self { end, ..self.clone() }
    }

    /// The same line, with checkpoint `id`, or none, completed.
    #[must_use]
    pub(crate) fn reached(&self, id: Option<CheckpointId>) -> Self {
        Self { reached: self.reached.max(id), ..self.clone() }
    }

    /// Whether checkpoint `id` belongs to this line.
    pub fn holds(&self, id: CheckpointId) -> bool {
        id >= self.first
    }

    /// Whether the line began with the snapshot in directory `dir`.
    pub fn began_at(&self, dir: &Path) -> bool {
        matches!(&self.began, Began::At(path) if path == dir)
    }

    /// Whether checkpoints of this line have no purpose any more, except the one in `dir` that it was stopped with.
    pub(crate) fn has_done_with(&self, dir: &Path) -> bool {
        match &self.end {
            LineEnd::Open => false,
            LineEnd::Finished | LineEnd::Canceled => true,
            LineEnd::Stopped(kept) => kept != dir,
        }
    }
}

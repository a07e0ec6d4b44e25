//! Sources: what feeds a job. One trait, implemented by the embedded connectors and by users.

use crate::clock::{Clock, Moment};
use crate::counters::Counters;
use crate::emit::Emit;
use crate::error::ConnectorError;
use crate::id::CheckpointId;
use crate::record::Record;
use crate::storage::Storage;
use crate::waker::Waker;
use std::sync::Arc;

/// How list state is given out: a source's splits at every start, a sink's state at a restore (ST-05, ST-06).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redistribution {
    /// Unchanged parallelism: every subtask gets its own list back. Else all lists one after the other, cut into
    /// contiguous parts whose sizes differ by at most one.
    EvenSplit,
    /// Every subtask gets all lists one after the other, and must keep only its part.
    Union,
}

/// What a source found when it was asked for records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// Records were emitted, and there may be more at once.
    More,
    /// Nothing at the moment: ask again when woken, or at this moment at the latest.
    Idle(Option<Moment>),
    /// The input has ended for this subtask; it is not polled again.
    Done,
}

/// What a source's subtask is given.
#[derive(Clone)]
pub struct SourceContext {
    /// Index of this subtask.
    pub subtask: usize,
    /// Number of subtasks.
    pub parallelism: usize,
    /// Files.
    pub storage: Arc<dyn Storage>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Wakes this subtask; for sources that are fed by other threads.
    pub waker: Waker,
    /// The subtask's counters; a source counts what it rejects, what it emits is counted by the engine.
    pub counters: Arc<Counters>,
}

/// Feeds a job with records, from positions that are part of every checkpoint (SR-01).
///
/// The value given to the job is a description; each subtask works on a clone of it. The unit of work that can move
/// between subtasks is a *split*: where to go on reading. On a fresh start [`Source::discover`] is called once, before
/// any subtask runs; after a restore [`Source::check`] sees the splits of the checkpoint instead, and nothing is
/// discovered. Either way the splits are then given out by [`Source::REDISTRIBUTION`], so that a source that takes
/// its part of a union by itself has one rule for both.
pub trait Source: Clone + Send + 'static {
    /// What it emits.
    type Out: Record;

    /// Where to go on reading.
    type Split: Record;

    /// How splits are given out, on a fresh start as well as at a restore.
    const REDISTRIBUTION: Redistribution = Redistribution::EvenSplit;

    /// The splits of a fresh start. Called once for all subtasks, with the context of subtask 0.
    ///
    /// # Errors
    /// What makes a start impossible; [`Class::Refuse`](crate::error::Class::Refuse) for bad settings.
    fn discover(&mut self, cx: &SourceContext) -> Result<Vec<Self::Split>, ConnectorError>;

    /// Checks restored splits against this description; called before anything runs, with the splits of one subtask of
    /// the checkpoint after the other. A split of an input that is no longer given is an error unless `allow_dropped`,
    /// and dropped otherwise (ruling 26).
    ///
    /// # Errors
    /// The input that the checkpoint names and this source does not.
    fn check(
        &mut self,
        _cx: &SourceContext,
        splits: Vec<Self::Split>,
        _allow_dropped: bool,
    ) -> Result<Vec<Self::Split>, ConnectorError> {
        Ok(splits)
    }

    /// What is there to be read now and is not part of `splits`, those of all subtasks of a checkpoint that a start goes on
    /// from: a few words for each, for people. Nothing, unless implemented.
    ///
    /// # Errors
    /// It cannot be seen; the start is not refused for that.
    fn unread(
        &mut self,
        _cx: &SourceContext,
        _splits: &[Self::Split],
    ) -> Result<Vec<String>, ConnectorError> {
        Ok(Vec::new())
    }

    /// Begins reading this subtask's splits.
    ///
    /// # Errors
    /// What makes reading impossible.
    fn open(&mut self, cx: SourceContext, splits: Vec<Self::Split>) -> Result<(), ConnectorError>;

    /// Emits a bounded batch (some 64 KiB of records, or less), never waiting. Position and emission move together:
    /// what has been emitted when this returns is behind the position that [`Source::snapshot`] then reports.
    ///
    /// # Errors
    /// [`Class::Data`](crate::error::Class::Data) for input that cannot be read, else a restartable one.
    fn poll(&mut self, out: &mut impl Emit<Self::Out>) -> Result<Poll, ConnectorError>;

    /// Whether it works off a backlog: what it reads is old, and there is much of it. Asked after each poll. As long as any
    /// source says so, `execution.checkpointing.interval-during-backlog` holds in place of the interval (CP-10).
    fn is_behind(&self) -> bool {
        false
    }

    /// Where each split of this subtask stands; finished splits may be left out. What the positions leave behind must be
    /// as durable as they will be.
    ///
    /// # Errors
    /// The attempt fails, and the checkpoint with it.
    fn snapshot(&mut self) -> Result<Vec<Self::Split>, ConnectorError>;

    /// Checkpoint `id` is complete: everything before its positions will never be asked for again.
    fn completed(&mut self, _id: CheckpointId) {}
}

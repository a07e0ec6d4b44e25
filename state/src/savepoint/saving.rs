//! Writing a savepoint, step by step.

use super::SavepointFault;
use super::piece::{Made, make};
use super::plan::{Piece, pieces, splits};
use crate::descriptor::Backend;
use crate::error::StateError;
use crate::metadata::{
    FileEntry, GroupForm, GroupRange, KeyedHandle, ListHandle, METADATA_FILE, Metadata, OperatorState,
    SnapshotFormat, SnapshotKind, SubtaskState,
};
use crate::rows::Split;
use crate::snapshot::{Output, SnapshotReader, WriteOptions};
use millstream_io::executor::Executor;
use millstream_io::storage::Storage;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The snapshot that a savepoint is made of.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The directory that its files are named from.
    pub dir: PathBuf,
    /// What it consists of. It need not be published there.
    pub metadata: Arc<Metadata>,
}

/// A savepoint on its way to disk. Until it is [finished](Self::finish) it is a directory without `_metadata`, which is nothing.
pub struct Saving {
    storage: Arc<dyn Storage>,
    reader: SnapshotReader,
    metadata: Arc<Metadata>,
    form: SnapshotFormat,
    to: PathBuf,
    options: WriteOptions,
    splits: Vec<Vec<Option<Split>>>,
    left: VecDeque<Piece>,
    /// The subtask whose file is open, or would be.
    open: Option<Open>,
    files: Vec<FileEntry>,
    operators: Vec<OperatorState>,
}

/// What there is of a subtask so far.
struct Open {
    of: (usize, usize),
    out: Output,
    state: SubtaskState,
    /// Which handle of which state the last one is.
    last: Option<(u16, usize)>,
    /// Where that begins.
    begin: u64,
}

impl Saving {
    /// Creates the directory `to`, where there is nothing.
    ///
    /// # Errors
    /// [`SavepointFault`] where no savepoint of this form can be made of that, or `to` exists: nothing is created. Those of the
    /// storage.
    pub fn begin(
        storage: Arc<dyn Storage>,
        origin: Origin,
        form: SnapshotFormat,
        to: &Path,
        options: WriteOptions,
    ) -> Result<Self, StateError> {
        let Origin { dir, metadata } = origin;
        let splits = splits(&dir, &metadata, form)?;
        match storage.stat(to) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Err(SavepointFault::Exists { path: to.to_owned() }.into()),
        }
        storage.create_dir_all(to)?;
        Ok(Self {
            reader: SnapshotReader::new(storage.clone(), dir),
            storage,
            form,
            to: to.to_owned(),
            options,
            splits,
            left: pieces(&metadata).into(),
            open: None,
            files: Vec::new(),
            operators: metadata.operators.iter().map(|operator| emptied(operator, form)).collect(),
            metadata,
        })
    }

    /// Key groups that are not written yet.
    pub fn left(&self) -> usize {
        self.left.len()
    }

    /// Writes key groups of about so many bytes, several at once where the executor has threads for them. Returns whether all are
    /// written.
    ///
    /// # Errors
    /// Files of the snapshot that are missing or damaged; those of the storage. There will be no savepoint:
    /// [`abandon`](Self::abandon) it.
    pub fn step(&mut self, executor: &dyn Executor, budget: u64) -> Result<bool, StateError> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while bytes < budget
            && let Some(piece) = self.left.pop_front()
        {
            bytes += piece.bytes();
            batch.push(piece);
        }
        let made = executor.map(batch.len(), |nth| {
            let Piece { of: (operator, _), state, .. } = batch[nth];
            let split = self.splits[operator][usize::from(state)].as_ref();
            make(&self.reader, &self.metadata.operators[operator], &batch[nth], split)
        });
        for (piece, made) in batch.iter().zip(made) {
            self.put(piece, made?)?;
        }
        Ok(self.left.is_empty())
    }

    fn put(&mut self, piece: &Piece, made: Made) -> Result<(), StateError> {
        self.advance(Some(piece.of))?;
        let Some(open) = &mut self.open else { return Ok(()) };
        let form = GroupForm::of(self.operators[piece.of.0].states[usize::from(piece.state)].backend);
        if open.last.replace((piece.state, piece.handle)) != Some((piece.state, piece.handle)) {
            open.begin = open.out.written;
            let data = open.out.since(open.begin);
            open.state.keyed.push(KeyedHandle { state: piece.state, groups: Vec::new(), data, form });
        }
        let (offset, len) = (open.out.written - open.begin, made.bytes.len() as u64);
        open.out.append(&*self.storage, &made.bytes)?;
        let data = open.out.since(open.begin);
        if let Some(handle) = open.state.keyed.last_mut() {
            let (group, entries, crc) = (piece.group, made.entries, made.crc);
            handle.groups.push(GroupRange { group, entries, offset, len, crc });
            handle.data = data;
        }
        Ok(())
    }

    /// Goes on to a subtask, or behind the last one; the lists of each on the way come first.
    fn advance(&mut self, to: Option<(usize, usize)>) -> Result<(), StateError> {
        loop {
            let at = self.open.as_ref().map(|open| open.of);
            if at.is_some() && at == to {
                return Ok(());
            }
            if let Some(open) = self.open.take() {
                self.close(open)?;
            }
            let Some(next) = self.behind(at) else { return Ok(()) };
            self.open = Some(self.begin_subtask(next)?);
        }
    }

    /// The subtask behind one; the first one.
    fn behind(&self, at: Option<(usize, usize)>) -> Option<(usize, usize)> {
        let operators = &self.metadata.operators;
        let (operator, subtask) = at.map_or((0, 0), |(operator, subtask)| (operator, subtask + 1));
        if subtask < operators.get(operator)?.subtasks.len() {
            return Some((operator, subtask));
        }
        // Every operator has subtasks.
        (operator + 1 < operators.len()).then_some((operator + 1, 0))
    }

    fn begin_subtask(&self, of: (usize, usize)) -> Result<Open, StateError> {
        let old = &self.metadata.operators[of.0].subtasks[of.1];
        let mut out = Output::new(&self.to, &format!("{}-{}", of.0, of.1), self.options);
        let mut state = SubtaskState { finished: old.finished, ..SubtaskState::default() };
        for list in &old.lists {
            let (begin, bytes) = (out.written, self.reader.list_bytes(list)?);
            out.append(&*self.storage, &bytes)?;
            state.lists.push(ListHandle { data: out.since(begin), ..list.clone() });
        }
        Ok(Open { of, out, state, last: None, begin: 0 })
    }

    fn close(&mut self, open: Open) -> Result<(), StateError> {
        let Open { of, out, mut state, .. } = open;
        let written = out.finish()?;
        state.keyed.iter_mut().for_each(|keyed| written.resolve(&mut keyed.data));
        state.lists.iter_mut().for_each(|list| written.resolve(&mut list.data));
        self.files.extend(written.file);
        self.operators[of.0].subtasks[of.1] = state;
        Ok(())
    }

    /// Publishes the savepoint, once all is written.
    ///
    /// # Errors
    /// As for [`step`](Self::step). Where it is not known whether it was published, [`abandon`](Self::abandon) takes it back.
    ///
    /// # Panics
    /// When not all is written.
    pub fn finish(&mut self) -> Result<Metadata, StateError> {
        assert!(self.left.is_empty(), "a savepoint is finished when all is written");
        self.advance(None)?;
        let metadata = Metadata {
            kind: SnapshotKind::Savepoint,
            format: self.form,
            files: std::mem::take(&mut self.files),
            operators: std::mem::take(&mut self.operators),
            ..Metadata::clone(&self.metadata)
        };
        let bytes = metadata
            .encode()
            .map_err(|source| StateError::Schema { checkpoint: metadata.checkpoint, source })?;
        self.storage.sync_dir(&self.to)?;
        self.storage.publish(&self.to.join(METADATA_FILE), &bytes)?;
        Ok(metadata)
    }

    /// Removes what was written: its `_metadata` first.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn abandon(self) -> Result<(), StateError> {
        super::dispose::remove(&*self.storage, &self.to)
    }
}

/// An operator without content.
fn emptied(operator: &OperatorState, form: SnapshotFormat) -> OperatorState {
    let mut operator = operator.clone();
    for state in &mut operator.states {
        if form == SnapshotFormat::Canonical {
            state.backend = Backend::Canonical;
        }
    }
    operator.subtasks.iter_mut().for_each(|subtask| *subtask = SubtaskState::default());
    operator
}

/// Bytes of the snapshot that each thread has in memory at once, or the largest key group.
const STEP: u64 = 8 << 20;

/// Writes a savepoint to the directory `to`, where there is nothing, and waits for it.
///
/// # Errors
/// As for [`Saving`]: nothing is left there.
pub fn save(
    storage: Arc<dyn Storage>,
    origin: Origin,
    form: SnapshotFormat,
    to: &Path,
    options: WriteOptions,
    executor: &dyn Executor,
) -> Result<Metadata, StateError> {
    let mut saving = Saving::begin(storage, origin, form, to, options)?;
    let budget = STEP * executor.width() as u64;
    let saved = (|| {
        while !saving.step(executor, budget)? {}
        saving.finish()
    })();
    if saved.is_err() {
        // What went wrong first is what there is to tell.
        let _ = saving.abandon();
    }
    saved
}

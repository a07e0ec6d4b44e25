//! What a subtask goes on from.

use crate::error::Error;
use millstream_io::Record;
use millstream_io::counters::Counters;
use millstream_io::error::Class;
use millstream_state::keyed::RestoreError;
use millstream_state::metadata::{FileEntry, Handle, KeyedHandle, SHARED_FILE};
use millstream_state::snapshot::{SnapshotReader, StateId};
use millstream_state::{Backend, CommitPermit, OperatorId, Snapshots};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// One subtask's part of the checkpoint that a start goes on from; empty on a fresh start.
#[derive(Default)]
pub struct Restored {
    /// Proof that what it holds may be committed; none on a fresh start.
    pub(crate) permit: Option<CommitPermit>,
    /// Whether the subtask had come to its end: it emits nothing more.
    pub(crate) finished: bool,
    /// Place among the subtasks of its task that had not come to their end, and how many those are: they share out
    /// what is left to read.
    pub(crate) share: (usize, usize),
    /// Encoded elements of list state, already given out to this subtask. Present on a fresh start too: a source's
    /// discovered splits.
    pub(crate) lists: Vec<(OperatorId, Vec<Vec<u8>>)>,
    /// Keyed state, narrowed to this subtask's key groups.
    pub(crate) keyed: Vec<(OperatorId, Vec<(u16, KeyedHandle)>)>,
    pub(crate) reader: Option<SnapshotReader>,
    /// The files of the checkpoint, where later ones may name them: it is one of the line that goes on.
    pub(crate) owned: Option<Arc<[FileEntry]>>,
    /// Where it is told how far this is.
    pub(crate) counters: Arc<Counters>,
    /// Parts of keyed states that the program does not have any more, which go into its checkpoints all the same.
    pub(crate) carried: Vec<(StateId, Backend, KeyedHandle)>,
    /// Parts that states build on, as they follow one another.
    pub(crate) built_on: Vec<(StateId, KeyedHandle)>,
}

impl Restored {
    /// The elements of an operator's list state.
    ///
    /// # Errors
    /// Bytes that are no encoding of `T`.
    pub(crate) fn list<T: Record>(&mut self, operator: OperatorId) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        for (id, elements) in &self.lists {
            if *id == operator {
                all.extend(decode_list::<T>(elements)?);
            }
        }
        Ok(all)
    }

    /// Says how much there is to restore, and that `counters` are to say how far that is.
    pub(crate) fn announce(&mut self, counters: Arc<Counters>) {
        for (_, handles) in &self.keyed {
            let states: BTreeSet<u16> = handles.iter().map(|(state, _)| *state).collect();
            for state in states {
                let of_it = || handles.iter().filter(|(of, _)| *of == state).map(|(_, handle)| handle);
                counters.restore.records.add(keys(of_it()));
                counters.restore.bytes.add(of_it().map(|handle| handle.data.len()).sum());
            }
        }
        self.counters = counters;
    }

    /// Restores one of an operator's keyed states. Its next snapshots build on what is restored, where that and the state
    /// allow it.
    ///
    /// # Errors
    /// Damaged files, and bytes that the state cannot use.
    pub(crate) fn state(
        &mut self,
        operator: OperatorId,
        state: u16,
        into: &mut (impl Snapshots + ?Sized),
    ) -> Result<(), Error> {
        let of_it = self.keyed.iter().filter(|(id, _)| *id == operator).flat_map(|(_, handles)| handles);
        let handles: Vec<_> = of_it.filter(|(of, _)| *of == state).map(|(_, handle)| handle).collect();
        if let Some(reader) = &self.reader {
            let done = &self.counters.restore;
            reader.restore(&handles, into, &|keys, bytes| {
                done.records_done.add(keys);
                done.bytes_done.add(bytes);
            })?;
        }
        let unusable = |error: RestoreError| {
            Error::new(Class::Fatal, "restore", format!("keyed state of operator {operator}"), error)
        };
        into.restored().map_err(unusable)?;
        if self.owned.is_some() && handles.iter().all(|handle| outlives(handle)) && into.build_on_restored() {
            let parts = handles.iter().map(|handle| {
                // By the state's present number, which need not be the one that it had.
                ((operator, state), KeyedHandle { state, ..KeyedHandle::clone(handle) })
            });
            self.built_on.extend(parts);
        }
        Ok(())
    }
}

/// The keys that a state has by its parts: of each key group as many as the last of them says.
fn keys<'a>(parts: impl Iterator<Item = &'a KeyedHandle>) -> u64 {
    let ranges = parts.flat_map(|part| &part.groups).map(|range| (range.group, range.entries));
    ranges.collect::<HashMap<_, _>>().values().sum()
}

/// Whether a part does not go with its checkpoint.
pub(super) fn outlives(handle: &KeyedHandle) -> bool {
    match &handle.data {
        Handle::Inline(_) => true,
        Handle::File { name, .. } => name.starts_with(SHARED_FILE),
    }
}

/// Decodes elements of list state.
///
/// # Errors
/// The first one that is no encoding of `T`.
pub(crate) fn decode_list<T: Record>(elements: &[Vec<u8>]) -> Result<Vec<T>, Error> {
    elements
        .iter()
        .map(|bytes| {
            let row = millstream_io::Row::<T>::parse(bytes)
                .map_err(|error| Error::new(Class::Fatal, "restore", "list state", error))?;
            Ok(T::own(row.view()))
        })
        .collect()
}

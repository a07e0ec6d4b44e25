//! What a subtask goes on from.

use crate::error::Error;
use millstream_io::Record;
use millstream_io::error::Class;
use millstream_state::keyed::RestoreError;
use millstream_state::metadata::{FileEntry, Handle, KeyedHandle, SHARED_FILE};
use millstream_state::snapshot::{Chain, SnapshotReader, StateId};
use millstream_state::{CommitPermit, OperatorId, Snapshots};
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
        if let Some(reader) = &mut self.reader {
            for handle in &handles {
                reader.groups(handle, |group, entries, bytes| into.restore(group, entries, bytes))?;
            }
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

    /// The chain of snapshots that those of the subtask build on; `None` where the next one has to be one of everything.
    pub(crate) fn chain(&mut self) -> Option<Chain> {
        let parts = std::mem::take(&mut self.built_on);
        Chain::resume(parts, self.owned.as_deref().unwrap_or_default())
    }
}

/// Whether a part does not go with its checkpoint.
fn outlives(handle: &KeyedHandle) -> bool {
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

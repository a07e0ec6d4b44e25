//! What a subtask goes on from.

use crate::error::Error;
use millstream_io::Record;
use millstream_io::error::Class;
use millstream_state::key_group::KeyGroup;
use millstream_state::keyed::RestoreError;
use millstream_state::metadata::KeyedHandle;
use millstream_state::snapshot::SnapshotReader;
use millstream_state::{CommitPermit, OperatorId};

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

    /// Hands the key groups of one of an operator's keyed states to `visit`.
    ///
    /// # Errors
    /// Damaged files, and what `visit` finds.
    pub(crate) fn keyed(
        &mut self,
        operator: OperatorId,
        state: u16,
        mut visit: impl FnMut(KeyGroup, u64, &[u8]) -> Result<(), RestoreError>,
    ) -> Result<(), Error> {
        let Some(reader) = &mut self.reader else { return Ok(()) };
        for (_, handles) in self.keyed.iter().filter(|(id, _)| *id == operator) {
            for (_, handle) in handles.iter().filter(|(of, _)| *of == state) {
                reader.groups(handle, &mut visit)?;
            }
        }
        Ok(())
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

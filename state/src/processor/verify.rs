//! Whether everything in a snapshot is what was written, and can be read.

use super::Snapshot;
use super::read::Entries;
use crate::canonical;
use crate::checkpoint_store;
use crate::error::{FormatError, StateError};
use crate::key_group::{Grouping, KeyGroup};
use crate::keyed::RestoreError;
use crate::metadata::{GroupForm, KeyedHandle, OperatorState};
use crate::rows::Split;
use crate::savepoint::state_label;
use millstream_io::storage::Storage;
use std::path::Path;
use std::sync::Arc;

/// What was found to be in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Files beside the metadata.
    pub files: usize,
    /// Bytes of these.
    pub bytes: u64,
    /// Entries of keyed states, all of which were read.
    pub entries: u64,
    /// Elements of lists.
    pub elements: u64,
    /// States of which nothing but the checksums could be looked at, and why.
    pub unread: Vec<String>,
}

/// Reads everything of the snapshot that a user means, checks every checksum, and reads every entry whose types are known here: it has to
/// be one, and to be in the key group that its key has.
///
/// # Errors
/// What is missing, cut off, changed or no entry, and in which file.
pub fn verify(storage: Arc<dyn Storage>, path: &Path) -> Result<Verified, StateError> {
    let snapshot = Snapshot::open(storage.clone(), path)?;
    let metadata = checkpoint_store::verify(&*storage, snapshot.dir())?;
    let mut found = Verified {
        files: metadata.files.len(),
        bytes: metadata.files.iter().map(|file| file.len).sum(),
        ..Verified::default()
    };
    for operator in &metadata.operators {
        for (nth, _) in (0..).zip(&operator.states) {
            state(&snapshot, operator, nth, &mut found)?;
        }
        let mut reader = snapshot.reader.another();
        for list in operator.subtasks.iter().flat_map(|subtask| &subtask.lists) {
            found.elements += reader.encoded_list(list)?.len() as u64;
        }
    }
    Ok(found)
}

fn state(
    snapshot: &Snapshot,
    operator: &OperatorState,
    nth: u16,
    found: &mut Verified,
) -> Result<(), StateError> {
    let parts = operator.subtasks.iter().flat_map(|s| &s.keyed).filter(|keyed| keyed.state == nth);
    let entries = match Entries::new(snapshot, operator, nth) {
        Ok(entries) => Some(entries),
        Err(StateError::Savepoint(fault)) => {
            let why = fault.parts().cause;
            found
                .unread
                .push(format!("{}: {why}", state_label(operator, &operator.states[usize::from(nth)])));
            None
        }
        Err(error) => return Err(error),
    };
    for part in parts {
        for range in &part.groups {
            let bytes = snapshot.reader.group(&part.data, range)?;
            if part.form == GroupForm::Canonical {
                let split = entries.as_ref().map(Entries::split);
                blocks(&bytes, split).map_err(|source| damaged(snapshot, part, source))?;
            }
        }
    }
    let Some(entries) = entries else { return Ok(()) };
    let grouping = Grouping::new(operator.max_parallelism);
    for group in entries.groups().collect::<Vec<_>>() {
        let rows = entries.rows(group)?;
        for (entry, row) in (0..).zip(rows.iter()) {
            let key = entries.parts(group, entry, row)?.key.row;
            let belongs = grouping.group(entries.shape().key().hash(key));
            if belongs != group {
                return Err(stray(&entries, group, belongs));
            }
        }
        found.entries += rows.len() as u64;
    }
    Ok(())
}

/// Looks at every block: its checksum, its order, and that it is as the index says.
fn blocks(bytes: &[u8], split: Option<&Split>) -> Result<(), FormatError> {
    let field = |problem| FormatError::Field { field: "block", offset: 0, problem };
    let mut last: Option<&[u8]> = None;
    for (block, content) in canonical::verified(bytes)? {
        let Some(split) = split else { continue };
        let (mut at, mut count) = (0, 0);
        // An entry without bytes is the only one there is.
        while at < content.len() || (content.is_empty() && count < block.entries.min(1)) {
            let (row, size) =
                split.take(&content[at..], at).map_err(|_| field("an entry of it is not well-formed"))?;
            let key = row.parts(content)[0];
            if (count == 0 && key != block.first) || last.is_some_and(|last| last >= key) {
                return Err(field("its keys are not in their order, or not as the index says"));
            }
            last = Some(key);
            at += size;
            count += 1;
        }
        if count != block.entries {
            return Err(field("it does not have as many entries as the index says"));
        }
    }
    Ok(())
}

fn damaged(snapshot: &Snapshot, part: &KeyedHandle, source: FormatError) -> StateError {
    StateError::Damaged { path: snapshot.reader.path_of(&part.data), source }
}

fn stray(entries: &Entries<'_>, group: KeyGroup, belongs: KeyGroup) -> StateError {
    StateError::Entries { path: entries.path_of(group), source: RestoreError::Stray { group, belongs } }
}

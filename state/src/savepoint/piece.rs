//! A key group as a savepoint has it.

use super::plan::Piece;
use crate::canonical::Writer;
use crate::descriptor::Backend;
use crate::error::StateError;
use crate::keyed::RestoreError;
use crate::metadata::OperatorState;
use crate::rows::{Rows, Source, Split};
use crate::snapshot::{SnapshotReader, merge_all};

/// What became of a piece.
pub(super) struct Made {
    pub entries: u64,
    pub crc: u32,
    pub bytes: Vec<u8>,
}

/// Reads a piece, and brings it into the form that it is to have: in the order of its keys where `split` says how entries are told
/// apart, and otherwise as its backend has it.
///
/// # Errors
/// Files that are missing or damaged.
pub(super) fn make(
    reader: &SnapshotReader,
    operator: &OperatorState,
    piece: &Piece,
    split: Option<&Split>,
) -> Result<Made, StateError> {
    let backend = operator.states[usize::from(piece.state)].backend;
    let keyed = &operator.subtasks[piece.of.1].keyed;
    let mut parts = Vec::with_capacity(piece.ranges.len());
    for (handle, range) in &piece.ranges {
        parts.push((*handle, reader.group(&keyed[*handle].data, range)?));
    }
    let entries = piece.ranges.last().map_or(0, |(_, range)| range.entries);
    let refused =
        |handle: usize, source| StateError::Entries { path: reader.path_of(&keyed[handle].data), source };
    let newest = piece.ranges.last().map_or(0, |(handle, _)| *handle);
    let bytes = match split {
        Some(split) => {
            let parts = parts.into_iter().map(|(_, bytes)| bytes).collect();
            let source = Source { group: piece.group, backend, entries, parts };
            let rows = Rows::sorted(split, source).map_err(|error| refused(newest, error))?;
            in_order(split, &rows)
        }
        None => {
            if backend == Backend::Paged {
                parts = merge_all(parts).map_err(|(handle, error)| {
                    let (group, at, problem) = (piece.group, error.at, error.problem);
                    refused(handle, RestoreError::Pages { group, at, problem })
                })?;
            }
            parts.pop().map(|(_, bytes)| bytes).unwrap_or_default()
        }
    };
    Ok(Made { entries, crc: crc32fast::hash(&bytes), bytes })
}

fn in_order(split: &Split, rows: &Rows) -> Vec<u8> {
    let mut writer = Writer::new(rows.size() + 8 * rows.len());
    for [key, value] in rows.iter() {
        writer.add(key, |out| split.put([key, value], out));
    }
    writer.finish()
}

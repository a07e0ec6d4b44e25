//! What is done with records that cannot be used: fail, skip, or keep them aside.

use super::dead_letters::DeadLetters;
use super::place::Places;
use crate::counters::Counters;
use crate::error::{Class, ConnectorError};
use crate::storage::{ReadFile, Storage};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

/// What a job does with a record that it cannot use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BadRecordPolicy {
    /// The job fails with an error of [`Class::Data`] that names the record's place.
    #[default]
    Fail,
    /// The record is counted (`records_rejected`) and left out.
    Skip,
    /// The record is counted, and kept with its place and the reason in a file of this directory, see
    /// [`BadRecords`]. Operators of one name, such as two file sources, need a directory each: nothing notices that they
    /// share one, and they would write over each other's entries.
    DeadLetter(PathBuf),
}

/// The bytes of a bad record.
#[derive(Clone, Copy)]
pub enum RawRecord<'a> {
    /// They are at hand.
    Bytes(&'a [u8]),
    /// They are too many to be: so many bytes of an open file, from the record's offset on.
    Stretch(&'a dyn ReadFile, u64),
}

/// A record that cannot be used.
#[derive(Clone, Copy)]
pub struct BadRecord<'a> {
    /// What could not be done with it: `parse CSV`.
    pub what: &'a str,
    /// The inode of its file.
    pub file: u64,
    /// Where in the file it begins, in bytes.
    pub offset: u64,
    /// Its bytes as they stood.
    pub raw: RawRecord<'a>,
    /// What is wrong with it: `expected 2 fields, got 1`.
    pub reason: &'a dyn Display,
    /// What the user may do about it.
    pub hint: Option<&'a str>,
}

/// Carries out a [`BadRecordPolicy`] in one subtask of one operator.
///
/// # Dead letters
///
/// Under [`BadRecordPolicy::DeadLetter`] each subtask appends to `DIR/<name>-<subtask>.rejected`. An entry is a line
/// `@<inode> <offset> <bytes> <path>:<line> (byte offset <offset>): <reason>`, then the record's own bytes, so many as
/// the line says, then LF.
///
/// A record is known again by inode, offset, length and first bytes: when a restart meets one again that an earlier
/// attempt has left in one of the directory's files of this name, it is not written again, so every bad record is kept
/// once, however often it was replayed, and another one at the same place of a replaced file is kept too. An
/// entry may be seen before the checkpoint that covers it is complete; it is the same entry that a replay would write.
/// [`BadRecords::sync`] before a position becomes part of a checkpoint makes sure that nothing in front of that
/// position is lost in a power cut.
///
/// ```no_run
/// use millstream_io::connector::{BadRecord, BadRecordPolicy, BadRecords, RawRecord};
/// # fn demo(storage: std::sync::Arc<dyn millstream_io::storage::Storage>,
/// #     counters: std::sync::Arc<millstream_io::counters::Counters>,
/// #     row: millstream_io::format::CsvLineRef<'_>) -> Result<(), millstream_io::error::ConnectorError> {
/// let policy = BadRecordPolicy::DeadLetter("rejected".into());
/// let mut bad = BadRecords::new(policy, "running", vec!["input.csv".into()]);
/// bad.open(storage, counters, (0, 1));
/// if row.fields().count() != 2 {
///     bad.reject(&BadRecord {
///         what: "parse CSV",
///         file: row.file,
///         offset: row.offset,
///         raw: RawRecord::Bytes(row.line),
///         reason: &format!("expected 2 fields, got {}", row.fields().count()),
///         hint: None,
///     })?;
/// }
/// # Ok(()) }
/// ```
pub struct BadRecords {
    policy: BadRecordPolicy,
    name: String,
    inputs: Vec<PathBuf>,
    open: Option<Open>,
}

struct Open {
    counters: Arc<Counters>,
    places: Places,
    letters: Option<DeadLetters>,
}

impl Clone for BadRecords {
    /// The same description, not opened.
    fn clone(&self) -> Self {
        Self::new(self.policy.clone(), self.name.clone(), self.inputs.clone())
    }
}

impl BadRecords {
    /// A description: `name` tells operators of one job apart, `inputs` are where the records come from.
    pub fn new(policy: BadRecordPolicy, name: impl Into<String>, inputs: Vec<PathBuf>) -> Self {
        Self { policy, name: name.into(), inputs, open: None }
    }

    /// What is done with a bad record.
    pub fn policy(&self) -> &BadRecordPolicy {
        &self.policy
    }

    /// Begins, in the subtask with this index, of so many. Touches no file: that waits for the first bad record, or for
    /// [`BadRecords::sync`].
    pub fn open(&mut self, storage: Arc<dyn Storage>, counters: Arc<Counters>, subtask: (usize, usize)) {
        let letters = match &self.policy {
            BadRecordPolicy::DeadLetter(dir) => {
                Some(DeadLetters::new(Arc::clone(&storage), dir, &self.name, subtask))
            }
            BadRecordPolicy::Fail | BadRecordPolicy::Skip => None,
        };
        let places = Places::new(storage, self.inputs.clone());
        self.open = Some(Open { counters, places, letters });
    }

    /// What finds the places of records.
    ///
    /// # Panics
    /// Before [`BadRecords::open`].
    pub fn places(&mut self) -> &mut Places {
        &mut self.opened().places
    }

    fn opened(&mut self) -> &mut Open {
        self.open.as_mut().expect("bad records are reported after `open`")
    }

    /// Deals with a bad record.
    ///
    /// # Errors
    /// Under [`BadRecordPolicy::Fail`] always, of [`Class::Data`]; else when the dead letter cannot be written.
    ///
    /// # Panics
    /// Before [`BadRecords::open`].
    pub fn reject(&mut self, record: &BadRecord<'_>) -> Result<(), ConnectorError> {
        let fails = self.policy == BadRecordPolicy::Fail;
        let open = self.opened();
        if fails {
            let at = open.places.describe(record.file, record.offset);
            let error = ConnectorError::new(Class::Data, record.what, at, record.reason.to_string());
            return Err(match record.hint {
                Some(hint) => error.with_hint(hint),
                None => error,
            });
        }
        if let Some(letters) = &mut open.letters {
            letters.keep(record, &mut open.places)?;
        }
        open.counters.records_rejected.add(1);
        Ok(())
    }

    /// Makes the dead letters so far durable, also those of earlier attempts; nothing to do when there are no new ones.
    ///
    /// # Errors
    /// The file cannot be synced.
    pub fn sync(&mut self) -> Result<(), ConnectorError> {
        match &mut self.open {
            Some(Open { letters: Some(letters), .. }) => Ok(letters.sync()?),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;

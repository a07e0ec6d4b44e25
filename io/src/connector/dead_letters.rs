//! The file of records that could not be used.

use super::bad_records::{BadRecord, RawRecord};
use super::place::Places;
use crate::error::StorageError;
use crate::storage::{ReadFile, Result, Storage, WriteFile};
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// End of the names of these files.
const SUFFIX: &str = ".rejected";

/// Longest first line of an entry that is looked for.
const LONGEST_HEAD: usize = 16 * 1024;

/// Bytes copied at a time.
const CHUNK: usize = 64 * 1024;

/// Appends bad records to one subtask's file, each place once; see
/// [`BadRecords`](super::bad_records::BadRecords) for the form.
pub(super) struct DeadLetters {
    storage: Arc<dyn Storage>,
    dir: PathBuf,
    name: String,
    subtask: usize,
    written: Option<Written>,
}

/// What is known once the first bad record has come.
struct Written {
    /// Places of all records that are kept already.
    present: HashSet<(u64, u64)>,
    file: Box<dyn WriteFile>,
    dirty: bool,
}

impl DeadLetters {
    pub(super) fn new(storage: Arc<dyn Storage>, dir: &Path, name: &str, subtask: usize) -> Self {
        Self { storage, dir: dir.to_owned(), name: name.to_owned(), subtask, written: None }
    }

    /// Keeps a record unless its place is kept already.
    pub(super) fn keep(&mut self, record: &BadRecord<'_>, places: &mut Places) -> Result<()> {
        if self.written.is_none() {
            self.written = Some(self.begin()?);
        }
        let Some(written) = &mut self.written else { unreachable!("was set above") };
        if written.present.contains(&(record.file, record.offset)) {
            return Ok(());
        }
        let bytes = match record.raw {
            RawRecord::Bytes(bytes) => bytes.len() as u64,
            RawRecord::Stretch(_, bytes) => bytes,
        };
        let place = places.describe(record.file, record.offset);
        let what = format!("{place}: {}", record.reason).replace(['\n', '\r'], " ");
        let head = format!("@{} {} {bytes} {what}\n", record.file, record.offset);
        written.dirty = true;
        match record.raw {
            RawRecord::Bytes(bytes) => {
                written.file.append(&[head.as_bytes(), bytes, b"\n"].concat())?;
            }
            RawRecord::Stretch(file, bytes) => {
                written.file.append(head.as_bytes())?;
                copy(file, record.offset, bytes, &mut *written.file)?;
                written.file.append(b"\n")?;
            }
        }
        written.present.insert((record.file, record.offset));
        Ok(())
    }

    /// Makes what was kept durable.
    pub(super) fn sync(&mut self) -> Result<()> {
        if let Some(written) = self.written.as_mut().filter(|written| written.dirty) {
            written.file.sync()?;
            self.storage.sync_dir(&self.dir)?;
            written.dirty = false;
        }
        Ok(())
    }

    /// Finds out what earlier attempts kept, and opens this subtask's file behind its last whole entry.
    fn begin(&self) -> Result<Written> {
        self.storage.create_dir_all(&self.dir)?;
        let own = self.dir.join(format!("{}-{}{SUFFIX}", self.name, self.subtask));
        let mut present = HashSet::new();
        let mut whole = None;
        for entry in self.storage.list(&self.dir)? {
            let name = entry.name.to_string_lossy();
            let of_this_name = name
                .strip_suffix(SUFFIX)
                .and_then(|stem| stem.rsplit_once('-'))
                .is_some_and(|(name, _)| name == self.name);
            if of_this_name {
                let path = self.dir.join(&entry.name);
                let end = entries(&*self.storage.open(&path)?, &mut present)?;
                if path == own {
                    whole = Some(end);
                }
            }
        }
        let file = match whole {
            Some(end) => self.storage.append(&own, end)?,
            None => self.storage.create(&own)?,
        };
        // An earlier attempt may have been killed before it synced what a replay does not write again.
        Ok(Written { present, file, dirty: whole.is_some() })
    }
}

/// Adds the places of all whole entries to `present`; returns where the last one ends.
fn entries(file: &dyn ReadFile, present: &mut HashSet<(u64, u64)>) -> Result<u64> {
    let len = file.stat()?.len;
    let mut at = 0;
    let mut buffer = vec![0; LONGEST_HEAD];
    while at < len {
        let n = file.read_at(&mut buffer, at)?;
        let Some((place, bytes)) = head(&buffer[..n]) else { break };
        let end = at.saturating_add(bytes);
        if end > len {
            break;
        }
        present.insert(place);
        at = end;
    }
    Ok(at)
}

/// The place that the entry at the front of `bytes` is of, and the bytes of the whole entry.
fn head(bytes: &[u8]) -> Option<((u64, u64), u64)> {
    let line = &bytes[..memchr::memchr(b'\n', bytes)?];
    let text = String::from_utf8_lossy(line.strip_prefix(b"@")?);
    let mut parts = text.splitn(4, ' ');
    let mut number = || parts.next()?.parse::<u64>().ok();
    let (file, offset, raw) = (number()?, number()?, number()?);
    Some(((file, offset), (line.len() as u64 + 2).saturating_add(raw)))
}

fn copy(from: &dyn ReadFile, mut offset: u64, mut bytes: u64, to: &mut dyn WriteFile) -> Result<()> {
    let mut buffer = vec![0; CHUNK];
    while bytes > 0 {
        let want = usize::try_from(bytes).unwrap_or(CHUNK).min(CHUNK);
        let n = from.read_at(&mut buffer[..want], offset)?;
        if n == 0 {
            let cause = std::io::Error::new(ErrorKind::UnexpectedEof, "the file became shorter");
            return Err(StorageError::not_done("copy a record of", Path::new("the input"), cause));
        }
        to.append(&buffer[..n])?;
        offset += n as u64;
        bytes -= n as u64;
    }
    Ok(())
}

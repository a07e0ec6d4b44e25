//! The file of records that could not be used.

use super::bad_records::{BadRecord, RawRecord};
use super::place::Places;
use crate::error::StorageError;
use crate::record::hash_bytes;
use crate::storage::{ReadFile, Result, Storage, WriteFile};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// End of the names of these files.
const SUFFIX: &str = ".rejected";

/// Longest first line of an entry that is looked for.
const LONGEST_HEAD: usize = 16 * 1024;

/// Bytes copied at a time.
const CHUNK: usize = 64 * 1024;

/// Bytes at the beginning of a record that tell it from another one at the same place.
const PRINT: usize = 1024;

/// What makes two entries the same one: an inode and an offset say where, but a file may be truncated or replaced, and
/// an inode be used again; so the length and the first bytes belong to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Identity {
    file: u64,
    offset: u64,
    bytes: u64,
    print: u64,
}

/// Appends bad records to one subtask's file, each once; see
/// [`BadRecords`](super::bad_records::BadRecords) for the form.
pub(super) struct DeadLetters {
    storage: Arc<dyn Storage>,
    dir: PathBuf,
    name: String,
    subtask: usize,
    parallelism: usize,
    written: Option<Written>,
    /// What earlier attempts left is durable.
    settled: bool,
}

/// What is known once the first bad record has come.
struct Written {
    /// What earlier attempts kept and this one has not met yet, how often each. This one reads no record twice, so what
    /// it writes itself is never looked for.
    earlier: HashMap<Identity, u32>,
    file: Box<dyn WriteFile>,
    dirty: bool,
}

impl DeadLetters {
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        dir: &Path,
        name: &str,
        (subtask, parallelism): (usize, usize),
    ) -> Self {
        let (dir, name) = (dir.to_owned(), name.to_owned());
        Self { storage, dir, name, subtask, parallelism, written: None, settled: false }
    }

    /// Keeps a record unless an earlier attempt has.
    pub(super) fn keep(&mut self, record: &BadRecord<'_>, places: &mut Places) -> Result<()> {
        if self.written.is_none() {
            self.written = Some(self.begin()?);
        }
        let Some(written) = &mut self.written else { unreachable!("was set above") };
        let identity = identity(record)?;
        if let Some(times @ 1..) = written.earlier.get_mut(&identity) {
            *times -= 1;
            return Ok(());
        }
        let bytes = identity.bytes;
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
        Ok(())
    }

    /// Makes what was kept durable.
    pub(super) fn sync(&mut self) -> Result<()> {
        if !self.settled {
            self.settle()?;
            self.settled = true;
        }
        if let Some(written) = self.written.as_mut().filter(|written| written.dirty) {
            written.file.sync()?;
            self.storage.sync_dir(&self.dir)?;
            written.dirty = false;
        }
        Ok(())
    }

    /// Makes durable what earlier attempts left: one may have been killed before it synced what no replay writes again.
    /// Each file is the business of one subtask, also when there were more of them then.
    fn settle(&self) -> Result<()> {
        let entries = match self.storage.list(&self.dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let mut any = false;
        for entry in entries {
            let Some(index) = self.index(&entry.name.to_string_lossy()) else { continue };
            // One that this attempt has opened is synced with what it has written.
            let open = index == self.subtask && self.written.is_some();
            if index % self.parallelism.max(1) == self.subtask && !open {
                let path = self.dir.join(&entry.name);
                let len = self.storage.stat(&path)?.len;
                self.storage.append(&path, len)?.sync()?;
                any = true;
            }
        }
        if any { self.storage.sync_dir(&self.dir) } else { Ok(()) }
    }

    /// Of a file of this name, the subtask that began it.
    fn index(&self, file: &str) -> Option<usize> {
        let (name, index) = file.strip_suffix(SUFFIX)?.rsplit_once('-')?;
        if name == self.name { index.parse().ok() } else { None }
    }

    /// Finds out what earlier attempts kept, and opens this subtask's file behind its last whole entry.
    fn begin(&self) -> Result<Written> {
        self.storage.create_dir_all(&self.dir)?;
        let own = self.dir.join(format!("{}-{}{SUFFIX}", self.name, self.subtask));
        let mut earlier = HashMap::new();
        let mut whole = None;
        for entry in self.storage.list(&self.dir)? {
            if self.index(&entry.name.to_string_lossy()).is_some() {
                let path = self.dir.join(&entry.name);
                let end = entries(&*self.storage.open(&path)?, &mut earlier)?;
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
        Ok(Written { earlier, file, dirty: whole.is_some() })
    }
}

/// Adds all whole entries to `earlier`; returns where the last one ends.
fn entries(file: &dyn ReadFile, earlier: &mut HashMap<Identity, u32>) -> Result<u64> {
    let len = file.stat()?.len;
    let mut at = 0;
    let mut buffer = vec![0; LONGEST_HEAD];
    while at < len {
        let n = file.read_at(&mut buffer, at)?;
        let Some((head, (from, offset, bytes))) = head(&buffer[..n]) else { break };
        let raw = at + head;
        let end = raw.saturating_add(bytes).saturating_add(1);
        if end > len {
            break;
        }
        let identity = Identity { file: from, offset, bytes, print: print_of(file, raw, bytes)? };
        *earlier.entry(identity).or_default() += 1;
        at = end;
    }
    Ok(at)
}

fn identity(record: &BadRecord<'_>) -> Result<Identity> {
    let BadRecord { file, offset, .. } = *record;
    let (bytes, print) = match record.raw {
        RawRecord::Bytes(raw) => (raw.len() as u64, hash_bytes(&raw[..raw.len().min(PRINT)])),
        RawRecord::Stretch(open, bytes) => (bytes, print_of(open, offset, bytes)?),
    };
    Ok(Identity { file, offset, bytes, print })
}

/// The hash of the first of `bytes` bytes of a file that begin at `at`.
fn print_of(file: &dyn ReadFile, at: u64, bytes: u64) -> Result<u64> {
    let mut first = vec![0; usize::try_from(bytes).unwrap_or(PRINT).min(PRINT)];
    let n = file.read_at(&mut first, at)?;
    Ok(hash_bytes(&first[..n]))
}

/// Of the entry at the front of `bytes`: the bytes of its first line, and what that says: inode, offset, and bytes of
/// the record.
fn head(bytes: &[u8]) -> Option<(u64, (u64, u64, u64))> {
    let line = &bytes[..memchr::memchr(b'\n', bytes)?];
    let text = String::from_utf8_lossy(line.strip_prefix(b"@")?);
    let mut parts = text.splitn(4, ' ');
    let mut number = || parts.next()?.parse::<u64>().ok();
    Some((line.len() as u64 + 1, (number()?, number()?, number()?)))
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

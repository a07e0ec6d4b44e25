//! Writing one subtask's files: a buffer, the file behind it, and the files that are closed but not committed.

use super::durable::{Debts, Directory, Names, Prefix, Unsynced, failed_before};
use super::lifecycle::{FileState, Ledger};
use super::name::{Part, owner};
use super::rolling::{Activity, Rolling};
use crate::clock::Moment;
use crate::error::{ConnectorError, Outcome, StorageError};
use crate::sink::{Epoch, PreCommit, SinkContext};
use crate::storage::WriteFile;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that are collected before they are handed to the system.
pub(super) const BUFFER: usize = 128 << 10;

/// A buffer that one huge record has made larger than this is given back.
const KEPT_BUFFER: usize = 1 << 20;

/// Closed files that may wait, open, for the next checkpoint's work to sync them. Beyond it the oldest is synced at
/// once: only a roll size far below what a checkpoint interval brings gets here.
const MAX_UNSYNCED: usize = 64;

/// A running sink subtask, whatever its records are.
pub(super) struct Writer {
    pub cx: SinkContext,
    pub directory: Directory,
    pub owner: String,
    pub suffix: String,
    pub rolling: Rolling,
    pub ledger: Ledger,
    /// The number of the next file.
    pub next: u64,
    /// Encoded records that the file has not got yet.
    pub buffer: Vec<u8>,
    /// Buffered bytes at which somebody has to look: 0 while there is no file, not even one to come.
    limit: usize,
    open: Option<Open>,
    activity: Option<Activity>,
    /// Records of the file that is being written, buffered ones included.
    records: u64,
    /// How many of them there were when somebody last looked.
    seen: u64,
    unsynced: Vec<Arc<Unsynced>>,
}

/// The file that is being written.
struct Open {
    part: Part,
    file: Box<dyn WriteFile>,
    len: u64,
    durable: Arc<AtomicU64>,
}

impl Writer {
    pub fn new(cx: SinkContext, path: &Path, suffix: &str, rolling: Rolling) -> Self {
        let directory = Directory {
            storage: Arc::clone(&cx.storage),
            path: path.to_owned(),
            names: Arc::<Names>::default(),
        };
        Self {
            owner: owner(&cx),
            directory,
            suffix: suffix.to_owned(),
            rolling,
            ledger: Ledger::default(),
            next: 0,
            buffer: Vec::new(),
            limit: 0,
            open: None,
            activity: None,
            records: 0,
            seen: 0,
            unsynced: Vec::new(),
            cx,
        }
    }

    /// A record was appended to the buffer.
    #[inline(always)]
    pub fn appended(&mut self) -> Result<(), ConnectorError> {
        self.records += 1;
        if self.buffer.len() >= self.limit { self.look() } else { Ok(()) }
    }

    /// The buffer has reached its limit, or this is the first record for a file.
    #[cold]
    fn look(&mut self) -> Result<(), ConnectorError> {
        if self.activity.is_none() {
            let now = self.cx.clock.now();
            self.activity = Some(Activity { first: now, last: now });
            self.set_limit();
            if self.buffer.len() < self.limit {
                return Ok(());
            }
        }
        self.flush()?;
        if self.open.as_ref().is_some_and(|open| open.len >= self.rolling.size) {
            self.close()?;
        }
        Ok(())
    }

    fn set_limit(&mut self) {
        let len = self.open.as_ref().map_or(0, |open| open.len);
        self.limit = if self.activity.is_some() { self.rolling.room(len, BUFFER) } else { 0 };
    }

    /// Hands the buffer to the file, which is created when there is none. A failed creation leaves everything as it
    /// was; after a failed write nothing can be said about the file.
    fn flush(&mut self) -> Result<(), StorageError> {
        if self.buffer.is_empty() {
            // Records without bytes, and no file for them: there is nothing to wait for.
            if self.open.is_none() {
                self.cx.counters.written(std::mem::take(&mut self.records));
            }
            return Ok(());
        }
        if self.open.is_none() {
            self.open = Some(self.create()?);
        }
        if let Some(open) = &mut self.open {
            open.file.append(&self.buffer)?;
            open.len += self.buffer.len() as u64;
        }
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BUFFER);
        // Whoever flushed, a barrier too: there is less room in the file now.
        self.set_limit();
        Ok(())
    }

    /// A new file under the next free number.
    fn create(&mut self) -> Result<Open, StorageError> {
        loop {
            let part = self.next_part();
            let path = self.directory.path.join(part.hidden());
            match self.directory.storage.create(&path) {
                // Left by somebody who was thought to be gone; there are numbers enough.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => self.next += 1,
                Err(error) => return Err(error),
                Ok(file) => {
                    self.next += 1;
                    self.directory.names.change();
                    return Ok(Open { part, file, len: 0, durable: Arc::default() });
                }
            }
        }
    }

    pub fn next_part(&self) -> Part {
        Part {
            subtask: self.cx.subtask as u32,
            number: self.next,
            suffix: self.suffix.clone(),
            owner: self.owner.clone(),
        }
    }

    /// Takes over a file from the restored checkpoint: the first own one is written on, others are closed, to be
    /// committed with the next checkpoint.
    pub fn take_over(&mut self, part: Part, file: Box<dyn WriteFile>, len: u64, records: u64) {
        let goes_on =
            self.open.is_none() && part.subtask as usize == self.cx.subtask && part.suffix == self.suffix;
        if goes_on {
            let now = self.cx.clock.now();
            self.activity = Some(Activity { first: now, last: now });
            self.open = Some(Open { part, file, len, durable: Arc::default() });
            (self.records, self.seen) = (records, records);
            self.set_limit();
        } else {
            self.closed(part, len, records);
            self.unsynced.push(Unsynced::new(file));
        }
    }

    /// The file gets no more records. The buffer must have been flushed.
    fn close(&mut self) -> Result<(), ConnectorError> {
        debug_assert!(self.buffer.is_empty(), "what is buffered belongs to the file");
        self.activity = None;
        self.limit = 0;
        self.seen = 0;
        let records = std::mem::take(&mut self.records);
        let Some(Open { part, file, len, .. }) = self.open.take() else { return Ok(()) };
        self.closed(part, len, records);
        self.unsynced.push(Unsynced::new(file));
        self.unsynced.retain(|file| !file.is_done());
        if self.unsynced.len() > MAX_UNSYNCED {
            self.unsynced[0].sync()?;
        }
        Ok(())
    }

    /// These records are part of the next checkpoint; one that the barrier finds in an open file is not (ruling 29).
    fn closed(&mut self, part: Part, len: u64, records: u64) {
        self.ledger.closed(part, len, records);
        self.cx.counters.records_sealed.add(records);
    }

    /// Closes a file that is old enough; says when to look again: early enough for a file that is begun at once.
    pub fn tick(&mut self, now: Moment) -> Result<Moment, ConnectorError> {
        let any = self.records != std::mem::replace(&mut self.seen, self.records);
        let Some(activity) = &mut self.activity else { return Ok(self.rolling.earliest(now)) };
        if any {
            activity.last = now;
        }
        let due = self.rolling.due(*activity);
        if due > now {
            return Ok(due);
        }
        self.flush()?;
        self.close()?;
        Ok(self.rolling.earliest(now))
    }

    pub fn pre_commit(&mut self, epoch: Epoch) -> Result<PreCommit<FileState>, ConnectorError> {
        self.unsynced.retain(|file| !file.is_done());
        if let Some(cause) = self.unsynced.iter().find_map(|file| file.failure()) {
            return Err(failed_before(&cause));
        }
        match self.flush() {
            // Nothing was written and nothing is lost: the records wait for the next checkpoint, only this one cannot
            // have them (ruling 6, MS-007).
            Err(error) if error.operation == "create" && error.outcome == Outcome::Determinate => {
                let failed = ConnectorError::from(error);
                return Ok(PreCommit { state: Vec::new(), work: Some(Box::new(|| Err(failed))) });
            }
            other => other?,
        }
        if epoch.close {
            self.close()?;
        }
        self.ledger.seal(epoch.id);
        let mut state = vec![FileState::Counter { next: self.next }];
        state.extend(self.ledger.snapshot());
        state.extend(self.open.as_ref().map(|open| FileState::Open {
            part: open.part.clone(),
            len: open.len,
            records: self.records,
        }));
        let debts = Debts {
            files: self.unsynced.clone(),
            prefix: self.prefix()?,
            directory: self.directory.is_dirty().then(|| self.directory.clone()),
        };
        Ok(PreCommit { state, work: debts.work() })
    }

    /// What of the file being written is not durable yet.
    fn prefix(&self) -> Result<Option<Prefix>, StorageError> {
        match &self.open {
            Some(open) if open.durable.load(Ordering::Acquire) < open.len => Ok(Some(Prefix {
                syncer: open.file.syncer()?,
                len: open.len,
                durable: Arc::clone(&open.durable),
            })),
            _ => Ok(None),
        }
    }
}

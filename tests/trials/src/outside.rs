//! A double of a system outside with transactions, which may have forgotten one.

use millstream::sink::{Epoch, PreCommit, SinkContext};
use millstream::{CheckpointId, Class, ConnectorError, Sink};
use std::fs;
use std::path::PathBuf;

/// A transaction is a file, `prepared-<checkpoint>` and later `committed-<checkpoint>`.
#[derive(Clone)]
pub(crate) struct Outside {
    dir: PathBuf,
    /// Whether a transaction that is unknown is counted in place of failing the job.
    forgive: bool,
    unknown: u64,
    open: Vec<u8>,
    /// Checkpoints whose transactions have not been committed.
    prepared: Vec<u64>,
}

impl Outside {
    pub(crate) fn new(dir: PathBuf, forgive: bool) -> Self {
        Self { dir, forgive, unknown: 0, open: Vec::new(), prepared: Vec::new() }
    }

    fn failed(&self, what: &str, error: std::io::Error) -> ConnectorError {
        ConnectorError::new(Class::Restart, what, self.dir.display().to_string(), error)
    }
}

impl Sink for Outside {
    type In = Vec<u8>;
    type State = u64;

    fn open(&mut self, _: SinkContext, restored: Vec<u64>) -> Result<(), ConnectorError> {
        self.prepared = restored;
        fs::create_dir_all(&self.dir).map_err(|error| self.failed("open", error))
    }

    fn write(&mut self, record: &[u8]) -> Result<(), ConnectorError> {
        self.open.extend(record);
        self.open.push(b'\n');
        Ok(())
    }

    fn pre_commit(&mut self, epoch: Epoch) -> Result<PreCommit<u64>, ConnectorError> {
        if !self.open.is_empty() {
            let transaction = self.dir.join(format!("prepared-{}", epoch.id));
            fs::write(transaction, std::mem::take(&mut self.open))
                .map_err(|error| self.failed("prepare", error))?;
            self.prepared.push(epoch.id.0);
        }
        Ok(PreCommit { state: self.prepared.clone(), work: None })
    }

    fn commit(&mut self, id: CheckpointId) -> Result<(), ConnectorError> {
        let (now, later): (Vec<u64>, Vec<u64>) = self.prepared.iter().partition(|of| **of <= id.0);
        for of in now {
            let committed = self.dir.join(format!("committed-{of}"));
            let renamed = fs::rename(self.dir.join(format!("prepared-{of}")), &committed);
            if renamed.is_ok() || committed.exists() {
                continue;
            }
            if !self.forgive {
                let cause = format!("unknown transaction: data of checkpoint {of} may be lost");
                return Err(ConnectorError::new(Class::Fatal, "commit", format!("transaction {of}"), cause)
                    .with_hint("--forgive goes on without it"));
            }
            self.unknown += 1;
            eprintln!("warning: transaction {of} is unknown, {} so far", self.unknown);
        }
        self.prepared = later;
        Ok(())
    }
}

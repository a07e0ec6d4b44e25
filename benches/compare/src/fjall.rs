//! `fjall`: its journal is synced each second, and not before.

use crate::store::{Store, text};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use std::path::Path;

/// Counts in a keyspace.
pub struct Counts {
    database: Database,
    counts: Keyspace,
}

impl Store for Counts {
    fn open(dir: &Path) -> Result<Self, String> {
        let database = Database::builder(dir.join("counts"))
            .cache_size(512 << 20)
            .manual_journal_persist(true)
            .open()
            .map_err(text)?;
        let options =
            || KeyspaceCreateOptions::default().manual_journal_persist(true).expect_point_read_hits(true);
        let counts = database.keyspace("counts", options).map_err(text)?;
        Ok(Self { database, counts })
    }

    fn count(&mut self, mut next: impl FnMut() -> Option<u64>) -> Result<(), String> {
        while let Some(key) = next() {
            let count = self.get(key)? + 1;
            self.counts.insert(key.to_be_bytes(), count.to_le_bytes()).map_err(text)?;
        }
        self.database.persist(PersistMode::SyncAll).map_err(text)
    }

    fn get(&self, key: u64) -> Result<u64, String> {
        let Some(count) = self.counts.get(key.to_be_bytes()).map_err(text)? else { return Ok(0) };
        count.as_ref().try_into().map(u64::from_le_bytes).map_err(text)
    }
}

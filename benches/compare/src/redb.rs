//! `redb`: a transaction of a second, whose commit is durable.

use crate::store::{Store, text};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use std::path::Path;

const COUNTS: TableDefinition<'_, u64, u64> = TableDefinition::new("counts");

/// Counts in a table.
pub struct Counts(Database);

impl Store for Counts {
    fn open(dir: &Path) -> Result<Self, String> {
        Database::create(dir.join("counts.redb")).map(Self).map_err(text)
    }

    fn count(&mut self, mut next: impl FnMut() -> Option<u64>) -> Result<(), String> {
        let transaction = self.0.begin_write().map_err(text)?;
        let mut table = transaction.open_table(COUNTS).map_err(text)?;
        while let Some(key) = next() {
            let count = table.get(key).map_err(text)?.map_or(0, |count| count.value());
            table.insert(key, count + 1).map_err(text)?;
        }
        drop(table);
        transaction.commit().map_err(text)
    }

    fn get(&self, key: u64) -> Result<u64, String> {
        let transaction = self.0.begin_read().map_err(text)?;
        let table = transaction.open_table(COUNTS).map_err(text)?;
        Ok(table.get(key).map_err(text)?.map_or(0, |count| count.value()))
    }
}

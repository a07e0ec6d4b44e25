//! `rocksdb`: without a log, and with a checkpoint each second (what is in memory is flushed, files are linked).

use crate::store::{Store, text};
use rocksdb::checkpoint::Checkpoint;
use rocksdb::{DB, Options, WriteOptions};
use std::path::{Path, PathBuf};

/// Counts in a database.
pub struct Counts {
    database: DB,
    dir: PathBuf,
    write: WriteOptions,
    checkpoints: u64,
}

impl Store for Counts {
    fn open(dir: &Path) -> Result<Self, String> {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.increase_parallelism(2);
        options.optimize_for_point_lookup(512);
        let database = DB::open(&options, dir.join("counts")).map_err(text)?;
        let mut write = WriteOptions::default();
        write.disable_wal(true);
        Ok(Self { database, dir: dir.to_owned(), write, checkpoints: 0 })
    }

    fn count(&mut self, mut next: impl FnMut() -> Option<u64>) -> Result<(), String> {
        while let Some(key) = next() {
            let count = self.get(key)? + 1;
            self.database.put_opt(key.to_be_bytes(), count.to_le_bytes(), &self.write).map_err(text)?;
        }
        let checkpoint = Checkpoint::new(&self.database).map_err(text)?;
        checkpoint.create_checkpoint(self.path(self.checkpoints)).map_err(text)?;
        if self.checkpoints > 0 {
            std::fs::remove_dir_all(self.path(self.checkpoints - 1)).map_err(text)?;
        }
        self.checkpoints += 1;
        Ok(())
    }

    fn get(&self, key: u64) -> Result<u64, String> {
        let Some(count) = self.database.get_pinned(key.to_be_bytes()).map_err(text)? else { return Ok(0) };
        count.as_ref().try_into().map(u64::from_le_bytes).map_err(text)
    }
}

impl Counts {
    fn path(&self, checkpoint: u64) -> PathBuf {
        self.dir.join(format!("checkpoint-{checkpoint}"))
    }
}

//! `state/restore/1g`: from files to the first record.

use super::files::{Files, snapshot, text};
use super::large::{self, Large};
use super::state::{Hundred, WIDE, count, empty};
use crate::draws::{Spread, draws};
use crate::workload::Outcome;
use millstream_io::record::Key;
use millstream_io::scratch::{Region, Supply};
use millstream_state::KeyedBackend;
use std::fs::File;
use std::io::Read;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

const BYTES: u64 = 1 << 30;

/// What is restored: written once, as it is the same in every round.
static CHECKPOINT: Mutex<Option<Files>> = Mutex::new(None);

fn checkpoint() -> MutexGuard<'static, Option<Files>> {
    CHECKPOINT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what was written.
pub fn forget() {
    drop(checkpoint().take());
}

/// All of a state, and behind it what changed when one of a hundred keys was updated.
fn written() -> Result<Files, String> {
    let keys = large::keys(BYTES);
    let mut state = large::filled(keys)?;
    let mut files = Files::new()?;
    files.write(snapshot(&mut state))?;
    let changed = draws(Spread::Uniform, keys - 1, (keys / 100) as usize);
    large::update(&mut state, &changed.into_iter().map(u64::from).collect::<Vec<_>>());
    files.write(snapshot(&mut state))?;
    Ok(files)
}

fn with_files<R>(body: impl FnOnce(&Files) -> Result<R, String>) -> Result<R, String> {
    let mut files = checkpoint();
    if files.is_none() {
        *files = Some(written()?);
    }
    files.as_ref().map_or_else(|| Err("there is no checkpoint".into()), body)
}

/// Has the system find as much memory as a round takes, in large pages, and gives it back at once. A virtual machine may have
/// handed free memory to its host, and to get it back takes several times as long as all that is to be measured here.
fn have_memory() -> Result<(), String> {
    const MEMORY: usize = 5 << 29;
    let mut region = Region::new(MEMORY, Supply::default()).map_err(text)?;
    region.reach(MEMORY).map_err(text)?;
    region.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    Ok(())
}

fn outcome(bytes: u64, begun: Instant) -> Outcome {
    Outcome { figure: bytes as f64 / begun.elapsed().as_secs_f64() / 1e6, result: vec![("bytes", bytes)] }
}

/// Bytes of the files that are restored in a second until the first record has found its key, in millions.
///
/// # Errors
/// Files that do not hold what was written, no memory.
pub fn run() -> Result<Outcome, String> {
    with_files(|files| {
        have_memory()?;
        let begun = Instant::now();
        let mut state: Large = empty()?;
        files.restore(&mut state)?;
        // The last key is none of those that changed.
        let last = large::keys(BYTES) - 1;
        let found = state.with(u64::hash(last), last, |value: millstream_state::Entry<'_, Hundred>| value.0);
        let outcome = outcome(files.bytes(), begun);
        let mut expected = WIDE;
        count(&mut expected);
        if found != expected || state.len() as u64 != large::keys(BYTES) {
            return Err("what was restored is not what was written".into());
        }
        Ok(outcome)
    })
}

/// The same files read into fresh memory.
///
/// # Errors
/// They cannot be read.
pub fn read() -> Result<Outcome, String> {
    with_files(|files| {
        have_memory()?;
        let begun = Instant::now();
        let mut all = Vec::new();
        for path in files.paths() {
            let failed = |error| format!("read {}: {error}", path.display());
            let mut file = File::open(&path).map_err(failed)?;
            let mut bytes = vec![0; file.metadata().map_err(failed)?.len() as usize];
            file.read_exact(&mut bytes).map_err(failed)?;
            all.push(bytes);
        }
        Ok(outcome(all.iter().map(|bytes| bytes.len() as u64).sum(), begun))
    })
}

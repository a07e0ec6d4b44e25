//! `state/bytes-per-change`: what is written of a state of which little changes.

use super::files::{Files, snapshot};
use super::state::{Batch, empty};
use crate::draws::{Spread, draws};
use crate::input::BATCH;
use crate::workload::Outcome;
use millstream_state::keyed::batch::for_batch;
use millstream_state::{KeyedBackend, PagedState};

/// Distinct keys.
const KEYS: u64 = 1_000_000;

/// Snapshots of changes.
const SNAPSHOTS: usize = 20;

/// Updates between two of them: of one in a hundred keys.
const UPDATES: usize = KEYS as usize / 100;

/// A state, and what is updated between its snapshots.
pub struct Changes {
    /// The state, of which every key has a value.
    pub state: PagedState<u64, u64>,
    drawn: Vec<u32>,
}

impl Changes {
    /// The same ones every time.
    ///
    /// # Errors
    /// No memory.
    pub fn new() -> Result<Self, String> {
        let drawn = draws(Spread::Uniform, KEYS, SNAPSHOTS * UPDATES);
        let mut changes = Self { state: empty()?, drawn };
        changes.update(&(0..KEYS).collect::<Vec<_>>());
        Ok(changes)
    }

    fn update(&mut self, keys: &[u64]) {
        for batch in keys.chunks(BATCH) {
            for_batch(&mut self.state, 0..batch.len(), &mut Batch(batch, |value: &mut u64| *value += 1));
        }
    }

    /// Updates some keys, and calls `look`; as often as there are snapshots. What is then in the state is the result.
    ///
    /// # Errors
    /// Those of `look`.
    pub fn run(
        mut self,
        mut look: impl FnMut(&mut PagedState<u64, u64>) -> Result<u64, String>,
    ) -> Result<Outcome, String> {
        let drawn = std::mem::take(&mut self.drawn);
        let mut bytes = 0;
        for keys in drawn.chunks(UPDATES) {
            self.update(&keys.iter().copied().map(u64::from).collect::<Vec<_>>());
            bytes += look(&mut self.state)?;
        }
        let (sum, mixed) = super::state::mixed(&mut self.state);
        let result = vec![("keys", self.state.len() as u64), ("sum", sum), ("per key", mixed)];
        Ok(Outcome { figure: bytes as f64 / SNAPSHOTS as f64 / 1e6, result })
    }
}

/// Millions of bytes that a snapshot writes to its file.
///
/// # Errors
/// Those of the files.
pub fn run() -> Result<Outcome, String> {
    let mut changes = Changes::new()?;
    let mut files = Files::new()?;
    files.write(snapshot(&mut changes.state))?;
    changes.run(|state| files.write(snapshot(state)))
}

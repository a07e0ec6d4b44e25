//! `state/checkpoint-*`: updates of a state in pages while snapshots of it are taken, and the same without.
//!
//! One pinned thread owns the state. Between its batches it freezes and drains, as a subtask does; another thread, pinned
//! beside it, checksums, writes and syncs what it hands over.

use super::files::{Files, snapshot, text};
use super::state::{empty, mixed};
use crate::draws::{Spread, draws};
use crate::input::BATCH;
use crate::pin;
use crate::work::Work;
use crate::workload::Outcome;
use millstream_io::record::Key;
use millstream_state::keyed::batch::{Rows, for_batch};
use millstream_state::keyed::{Chunk, Entry};
use millstream_state::{KeyedBackend, KeyedSnapshot, PagedState, Snapshots};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is updated how often.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// Distinct keys.
    pub keys: u64,
    /// Updates that are timed.
    pub timed: usize,
    /// Which keys.
    pub spread: Spread,
    /// Whether each update comes with about 200 ns of other work.
    pub work: bool,
}

/// Keys that are drawn before the timing; they come again when they are used up. More than are updated in a second.
const DRAWN: usize = 40_000_000;

/// Bytes that are drained between two steps: a drain is over in about a quarter of an interval.
const BUDGET: usize = 64 << 10;

impl Input {
    /// Updates between two looks at the clock, and two portions of a drain: some 60 us.
    fn step(self) -> usize {
        if self.work { 256 } else { BATCH }
    }
}

type State = PagedState<u64, u64>;

/// A batch of keys, each to be counted.
struct Counts<'a>(&'a [u32], Work);

impl<'a> Rows<'a, u64, u64> for Counts<'a> {
    fn known(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn hash(&mut self, row: usize) -> u64 {
        u64::hash(u64::from(self.0[row]))
    }

    #[inline(always)]
    fn key(&mut self, row: usize) -> u64 {
        u64::from(self.0[row])
    }

    #[inline(always)]
    fn apply(&mut self, _: usize, key: u64, mut count: Entry<'_, u64>) {
        *count += 1;
        self.1.run(key);
    }
}

/// Throughput with a snapshot in every interval.
///
/// # Errors
/// Those of the files, or too few snapshots to speak of.
pub fn with(input: Input, every: Duration) -> Result<Outcome, String> {
    let (outcome, kept) = pinned(move || snapshotted(input, every))?;
    if kept < 0.5 {
        return Err(format!("only {kept:.2} of the snapshots that were due were taken"));
    }
    Ok(outcome)
}

/// The share of the snapshots that were taken, of those that were due.
///
/// # Errors
/// Those of the files.
pub fn kept(input: Input, every: Duration) -> Result<Outcome, String> {
    let (outcome, kept) = pinned(move || snapshotted(input, every))?;
    Ok(Outcome { figure: kept, result: outcome.result })
}

/// Throughput without snapshots.
///
/// # Errors
/// No memory.
pub fn without(input: Input) -> Result<Outcome, String> {
    pinned(move || {
        let mut state = filled(input)?;
        let taken = update(input, &mut state, |_| Ok(()))?;
        outcome(input, taken, &mut state)
    })
}

fn pinned<R: Send + 'static>(body: impl FnOnce() -> Result<R, String> + Send + 'static) -> Result<R, String> {
    pin::on(&pin::cores(), 0, body).join().map_err(|_| "the owner of the state panicked")?
}

/// Every key once.
fn filled(input: Input) -> Result<State, String> {
    let mut state = empty::<u64, u64>()?;
    let keys: Vec<u32> = (0..input.keys as u32).collect();
    for batch in keys.chunks(BATCH) {
        for_batch(&mut state, 0..batch.len(), &mut Counts(batch, Work::NONE));
    }
    Ok(state)
}

/// The timed updates, with `between` called between steps; what they took.
fn update(
    input: Input,
    state: &mut State,
    mut between: impl FnMut(&mut State) -> Result<(), String>,
) -> Result<Duration, String> {
    let drawn = draws(input.spread, input.keys, input.timed.min(DRAWN));
    let work = if input.work { Work::calibrated() } else { Work::NONE };
    let mut left = input.timed;
    let begun = Instant::now();
    for batch in drawn.chunks(BATCH).cycle() {
        let batch = &batch[..batch.len().min(left)];
        for at in (0..batch.len()).step_by(input.step()) {
            for_batch(state, at..batch.len().min(at + input.step()), &mut Counts(batch, work));
            between(state)?;
        }
        left -= batch.len();
        if left == 0 {
            break;
        }
    }
    Ok(begun.elapsed())
}

fn outcome(input: Input, taken: Duration, state: &mut State) -> Result<Outcome, String> {
    let (sum, mixed) = mixed(state);
    let result = vec![("keys", state.len() as u64), ("sum", sum), ("per key", mixed)];
    Ok(Outcome::rate(input.timed as u64, taken.as_secs_f64(), result))
}

/// With snapshots. The result is that of the state which is restored from the files at the end.
fn snapshotted(input: Input, every: Duration) -> Result<(Outcome, f64), String> {
    let mut state = filled(input)?;
    let mut files = Files::new()?;
    files.write(snapshot(&mut state))?;
    let mut taker = Taker::new(every, files);
    let taken = update(input, &mut state, |state| {
        taker.step(state);
        Ok(())
    })?;
    let due = taken.as_secs_f64() / every.as_secs_f64();
    let (durable, mut files) = taker.end(&mut state)?;
    files.write(snapshot(&mut state))?;
    drop(state);
    let mut restored = empty()?;
    files.restore(&mut restored)?;
    Ok((outcome(input, taken, &mut restored)?, (durable as f64 / due.floor()).min(1.0)))
}

/// What is handed over to be written.
enum Piece {
    Chunk(Chunk),
    /// What is left; then the snapshot is complete.
    Rest(KeyedSnapshot),
}

/// Takes a snapshot in every interval. While one is being drained or written the next one waits, and where it waits for
/// more than an interval it is not taken at all.
struct Taker {
    every: Duration,
    due: Option<Instant>,
    draining: bool,
    handed_over: u64,
    /// Snapshots that are durable.
    durable: Arc<AtomicU64>,
    pieces: Sender<Piece>,
    /// Buffers that come back.
    buffers: Receiver<Vec<u8>>,
    writer: JoinHandle<Result<Files, String>>,
}

impl Taker {
    fn new(every: Duration, mut files: Files) -> Self {
        let (pieces, taken) = channel();
        let (empty, buffers) = channel();
        let durable = Arc::new(AtomicU64::new(0));
        let done = Arc::clone(&durable);
        let writer = pin::on(&pin::cores(), 1, move || {
            for piece in taken {
                match piece {
                    Piece::Chunk(chunk) => {
                        files.add(&chunk)?;
                        // Nobody needs it any more at the end.
                        let _ = empty.send(chunk.bytes);
                    }
                    Piece::Rest(snapshot) => {
                        files.write(snapshot)?;
                        done.fetch_add(1, Ordering::Release);
                    }
                }
            }
            Ok(files)
        });
        Self { every, due: None, draining: false, handed_over: 0, durable, pieces, buffers, writer }
    }

    fn step(&mut self, state: &mut State) {
        if self.draining {
            return self.drain(state, BUDGET);
        }
        let now = Instant::now();
        let due = self.due.get_or_insert(now + self.every);
        if now >= *due && self.durable.load(Ordering::Acquire) == self.handed_over {
            while *due <= now {
                *due += self.every;
            }
            state.freeze();
            self.draining = true;
        }
    }

    fn drain(&mut self, state: &mut State, budget: usize) {
        let complete = state.drain(budget);
        // A writer that has failed says why at the end.
        while let Some(chunk) = state.take_chunk() {
            let _ = self.pieces.send(Piece::Chunk(chunk));
            if let Ok(buffer) = self.buffers.try_recv() {
                state.recycle(buffer);
            }
        }
        if complete {
            self.draining = false;
            self.handed_over += 1;
            let _ = self.pieces.send(Piece::Rest(state.take_snapshot()));
        }
    }

    /// How many snapshots were durable by now, and the files once all of them are.
    fn end(mut self, state: &mut State) -> Result<(u64, Files), String> {
        let durable = self.durable.load(Ordering::Acquire);
        if self.draining {
            self.drain(state, usize::MAX);
        }
        drop(self.pieces);
        let files = self.writer.join().map_err(|_| "the writer of snapshots panicked")?;
        Ok((durable, files.map_err(text)?))
    }
}

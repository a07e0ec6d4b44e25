//! Memory that need not outlive the process and may be more than the machine has: what state pages are in, and records that
//! are held back.
//!
//! A [`Region`] is a range of addresses that grows at its end and never moves. A [`Scratch`] says what each piece of it is:
//! memory while a budget lasts, and a part of a file beyond that, which the system writes out and reads back as it likes.
//! A piece is prepared ahead, in the background, so that whoever uses it does not wait for the system to find, clear and
//! map memory (ruling 12).
//!
//! - `mapping`: addresses, and what is mapped there; all that is `unsafe`;
//! - `region`: how much is prepared, when, and by whom;
//! - `block`: a file that is given out in parts;
//! - `budget`: how much memory all regions have;
//! - `disk`, `memory`: the machine's memory and files, and an imitation of them.

mod block;
mod budget;
mod disk;
mod mapping;
mod memory;
mod region;

pub use block::{Block, Part};
pub use budget::{Budget, Charge};
pub use disk::{DiskScratch, machine_memory};
pub use memory::MemoryScratch;
pub use region::{Cutting, Piece, Region};

use crate::error::StorageError;
use crate::executor::{Executor, InlineExecutor};
use std::fmt;
use std::fs::File;
use std::io;
use std::sync::Arc;
use thiserror::Error;

/// Says what a piece of a [`Region`] is.
pub trait Scratch: fmt::Debug + Send + Sync + 'static {
    /// So many bytes of the budget; `None` where it does not have them, and the piece has to be in a file.
    fn memory(&self, bytes: usize) -> Option<Charge>;

    /// Room for so many bytes outside of the budget, all of it found: what is written there later can no longer meet a full
    /// disk. May block.
    ///
    /// # Errors
    /// Which file it was to be in, and why there is no room in it (`ENOSPC`).
    fn file(&self, bytes: usize) -> Result<Room, StorageError>;
}

/// Room outside of the budget.
#[derive(Debug)]
pub enum Room {
    /// A file that has no name any more: it is gone with the last one who uses it.
    File(File),
    /// Memory in place of a file, where there are none.
    Memory,
}

/// Where the memory of a [`Region`] comes from, and who prepares it.
#[derive(Clone)]
pub struct Supply {
    /// What a piece is.
    pub scratch: Arc<dyn Scratch>,
    /// Prepares pieces ahead. Without one a piece is prepared when it is needed, and its memory is found by the system when it
    /// is touched first.
    pub executor: Option<Arc<dyn Executor>>,
}

impl Supply {
    /// Pieces from `scratch`, prepared ahead by `executor`.
    pub fn new(scratch: Arc<dyn Scratch>, executor: Arc<dyn Executor>) -> Self {
        Self { scratch, executor: Some(executor) }
    }

    /// Who takes a share of work that the owner of the memory waits for.
    pub fn background(&self) -> Arc<dyn Executor> {
        self.executor.clone().unwrap_or_else(|| Arc::new(InlineExecutor))
    }
}

/// Memory without a limit, prepared when it is needed.
impl Default for Supply {
    fn default() -> Self {
        Self { scratch: Arc::new(MemoryScratch::new()), executor: None }
    }
}

impl fmt::Debug for Supply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supply")
            .field("scratch", &self.scratch)
            .field("ahead", &self.executor.is_some())
            .finish()
    }
}

/// Why a [`Region`] cannot be, or cannot grow.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScratchError {
    /// The system gives no memory, or no addresses.
    #[error("{operation} of {bytes} bytes: {source}")]
    Memory {
        /// What was tried.
        operation: &'static str,
        /// How many bytes were asked for.
        bytes: usize,
        /// The cause.
        source: io::Error,
    },
    /// There is no room for a file.
    #[error(transparent)]
    File(#[from] StorageError),
}

impl ScratchError {
    /// The kind of the cause.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            Self::Memory { source, .. } => source.kind(),
            Self::File(error) => error.kind(),
        }
    }
}

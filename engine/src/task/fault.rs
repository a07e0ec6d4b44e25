//! Where stages of a chain leave an error that their signatures cannot return.

use crate::error::Error;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The first error that any stage of a subtask's chain met while taking records. Emitting never fails, so that no
/// record pays for a result; the subtask looks here once a batch, and before it lets a barrier pass.
#[derive(Clone, Default)]
pub struct Fault(Arc<Inner>);

#[derive(Default)]
struct Inner {
    raised: AtomicBool,
    error: Mutex<Option<Error>>,
}

impl Fault {
    /// Leaves an error; later ones are dropped.
    #[cold]
    pub fn raise(&self, error: Error) {
        self.0.error.lock().get_or_insert(error);
        self.0.raised.store(true, Ordering::Release);
    }

    /// Fails if an error was left.
    ///
    /// # Errors
    /// That error.
    #[inline(always)]
    pub fn check(&self) -> Result<(), Error> {
        if self.0.raised.load(Ordering::Acquire) { self.take() } else { Ok(()) }
    }

    #[cold]
    fn take(&self) -> Result<(), Error> {
        // The flag stays up: a faulty chain must not go on, even if the error was taken before.
        Err(self.0.error.lock().take().unwrap_or_else(|| {
            Error::new(millstream_io::error::Class::Restart, "subtask", "chain", "failed before")
        }))
    }
}
